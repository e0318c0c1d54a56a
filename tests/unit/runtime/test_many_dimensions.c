/* Feeds of 13 to 254 dimensions: kernels that take them, and those that say that they do not. */
#include "plan_fixture.h"

#include "tensor/tensor_wire.h"

#define X build_placeholder(&b, "x", DT_FLOAT, shape_unknown())

/* [first, 1, …, 1, last] of `rank` dimensions. */
static struct shape wide(int rank, int64_t first, int64_t last)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    struct shape shape;
    for (int i = 0; i < rank; i++)
        dims[i] = i == 0 ? first : i == rank - 1 ? last : 1;
    assert_ok(shape_check_any(rank, dims, &shape));
    return shape;
}

static void runs(struct endpoint x, struct endpoint y, struct tensor feed, const char *shape,
                 int count, const float *values)
{
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor out;
    assert_ok(plan_run(plan, run, &feed, &out));
    assert_string_equal(shape_text(&out.shape), shape);
    assert_values(&out, count, values);
    tensor_release(&out);
    plan_destroy(plan);
}

static void element_by_element(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint three = const_floats("three", shape_of(3), VALUES(1, 2, 3));
    struct endpoint column = const_floats("column", shape_of(2, 1), VALUES(10, 20));
    struct endpoint sum = build_binary(&b, "AddV2", "sum", build_unary(&b, "Neg", "neg", x), three);
    struct tensor feed = floats(wide(14, 2, 3), VALUES(0, 1, 2, 3, 4, 5));
    runs(x, sum, feed, "[2,1,1,1,1,1,1,1,1,1,1,1,1,3]", 6, VALUES(1, 1, 1, -2, -2, -2));
    runs(x, build_binary(&b, "Mul", "columns", x, column), feed, "[2,1,1,1,1,1,1,1,1,1,1,1,2,3]",
         12, VALUES(0, 10, 20, 0, 20, 40, 30, 40, 50, 60, 80, 100));
    runs(x, build_binary(&b, "Sub", "zero", x, build_unary(&b, "Relu", "relu", x)), feed,
         "[2,1,1,1,1,1,1,1,1,1,1,1,1,3]", 6, VALUES(0, 0, 0, 0, 0, 0));
}

/* 14 dimensions of 2 cannot be walked one by one, but a scalar goes with all of them. */
static void no_dimension_is_1(void **state)
{
    (void)state;
    static float values[1 << 14];
    int64_t dims[14], every_other[14];
    struct shape shape, other;
    for (int i = 0; i < 14; i++) {
        dims[i] = 2;
        every_other[i] = 1 + i % 2;
    }
    assert_ok(shape_check_any(14, dims, &shape));
    assert_ok(shape_check_any(14, every_other, &other));
    struct endpoint x = X, z = build_placeholder(&b, "z", DT_FLOAT, shape_unknown());
    struct endpoint y = build_binary(&b, "Add", "y", x, z);
    struct plan *plan = plan_of(2, (struct endpoint[]){ x, z }, 1, &y, NULL);
    struct tensor feeds[] = { floats(shape, values), floats(shape_scalar(), VALUES(7)) }, out;
    assert_ok(plan_run(plan, run, feeds, &out));
    assert_true(shape_equal(&out.shape, &shape));
    assert_float_equal(tensor_floats(&out)[(1 << 14) - 1], 7, 0);
    tensor_release(&out);
    feeds[1] = floats(other, values);
    assert_fails(plan_run(plan, run, feeds, &out), STATUS_UNIMPLEMENTED,
                 "a broadcast of [2,2,2,2,2,2,2,2,2,2,2,2,2,2] with [1,2,1,2,1,2,1,2,1,2,1,2,1,2] "
                 "[node 'y' (Add)]");
    plan_destroy(plan);
}

static void the_shape_itself(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint flat = build_binary(&b, "Reshape", "flat", x,
                                        build_const_ints(&b, "dims", 2, (int32_t[]){ -1, 3 }));
    struct tensor feed = floats(wide(254, 2, 3), VALUES(0, 1, 2, 3, 4, 5));
    runs(x, flat, feed, "[2,3]", 6, VALUES(0, 1, 2, 3, 4, 5));
    struct endpoint rank = build_unary(&b, "Rank", "rank", x),
                    shape = build_unary(&b, "Shape", "s", x);
    struct plan *plan = plan_of(1, &x, 2, (struct endpoint[]){ rank, shape }, NULL);
    struct tensor out[2];
    assert_ok(plan_run(plan, run, &feed, out));
    assert_int_equal(tensor_int32s(&out[0])[0], 254);
    assert_int_equal(out[1].size, 254);
    assert_int_equal(tensor_int32s(&out[1])[0], 2);
    assert_int_equal(tensor_int32s(&out[1])[253], 3);
    tensor_release(&out[0]);
    tensor_release(&out[1]);
    plan_destroy(plan);
}

/* The next run of the same plan is an ordinary one again. */
static void other_kernels_say_that_they_do_not(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y =
        build_binary(&b, "Sum", "y", x, build_const_ints(&b, "axes", 1, (int32_t[]){ 0 }));
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(wide(13, 2, 1), VALUES(1, 2)), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_UNIMPLEMENTED,
                 "input 0 has shape [2,1,1,1,1,1,1,1,1,1,1,1,1]; more than 12 dimensions are not "
                 "implemented here [node 'y' (Sum)]");
    assert_runs(plan, floats(shape_of(2, 1), VALUES(1, 2)), 1, VALUES(3));
    plan_destroy(plan);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* No feed has many dimensions, so the plan does not look for them. */
static void a_parsed_tensor_is_refused(void **state)
{
    (void)state;
    struct buffer wire = { 0 };
    struct tensor x = floats(wide(14, 2, 3), VALUES(0, 1, 2, 3, 4, 5)), out;
    tensor_wire_put(&x, TENSOR_WIRE_CONTENT, &wire);
    const struct bytes text = { wire.data, wire.size };
    const struct shape scalar = shape_scalar();
    struct tensor feed = tensor_borrow(DT_STRING, &scalar, &text);
    struct endpoint in = build_placeholder(&b, "in", DT_STRING, scalar);
    struct endpoint parsed = build(&b, "ParseTensor", NULL, 1, &in,
                                   (struct attr[]){ attr_type("out_type", DT_FLOAT), ATTR_END });
    struct endpoint y = build(&b, "Pack", NULL, 1, &parsed, NULL);
    struct plan *plan = plan_of(1, &in, 1, &y, NULL);
    assert_int_equal(plan_run(plan, run, &feed, &out).code, STATUS_UNIMPLEMENTED);
    plan_destroy(plan);
    buffer_finish(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(element_by_element),         TEST(no_dimension_is_1),
        TEST(the_shape_itself),           TEST(other_kernels_say_that_they_do_not),
        TEST(a_parsed_tensor_is_refused),
    };
    return cmocka_run_group_tests_name("many_dimensions", tests, NULL, NULL);
}
