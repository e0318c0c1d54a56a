/* TopKV2 over rows that are long enough to be passed over in blocks. What is right follows from the
 * definition: of equal values the lower index first, NaN after all numbers. */
#include "plan_fixture.h"

#include <math.h>

#define COLUMNS 1000

/* The value of element i. */
typedef float value_of(int i);

static float in_no_order(int i)
{
    return (float)((i * 7919 + 13) % 1009);
}

static float with_ties(int i)
{
    return (float)((i * 7919 + 13) % 11);
}

static float rising(int i)
{
    return (float)i;
}

static float falling(int i)
{
    return (float)-i;
}

static float all_the_same(int i)
{
    (void)i;
    return 3;
}

/* The best ones so far have NaNs among them, until there are enough numbers. */
static float first_nans(int i)
{
    return i < 700 && i % 9 != 0 ? NAN : in_no_order(i);
}

/* With k = 1, it ends a block of 64. */
static float one_is_better(int i)
{
    return i == 960 ? 1 : 0;
}

static const struct order {
    const char *label;
    value_of *value;
} orders[] = {
    { "in no order", in_no_order },
    { "with ties", with_ties },
    { "rising", rising },
    { "falling", falling },
    { "the same", all_the_same },
    { "NaNs first", first_nans },
    { "one is better", one_is_better },
};

static bool is_before(float x, float y, int of_x, int of_y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) == isnan(y) ? of_x < of_y : !isnan(x);
    return x > y || (x == y && of_x < of_y);
}

static int place_of(const float *x, int i)
{
    int place = 0;

    for (int j = 0; j < COLUMNS; j++)
        place += is_before(x[j], x[i], j, i);
    return place;
}

static void check(enum dtype dtype, const float *x, int32_t k)
{
    struct shape shape = shape_of(1, COLUMNS);
    struct tensor given = floats(shape, x), results[2];
    struct endpoint fed = build_placeholder(&b, NULL, DT_FLOAT, shape);
    struct endpoint top =
        build(&b, "TopKV2", NULL, 2,
              (const struct endpoint[]){ build_cast(&b, NULL, fed, dtype), build_const_int(&b, k) },
              NULL);
    const struct endpoint fetches[] = { build_cast(&b, NULL, top, DT_FLOAT), { top.node, 1 } };
    struct plan *plan = plan_of(1, &fed, 2, fetches, NULL);

    assert_ok(plan_run(plan, run, &given, results));
    for (int i = 0; i < COLUMNS; i++) {
        int place = place_of(x, i);
        if (place >= k)
            continue;
        assert_int_equal(tensor_int32s(&results[1])[place], i);
        assert_memory_equal(&tensor_floats(&results[0])[place], &x[i],
                            isnan(x[i]) ? 0 : sizeof(float));
    }
    tensors_release(2, results);
    plan_destroy(plan);
    run_reset(run);
}

static void finds_the_best(void **state)
{
    const struct order *order = *state;
    /* these numbers are whole in all types */
    static const enum dtype dtypes[] = { DT_FLOAT, DT_DOUBLE, DT_HALF, DT_INT32, DT_INT64 };
    static const int32_t ks[] = { 1, 10, 64, 130, COLUMNS };
    float x[COLUMNS];
    bool has_nan = false;

    setup(NULL);
    for (int i = 0; i < COLUMNS; i++) {
        x[i] = order->value(i);
        has_nan |= isnan(x[i]);
    }
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t i = 0; i < COUNT(ks); i++)
            if (!has_nan || (dtypes[d] != DT_INT32 && dtypes[d] != DT_INT64))
                check(dtypes[d], x, ks[i]);
    teardown(NULL);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(orders)];

    for (size_t i = 0; i < COUNT(orders); i++)
        tests[i] = (struct CMUnitTest){ .name = orders[i].label,
                                        .test_func = finds_the_best,
                                        .initial_state = (void *)(uintptr_t)&orders[i] };
    return cmocka_run_group_tests_name("top_k", tests, NULL, NULL);
}
