/* Datasets without an end stop at the deadline and the memory limit of the run. */
#include "unit/runtime/plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"

static const struct shape scalar = { .rank = 0 };

/* An op that makes a dataset of scalars of int64. */
static struct endpoint dataset(const char *op, int count, const struct endpoint *inputs)
{
    const struct attr attrs[] = { attr_types(&b, "output_types", 1, (enum dtype[]){ DT_INT64 }),
                                  attr_shapes(&b, "output_shapes", 1, &scalar), ATTR_END };
    return build(&b, op, NULL, count, inputs, attrs);
}

static struct endpoint number(int64_t value)
{
    return build_const_int64(&b, value);
}

static struct endpoint endless(void)
{
    struct endpoint range =
        dataset("RangeDataset", 3, (struct endpoint[]){ number(0), number(1), number(1) });
    return dataset("RepeatDataset", 2, (struct endpoint[]){ range, number(-1) });
}

static struct status run_fetch(struct endpoint fetch)
{
    struct tensor out = { 0 };
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct status status = plan_run(plan, run, NULL, &out);
    tensor_release(&out);
    plan_destroy(plan);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    return status;
}

static void an_endless_dataset_ends_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint skip =
        dataset("SkipDataset", 2, (struct endpoint[]){ endless(), number(INT64_MAX) });
    struct endpoint only = dataset("DatasetToSingleElement", 1, &skip);
    run_set_deadline(run, (uint64_t)clock_now_ns(clock_monotonic()) + 20 * 1000000U);
    assert_fails(run_fetch(only), STATUS_DEADLINE_EXCEEDED,
                 "the deadline passed while the model ran");
}

static void a_long_sleep_ends_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint sleeper =
        dataset("SleepDataset", 2, (struct endpoint[]){ endless(), number(INT64_MAX) });
    struct endpoint only = dataset("DatasetToSingleElement", 1, &sleeper);
    run_set_deadline(run, (uint64_t)clock_now_ns(clock_monotonic()) + 20 * 1000000U);
    /* on a busy machine, the deadline may have passed before the sleep: another message */
    assert_int_equal(run_fetch(only).code, STATUS_DEADLINE_EXCEEDED);
}

/* No element can be made: each one is a scalar, which has no rows. */
static void errors_without_an_end_are_ignored_until_the_deadline(void **state)
{
    (void)state;
    struct endpoint rows = endless();
    rows = dataset("UnbatchDataset", 1, &rows);
    struct endpoint none = dataset("IgnoreErrorsDataset", 1, &rows);
    struct endpoint only = dataset("DatasetToSingleElement", 1, &none);
    run_set_deadline(run, (uint64_t)clock_now_ns(clock_monotonic()) + 20 * 1000000U);
    assert_fails(run_fetch(only), STATUS_DEADLINE_EXCEEDED,
                 "the deadline passed while the model ran");
}

/* A dataset of elements of two tensors of int64; `types` is the attribute of their types. */
static struct endpoint pairs(const char *op, const char *types, int count,
                             const struct endpoint *inputs)
{
    const struct shape shapes[] = { shape_unknown(), shape_unknown() };
    const struct attr attrs[] = { attr_types(&b, types, 2, (enum dtype[]){ DT_INT64, DT_INT64 }),
                                  attr_shapes(&b, "output_shapes", 2, shapes), ATTR_END };
    return build(&b, op, NULL, count, inputs, attrs);
}

/* The second vector has fewer values than the first: no row is read beyond its end. */
static void no_row_of_a_refused_element_follows(void **state)
{
    (void)state;
    static const int64_t values[1000] = { 0 };
    const struct shape long_one = shape_of(1000), short_one = shape_of(1);
    struct tensor tensors[] = { tensor_borrow(DT_INT64, &long_one, values),
                                tensor_borrow(DT_INT64, &short_one, values) };
    const struct endpoint vectors[] = { build_const(&b, NULL, &tensors[0]),
                                        build_const(&b, NULL, &tensors[1]) };
    struct endpoint rows = pairs("TensorDataset", "Toutput_types", 2, vectors);
    rows = pairs("UnbatchDataset", "output_types", 1, &rows);
    rows = pairs("IgnoreErrorsDataset", "output_types", 1, &rows);
    struct status status = run_fetch(pairs("DatasetToSingleElement", "output_types", 1, &rows));
    assert_fails(status, STATUS_INVALID_ARGUMENT,
                 "Dataset was empty. [node 'DatasetToSingleElement' (DatasetToSingleElement)]");
}

static void unique_elements_fill_no_more_than_a_run_may_hold(void **state)
{
    (void)state;
    run_destroy(run);
    run = run_create((size_t)1 << 20);
    struct endpoint range =
        dataset("RangeDataset", 3, (struct endpoint[]){ number(0), number(INT64_MAX), number(1) });
    struct endpoint unique = dataset("UniqueDataset", 1, &range);
    struct endpoint skip =
        dataset("SkipDataset", 2, (struct endpoint[]){ unique, number(INT64_MAX) });
    struct endpoint only = dataset("DatasetToSingleElement", 1, &skip);
    assert_int_equal(run_fetch(only).code, STATUS_RESOURCE_EXHAUSTED);
    assert_true(run_hit_limit(run));
}

