/* Kernels whose work grows faster than their inputs, or that sort: a run that must end ends within
 * them. */
#include <stdlib.h>
#include <time.h>

#include "plan_fixture.h"
#include "support/colliding_key.h"

#define SCRAMBLED (-1)
#define MANY      200000 /* elements to sort */
#define WIDE      4096   /* elements of a row, and rows that are added up */

struct input {
    enum dtype dtype;
    struct shape shape;
    int64_t value; /* of all elements; SCRAMBLED: numbers below 100003 in no order */
};

#define SHAPE(...)                                                                            \
    {                                                                                         \
        .rank = sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), .dims = { __VA_ARGS__ } \
    }
#define SCALAR    \
    {             \
        .rank = 0 \
    }
/* The entries of a sparse vector in no order. */
#define SPARSE                                                             \
    { DT_INT64, SHAPE(MANY, 1), SCRAMBLED }, { DT_FLOAT, SHAPE(MANY), 1 }, \
    {                                                                      \
        DT_INT64, SHAPE(1), 100003                                         \
    }
/* Row 0 of a matrix with one row, again and again. */
#define ROWS                                                       \
    { DT_FLOAT, SHAPE(1, WIDE), 1 }, { DT_INT32, SHAPE(WIDE), 0 }, \
    {                                                              \
        DT_INT32, SHAPE(WIDE), 0                                   \
    }

#define ONE                      \
    {                            \
        .kind = ATTR_INT, .i = 1 \
    }
static const struct attr_value ones[] = { ONE, ONE, ONE, ONE };

static const struct row {
    const char *op;
    struct input inputs[6];
    struct attr attrs[3];
} rows[] = {
    { "XlaSort", { { DT_FLOAT, SHAPE(MANY), SCRAMBLED } }, { { 0 } } },
    { "TopKV2",
      { { DT_FLOAT, SHAPE(2 * MANY), SCRAMBLED }, { DT_INT32, SCALAR, 2 * MANY } },
      { { 0 } } },
    { "NthElement",
      { { DT_FLOAT, SHAPE(2 * MANY), SCRAMBLED }, { DT_INT32, SCALAR, MANY } },
      { { 0 } } },
    { "SparseReorder", { SPARSE }, { { 0 } } },
    { "SparseReduceSum", { SPARSE, { DT_INT32, SHAPE(0), 0 } }, { { 0 } } },
    { "DenseCountSparseOutput",
      { { DT_INT64, SHAPE(MANY), SCRAMBLED }, { DT_FLOAT, SHAPE(0), 0 } },
      { { "binary_output", { .kind = ATTR_BOOL, .b = false } } } },
    { "DenseToDenseSetOperation",
      { { DT_INT64, SHAPE(1, MANY), SCRAMBLED }, { DT_INT64, SHAPE(1, MANY), SCRAMBLED } },
      { { "set_operation", { .kind = ATTR_STRING, .s = { "union", 5 } } } } },
    { "SparseSegmentSum", { ROWS }, { { 0 } } },
    { "SparseSegmentSumGrad", { ROWS, { DT_INT32, SCALAR, 1 } }, { { 0 } } },
    { "SparseSegmentSumGradV2", { ROWS, { DT_INT32, SCALAR, 1 } }, { { 0 } } },
    { "SparseTensorDenseMatMul",
      { { DT_INT64, SHAPE(WIDE, 2), 0 },
        { DT_FLOAT, SHAPE(WIDE), 1 },
        { DT_INT64, SHAPE(2), 1 },
        { DT_FLOAT, SHAPE(1, WIDE), 1 } },
      { { 0 } } },
    { "SobolSample",
      { { DT_INT32, SCALAR, 1111 }, { DT_INT32, SCALAR, WIDE }, { DT_INT32, SCALAR, 0 } },
      { { "dtype", { .kind = ATTR_TYPE, .type = DT_FLOAT } } } },
    { "ComputeAccidentalHits",
      { { DT_INT64, SHAPE(MANY, 1), SCRAMBLED }, { DT_INT64, SHAPE(MANY), SCRAMBLED } },
      { { "num_true", { .kind = ATTR_INT, .i = 1 } } } },
    { "ListDiff",
      { { DT_INT64, SHAPE(MANY), SCRAMBLED }, { DT_INT64, SHAPE(MANY), SCRAMBLED } },
      { { 0 } } },
    { "MatMul",
      { { DT_INT64, SHAPE(1024, 1024), 1 }, { DT_INT64, SHAPE(1024, 1024), 1 } },
      { { 0 } } },
    { "Conv2D",
      { { DT_INT32, SHAPE(1, 256, 256, 8), 1 }, { DT_INT32, SHAPE(3, 3, 8, 32), 1 } },
      { { "strides",
          { .kind = ATTR_LIST, .element_kind = ATTR_INT, .count = COUNT(ones), .elements = ones } },
        { "padding", { .kind = ATTR_STRING, .s = { "SAME", 4 } } } } },
};

