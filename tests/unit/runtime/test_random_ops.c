/* Random ops: distributions, and the effect of seeds. */
#include "unit/runtime/plan_fixture.h"

#include <math.h>
#include <string.h>

#define COUNT_OF_NUMBERS 20000

static struct endpoint random_node(const char *op, enum dtype dtype, int64_t seed)
{
    struct attr attrs[] = { attr_type("dtype", dtype), attr_int("seed", seed), ATTR_END };
    struct endpoint shape = build_const_ints(&b, "shape", 1, (int32_t[]){ COUNT_OF_NUMBERS });
    return build(&b, op, "random", 1, &shape, attrs);
}

static struct tensor run_plan(const struct plan *plan)
{
    struct tensor out;
    assert_ok(plan_run(plan, run, NULL, &out));
    return out;
}

struct moments {
    double mean, deviation, least, most;
};

static struct moments moments_of(const char *op)
{
    struct endpoint fetch = random_node(op, DT_FLOAT, 1);
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor out = run_plan(plan);
    struct moments m = { 0, 0, INFINITY, -INFINITY };
    for (int i = 0; i < COUNT_OF_NUMBERS; i++) {
        double value = (double)tensor_floats(&out)[i];
        m.mean += value / COUNT_OF_NUMBERS;
        m.deviation += value * value / COUNT_OF_NUMBERS;
        m.least = fmin(m.least, value);
        m.most = fmax(m.most, value);
    }
    m.deviation = sqrt(m.deviation - m.mean * m.mean);
    tensor_release(&out);
    plan_destroy(plan);
    return m;
}

/* The bounds are about five standard errors. */
static void draws_from_the_distribution_asked_for(void **state)
{
    (void)state;
    struct moments uniform = moments_of("RandomUniform");
    assert_true(fabs(uniform.mean - 0.5) < 0.011 && fabs(uniform.deviation - 0.2887) < 0.008);
    assert_true(uniform.least >= 0 && uniform.most < 1);
    struct moments normal = moments_of("RandomStandardNormal");
    assert_true(fabs(normal.mean) < 0.036 && fabs(normal.deviation - 1) < 0.026);
    struct moments truncated = moments_of("TruncatedNormal");
    assert_true(fabs(truncated.mean) < 0.032 && fabs(truncated.deviation - 0.8796) < 0.022);
    assert_true(truncated.least >= -2 && truncated.most <= 2);
}

static void gives_other_numbers_in_the_next_run_and_the_same_in_the_next_plan(void **state)
{
    (void)state;
    struct endpoint fetch = random_node("RandomUniform", DT_FLOAT, 3);
    struct plan *first = plan_of(0, NULL, 1, &fetch, NULL),
                *second = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor a = run_plan(first), other = run_plan(first), again = run_plan(second);
    assert_memory_not_equal(a.data, other.data, tensor_bytes(&a));
    assert_memory_equal(a.data, again.data, tensor_bytes(&a));
    tensor_release(&a);
    tensor_release(&other);
    tensor_release(&again);
    plan_destroy(first);
    plan_destroy(second);
}

/* The bound of the mean is about five standard errors. */
static void draws_integers_that_no_seed_gives_again(void **state)
{
    (void)state;
    struct attr attrs[] = { attr_type("dtype", DT_INT32), ATTR_END };
    struct endpoint shape = build_const_ints(&b, "shape", 1, (int32_t[]){ COUNT_OF_NUMBERS });
    struct endpoint fetch = build(&b, "NonDeterministicInts", "fresh", 1, &shape, attrs);
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor first = run_plan(plan), second = run_plan(plan);
    double mean = 0;
    for (int i = 0; i < COUNT_OF_NUMBERS; i++)
        mean += (double)tensor_int32s(&first)[i] / COUNT_OF_NUMBERS;
    assert_true(fabs(mean) < 4.4e7);
    assert_memory_not_equal(first.data, second.data, tensor_bytes(&first));
    tensor_release(&first);
    tensor_release(&second);
    plan_destroy(plan);
}

static void draws_integers_between_the_bounds(void **state)
{
    (void)state;
    struct endpoint in[] = { build_const_ints(&b, "shape", 1, (int32_t[]){ 1000 }),
                             build_const_int(&b, -2), build_const_int(&b, 3) };
    struct endpoint fetch = build(&b, "RandomUniformInt", "random", 3, in,
                                  (struct attr[]){ attr_int("seed", 5), ATTR_END });
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor out = run_plan(plan);
    int seen[5] = { 0 };
    for (int i = 0; i < 1000; i++) {
        assert_in_range(tensor_int32s(&out)[i] + 2, 0, 4);
        seen[tensor_int32s(&out)[i] + 2]++;
    }
    for (int i = 0; i < 5; i++)
        assert_in_range(seen[i], 130, 270);
    tensor_release(&out);
    plan_destroy(plan);
}

