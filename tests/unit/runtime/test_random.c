/* The expected values are from TensorFlow 2.21:
 *     tf.raw_ops.StatelessRandomUniform(shape=[70], seed=tf.constant(seeds, tf.int64)) */
#include "unit/runtime/plan_fixture.h"
#include "support/test_group.h"

static const struct row {
    const char *label;
    int64_t seeds[2];
    float first[5], at62[4]; /* at62 crosses the end of a block of lanes */
} rows[] = {
    { "seeds of 0",
      { 0, 0 },
      { 0x1.b028ep-3f, 0x1.697a24p-1f, 0x1.99a1e8p-1f, 0x1.8aa548p-1f, 0x1.8dea3p-2f },
      { 0x1.ce085cp-1f, 0x1.1056cp-5f, 0x1.7ed248p-1f, 0x1.98bf88p-1f } },
    { "small seeds",
      { 1, 2 },
      { 0x1.b028bp-1f, 0x1.894f1p-3f, 0x1.fe10f8p-1f, 0x1.48793p-3f, 0x1.168498p-2f },
      { 0x1.5b5344p-1f, 0x1.588ca8p-2f, 0x1.164bb4p-1f, 0x1.2a5634p-1f } },
    { "a negative and a wide seed",
      { -3, 123456789012345 },
      { 0x1.8d77a4p-1f, 0x1.b02450p-1f, 0x1.70c9f8p-2f, 0x1.4b32d8p-2f, 0x1.8485ap-3f },
      { 0x1.d1b594p-1f, 0x1.70109p-2f, 0x1.24e5f4p-1f, 0x1.59ecap-4f } },
};

static struct plan *plan_of_draws(struct endpoint seed, int count)
{
    struct endpoint shape = build_const_ints(&b, NULL, 1, (int32_t[]){ count });
    struct endpoint y = build_binary(&b, "StatelessRandomUniform", NULL, shape, seed);

    return plan_of(1, &seed, 1, &y, NULL);
}

static void draws_the_numbers_of_tensorflow(void **state)
{
    const struct row *row = *state;
    const struct shape pair = shape_of(2);
    struct endpoint seed = build_placeholder(&b, "seed", DT_INT64, pair);
    struct plan *plan = plan_of_draws(seed, 70);
    struct tensor feed = tensor_borrow(DT_INT64, &pair, row->seeds), got;

    assert_ok(plan_run(plan, run, &feed, &got));
    assert_int_equal(got.size, 70);
    assert_memory_equal(tensor_floats(&got), row->first, sizeof row->first);
    assert_memory_equal(tensor_floats(&got) + 62, row->at62, sizeof row->at62);
    tensor_release(&got);
    plan_destroy(plan);
}

static void a_seed_of_another_shape_is_refused(void **state)
{
    (void)state;
    const struct shape three = shape_of(3);
    struct endpoint seed = build_placeholder(&b, "seed", DT_INT64, shape_unknown());
    struct plan *plan = plan_of_draws(seed, 4);
    struct tensor feed = tensor_borrow(DT_INT64, &three, (int64_t[]){ 1, 2, 3 }), got;
    struct status status = plan_run(plan, run, &feed, &got);

    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "seed must have shape [2], not [3]"));
    plan_destroy(plan);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test_setup_teardown(a_seed_of_another_shape_is_refused, setup, teardown),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS_WITH(&group, rows, label, draws_the_numbers_of_tensorflow, setup, teardown);
    return test_group_run(&group, "random", NULL, NULL);
}
