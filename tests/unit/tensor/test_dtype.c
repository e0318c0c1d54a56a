#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "tensor/dtype.h"

static void every_number_has_names_that_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        enum dtype back = DT_INVALID;
        assert_non_null(dtype_name((enum dtype)i));
        assert_true(dtype_parse_enum(dtype_enum_name((enum dtype)i), &back));
        assert_int_equal(back, i);
    }
}

static void references_lead_to_their_type(void **state)
{
    (void)state;
    assert_int_equal(dtype_base(101), DT_FLOAT);
    assert_int_equal(dtype_base(DT_HALF), DT_HALF);
    assert_int_equal(dtype_base(DTYPE_COUNT), DT_INVALID);
    assert_int_equal(dtype_base(100), DT_INVALID);
    assert_int_equal(dtype_base(-1), DT_INVALID);
    assert_int_equal(dtype_base(2000000000), DT_INVALID);
}

static void halves_survive_the_way_through_float(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        float value = half_to_float((uint16_t)i);
        if (isnan(value))
            assert_true(isnan(half_to_float(float_to_half(value))));
        else
            assert_int_equal(float_to_half(value), i);
    }
}

/* Floats as halves, rounded to nearest even: ties, the smallest subnormal, overflow. */
static const struct {
    float value;
    uint16_t half;
} halves[] = {
    { 1.0f, 0x3c00 },
    { -2.0f, 0xc000 },
    { 65504.0f, 0x7bff },
    { 65519.0f, 0x7bff },
    { 65520.0f, 0x7c00 },
    { 0x1p-24f, 0x0001 },
    { 0x1p-25f, 0x0000 },
    { 0x1.8p-25f, 0x0001 },
    { 0x1p-14f, 0x0400 },
    { 1.0f + 0x1p-11f, 0x3c00 },
    { 1.0f + 3 * 0x1p-11f, 0x3c02 },
    { -0.0f, 0x8000 },
};

static void floats_round_to_the_nearest_half(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(halves); i++)
        assert_int_equal(float_to_half(halves[i].value), halves[i].half);
    assert_int_equal(float_to_half(INFINITY), 0x7c00);
    assert_true(isnan(half_to_float(float_to_half(NAN))));
}

static void floats_round_to_the_nearest_bfloat16(void **state)
{
    (void)state;
    assert_int_equal(float_to_bfloat16(1.0f), 0x3f80);
    assert_int_equal(float_to_bfloat16(1.0f + 0x1p-8f), 0x3f80);
    assert_int_equal(float_to_bfloat16(1.0f + 3 * 0x1p-8f), 0x3f82);
    assert_int_equal(float_to_bfloat16(-INFINITY), 0xff80);
    assert_true(isnan(bfloat16_to_float(float_to_bfloat16(NAN))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_has_names_that_lead_back),
        cmocka_unit_test(references_lead_to_their_type),
        cmocka_unit_test(halves_survive_the_way_through_float),
        cmocka_unit_test(floats_round_to_the_nearest_half),
        cmocka_unit_test(floats_round_to_the_nearest_bfloat16),
    };
    return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
