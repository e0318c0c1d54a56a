#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "storage/histogram.h"

static void limits_rise_and_are_mirrored(void **state)
{
    (void)state;
    assert_true(histogram_limit(0) == -DBL_MAX);
    assert_true(histogram_limit(HISTOGRAM_SIDE) == 0);
    assert_true(histogram_limit(HISTOGRAM_SIDE + 1) == 1e-12);
    assert_true(histogram_limit(HISTOGRAM_BUCKETS - 1) == DBL_MAX);
    for (int i = 1; i < HISTOGRAM_BUCKETS; i++) {
        assert_true(histogram_limit(i) > histogram_limit(i - 1));
        assert_true(histogram_limit(i) == -histogram_limit(HISTOGRAM_BUCKETS - 1 - i));
    }
    assert_true(histogram_limit(HISTOGRAM_BUCKETS - 2) < 1e20 &&
                histogram_limit(HISTOGRAM_BUCKETS - 2) > 9e19);
}

/* Each value is in the bucket that ends above it and begins at it or below. */
static void each_value_is_in_its_bucket(void **state)
{
    (void)state;
    const float values[] = { 0,  -0.0f,   1e-12f,   -1e-12f, 1e-30f, -1e-30f,  1,
                             -1, FLT_MAX, -FLT_MAX, 1e20f,   -1e20f, 3.14159f, .1f };
    struct histogram *histogram = histogram_create();

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        histogram_clear(histogram);
        histogram_add(histogram, &values[i], 1);
        assert_int_equal(histogram->count, 1);
        int bucket = 0;
        while (histogram->counts[bucket] == 0)
            bucket++;
        assert_true((double)values[i] < histogram_limit(bucket));
        assert_true(bucket == 0 || (double)values[i] >= histogram_limit(bucket - 1));
    }
    free(histogram);
}

static void sums_are_of_finite_values(void **state)
{
    (void)state;
    const float values[] = { 2, NAN, -3, INFINITY, -INFINITY, .5f };
    struct histogram *histogram = histogram_create();

    histogram_add(histogram, values, 6);
    assert_int_equal(histogram->count, 3);
    assert_true(histogram->min == -3 && histogram->max == 2);
    assert_true(histogram->sum == -.5 && histogram->sum_squares == 13.25);
    free(histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_rise_and_are_mirrored),
        cmocka_unit_test(each_value_is_in_its_bucket),
        cmocka_unit_test(sums_are_of_finite_values),
    };

    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
