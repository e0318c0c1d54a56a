/* Inferring shapes of what a file may hold and no program writes. What TensorFlow infers for usual
 * graphs is compared by test_shapes.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "graph/build.h"
#include "support/status.h"

static struct arena *arena;
static struct builder b;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    b = builder_init(graph_create(arena));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    graph_finish(b.graph);
    arena_destroy(arena);
    return 0;
}

static struct endpoint ints(int count, const int32_t *values)
{
    return build_const_ints(&b, NULL, count, values);
}

static void assert_shape(struct endpoint endpoint, const char *expected)
{
    assert_ok(builder_status(&b));
    assert_string_equal(shape_text(endpoint_shape(endpoint)), expected);
}

/* A vector has only dimension 0, so the other bits of a mask say nothing. */
static void a_mask_counts_for_its_own_dimension(void **state)
{
    (void)state;
    const struct endpoint inputs[] = { ints(3, (int32_t[]){ 5, 6, 7 }), ints(1, (int32_t[]){ 1 }),
                                       ints(1, (int32_t[]){ 2 }), ints(1, (int32_t[]){ 1 }) };
    struct endpoint slice =
        build(&b, "StridedSlice", NULL, 4, inputs,
              (const struct attr[]){ attr_int("begin_mask", 2), attr_int("end_mask", 2),
                                     attr_int("shrink_axis_mask", 2), ATTR_END });
    assert_shape(build_binary(&b, "Fill", NULL, slice, build_const_float(&b, 0)), "[6]");
}

#define JOINS         9
#define TIMES         40
#define INFER_SECONDS 20 /* it takes microseconds */

/* Each list is the one before, many times: without an end, there would be 40^9 of the first one. */
static void a_list_that_is_joined_with_itself_ends(void **state)
{
    (void)state;
    struct endpoint list = ints(0, NULL), inputs[TIMES + 1];
    alarm(INFER_SECONDS);
    for (int join = 0; join < JOINS; join++) {
        for (int i = 0; i < TIMES; i++)
            inputs[i] = list;
        inputs[TIMES] = build_const_int(&b, 0);
        list = build(&b, "ConcatV2", NULL, TIMES + 1, inputs, NULL);
    }
    assert_shape(build_binary(&b, "Fill", NULL, list, build_const_float(&b, 0)), "[]");
    alarm(0);
}

static void a_product_of_sizes_that_is_too_large_is_unknown(void **state)
{
    (void)state;
    const int64_t large = (int64_t)1 << 40;
    const struct endpoint inputs[] = { build_placeholder(&b, NULL, DT_INT64, shape_of(-1)),
                                       build_placeholder(&b, NULL, DT_FLOAT,
                                                         shape_of(large, large)) };
    struct endpoint sparse = build(&b, "RaggedTensorToSparse", NULL, 2, inputs,
                                   (const struct attr[]){ attr_int("RAGGED_RANK", 1), ATTR_END });
    assert_shape(sparse, "[?,3]");
}

static void a_window_slides_over_the_largest_image(void **state)
{
    (void)state;
    const int64_t strides[] = { 1, 2, 1, 1 };
    const struct endpoint inputs[] = {
        build_placeholder(&b, NULL, DT_FLOAT, shape_of(1, INT64_MAX, 1, 1)),
        build_placeholder(&b, NULL, DT_FLOAT, shape_of(1, 1, 1, 1))
    };
    struct endpoint y = build(&b, "Conv2D", NULL, 2, inputs,
                              (const struct attr[]){ attr_ints(&b, "strides", 4, strides),
                                                     attr_text("padding", "VALID"), ATTR_END });
    assert_shape(y, "[1,4611686018427387904,1,1]");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_mask_counts_for_its_own_dimension),
        TEST(a_list_that_is_joined_with_itself_ends),
        TEST(a_product_of_sizes_that_is_too_large_is_unknown),
        TEST(a_window_slides_over_the_largest_image),
    };
    return cmocka_run_group_tests_name("infer", tests, NULL, NULL);
}