static struct tensor make(const struct input *input)
{
    struct tensor tensor = tensor_borrow(input->dtype, &input->shape, NULL);
    tensor.data = arena_alloc(arena, tensor_bytes(&tensor) + 1);
    for (int64_t i = 0; i < tensor.size; i++) {
        int64_t value = input->value == SCRAMBLED ? i * 7919 % 100003 : input->value;
        if (input->dtype == DT_FLOAT)
            tensor_floats_mut(&tensor)[i] = (float)value;
        else
            tensor_set_index(&tensor, i, value);
    }
    return tensor;
}

/* The executor asks once before a step, and perhaps once more. */
#define CHECKS_OUTSIDE 2

static struct status stop_within(const void *context)
{
    int *left = *(int *const *)context;
    return --*left < 0 ? status_error(STATUS_DEADLINE_EXCEEDED, "stopped") : status_ok();
}

/* Runs to y, of `steps` steps, from the feeds: until they are done, but first only until within
 * the last one. */
static void assert_ends(int count, const struct endpoint *feeds, const struct tensor *values,
                        struct endpoint y, int steps)
{
    struct tensor out;
    int left = CHECKS_OUTSIDE * steps, *context = &left;
    struct plan *plan = plan_of(count, feeds, 1, &y, NULL);
    run_set_check(run, stop_within, &context);
    assert_int_equal(plan_run(plan, run, values, &out).code, STATUS_DEADLINE_EXCEEDED);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    run_set_check(run, NULL, NULL);
    assert_ok(plan_run(plan, run, values, &out));
    tensor_release(&out);
    plan_destroy(plan);
}

static void ends(void **state)
{
    const struct row *row = *state;
    struct endpoint feeds[6];
    struct tensor values[6];
    int count = 0;
    setup(NULL);
    for (; row->inputs[count].dtype != DT_INVALID; count++) {
        values[count] = make(&row->inputs[count]);
        feeds[count] = build_placeholder(&b, NULL, values[count].dtype, values[count].shape);
    }
    assert_ends(count, feeds, values, build(&b, row->op, NULL, count, feeds, row->attrs), 1);
    teardown(NULL);
}

/* A row whose entries are all at one place, times itself. */
static void a_sparse_product_ends(void **state)
{
    (void)state;
    static const struct input inputs[] = { { DT_INT64, SHAPE(WIDE, 2), 0 },
                                           { DT_FLOAT, SHAPE(WIDE), 1 },
                                           { DT_INT64, SHAPE(2), 1 } };
    const struct attr attrs[] = { attr_type("type", DT_FLOAT), ATTR_END };
    struct endpoint feeds[COUNT(inputs)], both[2];
    struct tensor values[COUNT(inputs)];
    for (size_t i = 0; i < COUNT(inputs); i++) {
        values[i] = make(&inputs[i]);
        feeds[i] = build_placeholder(&b, NULL, values[i].dtype, values[i].shape);
    }
    both[0] = both[1] =
        build(&b, "SparseTensorToCSRSparseMatrix", NULL, COUNT(inputs), feeds, NULL);
    struct endpoint product = build(&b, "SparseMatrixSparseMatMul", NULL, 2, both, attrs);
    struct endpoint y = build_unary(&b, "SparseMatrixNNZ", NULL, product);
    assert_ends(COUNT(inputs), feeds, values, y, 3);
}