/* The values of the first two runs are from TensorFlow 2.21, as is the generator's below. */
static void goes_on_where_tensorflow_does(void **state)
{
    (void)state;
    static const float want[2][3] = { { 0x1.04d77p-3f, 0x1.a11f38p-1f, 0x1.cbb168p-1f },
                                      { 0x1.06f22p-1f, 0x1.2bc8p-10f, 0x1.3a8f6p-3f } };
    struct endpoint shape = build_const_ints(&b, "shape", 1, (int32_t[]){ 3 });
    struct endpoint fetch =
        build(&b, "RandomUniform", "random", 1, &shape,
              (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_int("seed", 3), ATTR_END });
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    for (int i = 0; i < 2; i++) {
        struct tensor out = run_plan(plan);
        assert_memory_equal(out.data, want[i], sizeof want[i]);
        tensor_release(&out);
    }
    plan_destroy(plan);
}

/* A variable that holds the counter 5, 7 and the key 11. */
static struct endpoint generator(void)
{
    struct shape three = shape_of(3);
    set_variable("g", tensor_borrow(DT_INT64, &three, (const int64_t[]){ 5, 7, 11 }));
    return variable_handle("g", DT_INT64, three);
}

static struct endpoint const_int64(int64_t value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_INT64, &scalar, &value);
    return build_const(&b, NULL, &tensor);
}

static void a_generator_moves_on_as_tensorflows_does(void **state)
{
    (void)state;
    static const float want[] = { 0x1.e8f14p-2f, 0x1.893eep-2f, 0x1.338f3p-3f };
    static const int64_t before[] = { 5, 7, 11 };
    const struct attr floats_attr[] = { attr_type("dtype", DT_FLOAT),
                                        attr_type("shape_dtype", DT_INT32), ATTR_END };
    struct shape scalar = shape_scalar();
    struct tensor delta = tensor_borrow(DT_UINT64, &scalar, (const uint64_t[]){ 3 }), out;
    struct endpoint handle = generator();
    struct endpoint skip[] = { handle, build_const_int(&b, 1), build_const(&b, NULL, &delta) };
    struct endpoint draw[] = { handle, const_int64(1),
                               build_const_ints(&b, NULL, 1, (int32_t[]){ 3 }) };
    struct endpoint fetches[] = { build(&b, "RngReadAndSkip", NULL, 3, skip, NULL),
                                  build(&b, "StatefulUniform", NULL, 3, draw, floats_attr) };
    struct plan *first = plan_of(0, NULL, 1, &fetches[0], NULL),
                *second = plan_of(0, NULL, 1, &fetches[1], NULL);
    out = run_plan(first);
    assert_memory_equal(out.data, before, sizeof before);
    tensor_release(&out);
    out = run_plan(second);
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);
    plan_destroy(first);
    plan_destroy(second);
}

static void refuses_a_negative_dimension(void **state)
{
    (void)state;
    struct endpoint shape = build_placeholder(&b, "shape", DT_INT32, shape_of(1));
    struct endpoint fetch = build(&b, "RandomUniform", "random", 1, &shape,
                                  (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(1, &shape, 1, &fetch, NULL);
    struct shape one = shape_of(1);
    int32_t dim = -1;
    struct tensor feed = tensor_borrow(DT_INT32, &one, &dim), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "Dimension -1 must be >= 0 [node 'random' (RandomUniform)]");
    plan_destroy(plan);
}

/* TensorFlow has more. */
static void refuses_a_sobol_sequence_of_many_dimensions(void **state)
{
    (void)state;
    struct endpoint dim = build_placeholder(&b, "dim", DT_INT32, shape_scalar());
    struct endpoint inputs[] = { dim, build_const_int(&b, 1), build_const_int(&b, 0) };
    struct endpoint fetch = build(&b, "SobolSample", "points", 3, inputs,
                                  (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(1, &dim, 1, &fetch, NULL);
    struct shape scalar = shape_scalar();
    int32_t many = 1112;
    struct tensor feed = tensor_borrow(DT_INT32, &scalar, &many), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_UNIMPLEMENTED,
                 "SobolSample of 1112 dimensions; at most 1111 [node 'points' (SobolSample)]");
    plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(draws_from_the_distribution_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(
            gives_other_numbers_in_the_next_run_and_the_same_in_the_next_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(draws_integers_that_no_seed_gives_again, setup, teardown),
        cmocka_unit_test_setup_teardown(draws_integers_between_the_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(goes_on_where_tensorflow_does, setup, teardown),
        cmocka_unit_test_setup_teardown(a_generator_moves_on_as_tensorflows_does, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_negative_dimension, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_sobol_sequence_of_many_dimensions, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("random ops", tests, NULL, NULL);
}
