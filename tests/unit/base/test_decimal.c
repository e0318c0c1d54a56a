#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/decimal.h"

static void assert_prints(uint64_t value)
{
    char got[DECIMAL_MAX + 1], want[DECIMAL_MAX + 2];
    *decimal_put_uint64(got, value) = '\0';
    snprintf(want, sizeof want, "%llu", (unsigned long long)value);
    assert_string_equal(got, want);
    *decimal_put_int64(got, (int64_t)value) = '\0';
    snprintf(want, sizeof want, "%lld", (long long)value);
    assert_string_equal(got, want);
}

/* The neighbours of the powers of ten and of two, and their negatives. */
static void prints_integers(void **state)
{
    (void)state;
    for (uint64_t power = 1, i = 0; i < 20; power *= 10, i++)
        for (uint64_t value = power - 2; value != power + 2; value++) {
            assert_prints(value);
            assert_prints(0 - value);
        }
    for (int i = 0; i < 64; i++)
        assert_prints(UINT64_C(1) << i);
    assert_prints(UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_integers),
    };
    return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