static void a_batch_without_an_end_fills_no_more_than_a_run_may_hold(void **state)
{
    (void)state;
    run_destroy(run);
    run = run_create((size_t)1 << 20);
    struct endpoint batch = dataset(
        "BatchDatasetV2", 3,
        (struct endpoint[]){ endless(), number((int64_t)1 << 40), const_bool("all", false) });
    struct endpoint only = dataset("DatasetToSingleElement", 1, &batch);
    assert_int_equal(run_fetch(only).code, STATUS_RESOURCE_EXHAUSTED);
    assert_true(run_hit_limit(run));
}

static struct endpoint text(const char *value)
{
    const struct bytes bytes = bytes_of(value);
    struct tensor tensor = tensor_borrow(DT_STRING, &scalar, &bytes);
    return build_const(&b, NULL, &tensor);
}

/* Errors that are ignored leave nothing: there is room for another file. */
static void damaged_records_take_no_memory(void **state)
{
    (void)state;
    char root[] = "/tmp/slipway-records-XXXXXX";
    const struct shape pair = shape_of(2), none = shape_of(0);
    struct buffer damaged = { 0 };
    for (int i = 0; i < 30000; i++)
        buffer_append_text(&damaged, "x\n");
    assert_non_null(mkdtemp(root));
    const struct bytes paths[] = { bytes_of(arena_printf(arena, "%s/damaged", root)),
                                   bytes_of(arena_printf(arena, "%s/good", root)) };
    assert_ok(file_write(paths[0].data, (struct bytes){ damaged.data, damaged.size }));
    assert_ok(file_write(paths[1].data, bytes_of("7\n")));
    buffer_finish(&damaged);
    struct tensor names = tensor_borrow(DT_STRING, &pair, paths);
    struct tensor no_numbers = tensor_borrow(DT_INT64, &none, NULL);
    struct endpoint empty = build_const(&b, NULL, &no_numbers);
    const struct endpoint inputs[] = { build_const(&b, NULL, &names),
                                       text(""),
                                       number(1024),
                                       const_bool("header", false),
                                       text(","),
                                       const_bool("quotes", true),
                                       text(""),
                                       empty,
                                       empty };
    struct endpoint records = dataset("CSVDataset", 9, inputs);
    struct endpoint good = dataset("IgnoreErrorsDataset", 1, &records);
    run_destroy(run);
    run = run_create((size_t)1 << 20);
    struct status status = run_fetch(dataset("DatasetToSingleElement", 1, &good));
    assert_ok(status);
    assert_ok(file_remove_tree(root));
}

static void refuses_too_long_a_chain(void **state)
{
    (void)state;
    struct endpoint last = endless();
    for (int i = 0; i < 300; i++)
        last = dataset("TakeDataset", 2, (struct endpoint[]){ last, number(1) });
    struct status status = run_fetch(dataset("DatasetToSingleElement", 1, &last));
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "a dataset is made of more than 256 datasets in turn"));
}

/* Each dataset is twice the one before: what is known of it is computed once. */
static void datasets_of_the_same_datasets_are_counted(void **state)
{
    (void)state;
    struct endpoint last =
        dataset("RangeDataset", 3, (struct endpoint[]){ number(0), number(0), number(1) });
    for (int i = 0; i < 60; i++)
        last = dataset("ConcatenateDataset", 2, (struct endpoint[]){ last, last });
    assert_ok(run_fetch(build(&b, "DatasetCardinality", NULL, 1, &last, NULL)));
    assert_fails(run_fetch(dataset("GetElementAtIndex", 2, (struct endpoint[]){ last, number(0) })),
                 STATUS_OUT_OF_RANGE,
                 "Index out of range [0, 0):0 [node 'GetElementAtIndex' (GetElementAtIndex)]");
}

static void refuses_a_variant_that_is_no_dataset(void **state)
{
    (void)state;
    struct endpoint none = build(&b, "OptionalNone", "none", 0, NULL, NULL);
    assert_fails(run_fetch(dataset("TakeDataset", 2, (struct endpoint[]){ none, number(1) })),
                 STATUS_INVALID_ARGUMENT,
                 "Tensor must be a Dataset object. [node 'TakeDataset' (TakeDataset)]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_endless_dataset_ends_at_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_sleep_ends_at_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_without_an_end_are_ignored_until_the_deadline, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_row_of_a_refused_element_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(unique_elements_fill_no_more_than_a_run_may_hold, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_batch_without_an_end_fills_no_more_than_a_run_may_hold,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(damaged_records_take_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_too_long_a_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(datasets_of_the_same_datasets_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_variant_that_is_no_dataset, setup, teardown),
    };
    return cmocka_run_group_tests_name("dataset limits", tests, NULL, NULL);
}