static int compare_floats(const void *left, const void *right)
{
    float x = *(const float *)left, y = *(const float *)right;
    return (x > y) - (x < y);
}

/* Around multiples of the runs that kernel_sort merges. */
static void long_lines_are_sorted(void **state)
{
    (void)state;
    static const int64_t counts[] = { 4096, 4097, 8191, 12289, 20000, 65537 };
    for (size_t i = 0; i < COUNT(counts); i++) {
        const struct input input = { DT_FLOAT, shape_of(counts[i]), SCRAMBLED };
        struct tensor value = make(&input), out;
        struct endpoint x = build_placeholder(&b, NULL, DT_FLOAT, value.shape);
        struct endpoint y = build_unary(&b, "XlaSort", NULL, x);
        struct plan *plan = plan_of(1, &x, 1, &y, NULL);
        assert_ok(plan_run(plan, run, &value, &out));
        qsort(value.data, (size_t)counts[i], sizeof(float), compare_floats);
        assert_memory_equal(out.data, value.data, tensor_bytes(&value));
        tensor_release(&out);
        plan_destroy(plan);
    }
}

/* With one chain for all of them, the test would take minutes. */
static void chosen_elements_are_found_at_once(void **state)
{
    (void)state;
    const struct shape shape = shape_of(MANY);
    struct tensor x = tensor_borrow(DT_STRING, &shape, NULL), out;
    uint64_t(*keys)[2] = arena_alloc(arena, MANY * sizeof *keys);
    x.data = arena_alloc(arena, tensor_bytes(&x));
    for (int64_t i = 0; i < MANY; i++) {
        colliding_key((uint64_t)i, keys[i]);
        tensor_strings_mut(&x)[i] = (struct bytes){ (const char *)keys[i], sizeof keys[i] };
    }
    struct endpoint feed = build_placeholder(&b, NULL, DT_STRING, shape);
    struct endpoint y = build_unary(&b, "Unique", NULL, feed);
    struct plan *plan = plan_of(1, &feed, 1, &y, NULL);
    assert_ok(plan_run(plan, run, &x, &out));
    assert_int_equal(out.size, MANY);
    tensor_release(&out);
    plan_destroy(plan);
}

#define SECONDS_MAX 5 /* of the processor; with one chain for all of them, 17 */

static void chosen_classes_are_found_at_once(void **state)
{
    (void)state;
    const struct shape column = shape_of(MANY, 1), vector = shape_of(MANY);
    struct tensor values[2] = { tensor_borrow(DT_INT64, &column, NULL),
                                tensor_borrow(DT_INT64, &vector, NULL) };
    const struct attr attrs[] = { attr_int("num_true", 1), ATTR_END };
    struct tensor out;
    int64_t *classes = arena_alloc(arena, MANY * sizeof *classes);
    for (int64_t i = 0; i < MANY; i++)
        classes[i] = (int64_t)colliding_word((uint64_t)i);
    values[0].data = values[1].data = classes;
    const struct endpoint feeds[] = { build_placeholder(&b, NULL, DT_INT64, column),
                                      build_placeholder(&b, NULL, DT_INT64, vector) };
    struct endpoint y = build(&b, "ComputeAccidentalHits", NULL, 2, feeds, attrs);
    struct plan *plan = plan_of(2, feeds, 1, &y, NULL);
    clock_t begun = clock(); /* others may have the processor for longer */
    assert_ok(plan_run(plan, run, values, &out));
    assert_in_range(clock() - begun, 0, SECONDS_MAX * CLOCKS_PER_SEC);
    assert_int_equal(out.size, MANY);
    tensor_release(&out);
    plan_destroy(plan);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(rows) + 4] = { [COUNT(rows)] = TEST(a_sparse_product_ends),
                                                 TEST(long_lines_are_sorted),
                                                 TEST(chosen_elements_are_found_at_once),
                                                 TEST(chosen_classes_are_found_at_once) };
    for (size_t i = 0; i < COUNT(rows); i++)
        tests[i] = (struct CMUnitTest){ .name = rows[i].op,
                                        .test_func = ends,
                                        .initial_state = (void *)(uintptr_t)&rows[i] };
    return cmocka_run_group_tests_name("long work", tests, NULL, NULL);
}
