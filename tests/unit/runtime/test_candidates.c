/* Samplers of classes that keep something between runs, or read a file. The numbers are those of
 * TensorFlow 2.21. */
#include "unit/runtime/plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

#define RUNS  3
#define DRAWN 4

/* `attrs` end with ATTR_END. */
static struct plan *sampler_plan(const char *op, struct attr *attrs)
{
    static const int64_t classes[] = { 1, 1, 1, 1, 3, 3 };
    struct shape shape = shape_of(1, 6);
    struct tensor value = tensor_borrow(DT_INT64, &shape, classes);
    struct endpoint in = build_const(&b, "classes", &value);
    struct node *node = build_node(&b, op, "sampler", 1, &in, 0, NULL, attrs);
    struct endpoint fetches[] = { { node, 0 }, { node, 1 } };
    return plan_of(0, NULL, 2, fetches, NULL);
}

static void counts_the_classes_of_each_run(void **state)
{
    (void)state;
    static const int64_t drawn[RUNS][DRAWN] = { { 1, 3, 2, 2 }, { 0, 3, 4, 1 }, { 1, 1, 3, 3 } };
    static const float expected[RUNS][2] = { { 0.8f, 0.8f },
                                             { 1.8181818723678589f, 1.0909091234207153f },
                                             { 2.117647171020508f, 1.1764706373214722f } };
    struct attr attrs[] = { attr_int("num_true", 6),
                            attr_int("num_sampled", DRAWN),
                            attr_int("range_max", 5),
                            attr_bool("unique", false),
                            attr_int("seed", 7),
                            attr_int("seed2", 8),
                            ATTR_END };
    struct plan *plan = sampler_plan("LearnedUnigramCandidateSampler", attrs);
    for (int i = 0; i < RUNS; i++) {
        struct tensor out[2];
        assert_ok(plan_run(plan, run, NULL, out));
        assert_memory_equal(out[0].data, drawn[i], sizeof drawn[i]);
        assert_float_equal(tensor_floats(&out[1])[0], expected[i][0], 1e-6);
        assert_float_equal(tensor_floats(&out[1])[5], expected[i][1], 1e-6);
        tensors_release(2, out);
    }
    plan_destroy(plan);
}

static struct status run_with_file(const char *path, const char *text, int64_t range_max,
                                   struct tensor out[2])
{
    struct attr attrs[] = { attr_int("num_true", 6),
                            attr_int("num_sampled", 5),
                            attr_int("range_max", range_max),
                            attr_bool("unique", false),
                            attr_text("vocab_file", path),
                            attr_int("seed", 1),
                            attr_int("seed2", 2),
                            ATTR_END };
    TRY(file_write(path, bytes_of(text)));
    struct plan *plan = sampler_plan("FixedUnigramCandidateSampler", attrs);
    struct status status = plan_run(plan, run, NULL, out);
    plan_destroy(plan);
    return status;
}

static void draws_by_the_weights_of_a_file(void **state)
{
    (void)state;
    static const int64_t drawn[] = { 3, 1, 2, 3, 3 };
    char directory[] = "/tmp/slipway-weights-XXXXXX";
    struct tensor out[2];
    assert_non_null(mkdtemp(directory));
    const char *path = arena_printf(arena, "%s/words.csv", directory);
    assert_ok(run_with_file(path, "z,w,0\na,1\r\n\nb, 2 \n8", 4, out));
    assert_memory_equal(out[0].data, drawn, sizeof drawn);
    assert_float_equal(tensor_floats(&out[1])[0], 0.4545454680919647, 1e-6);
    tensors_release(2, out);
    assert_string_equal(run_with_file(path, "a,1\nb,\n", 4, out).message,
                        "Wrong vocabulary format at line: b,");
    assert_string_equal(run_with_file(path, "1\n2\n3", 4, out).message,
                        "range is 4 must be equal to weights size  3");
    assert_ok(resources_confine(resources, "/usr"));
    assert_int_equal(run_with_file(path, "a,1\nb,2\nc,3\nd,4", 4, out).code,
                     STATUS_PERMISSION_DENIED);
    assert_ok(file_remove_tree(directory));
}

static void a_run_keeps_no_more_counts_than_it_may_hold(void **state)
{
    (void)state;
    struct attr attrs[] = { attr_int("num_true", 6), attr_int("num_sampled", DRAWN),
                            attr_int("range_max", 1 << 30), attr_bool("unique", false), ATTR_END };
    struct plan *plan = sampler_plan("LearnedUnigramCandidateSampler", attrs);
    struct run *small = run_create(1 << 20);
    struct tensor out[2];
    assert_int_equal(plan_run(plan, small, NULL, out).code, STATUS_RESOURCE_EXHAUSTED);
    run_destroy(small);
    plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(counts_the_classes_of_each_run, setup, teardown),
        cmocka_unit_test_setup_teardown(draws_by_the_weights_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_keeps_no_more_counts_than_it_may_hold, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
