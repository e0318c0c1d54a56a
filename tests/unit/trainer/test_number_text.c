#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "trainer/records/number_text.h"

static void floats_have_the_values_of_strtod(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",           "-0",       "1.5",    "+2",
        ".5",          "5.",       "1e3",    "1E-3",
        "007",         " 1\t",     "1e-400", "inf",
        "-INF",        "Infinity", "+inf",   "12345678901234567890123",
        "3.4028234e38"
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        float got = -1, want = (float)strtod(texts[i], NULL);
        assert_int_equal(number_text_float(bytes_of(texts[i]), &got).code, STATUS_OK);
        assert_memory_equal(&got, &want, sizeof got);
    }
    float got = 0;
    assert_int_equal(number_text_float(bytes_of("NaN"), &got).code, STATUS_OK);
    assert_true(isnan(got));
}

static void texts_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = { "",       " ",     "abc", "0x10", "1p3", "1 2",
                                         "nan(1)", "1,5",   "1e",  "+-1",  "in",  "1e39",
                                         "-1e39",  "1e400", "--",  "." };
    float number;

    for (size_t i = 0; i < COUNT(texts); i++)
        assert_int_equal(number_text_float(bytes_of(texts[i]), &number).code,
                         STATUS_INVALID_ARGUMENT);
}

static void integers_keep_all_bits(void **state)
{
    (void)state;
    int64_t value;

    assert_int_equal(number_text_int64(bytes_of(" 9223372036854775807 "), &value).code, STATUS_OK);
    assert_true(value == INT64_MAX);
    assert_int_equal(number_text_int64(bytes_of("-9223372036854775808"), &value).code, STATUS_OK);
    assert_true(value == INT64_MIN);
    static const char *const wrong[] = {
        "9223372036854775808",    "-9223372036854775809", "1.0", "1e3", "", "-", "0x1",
        "99999999999999999999999"
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(number_text_int64(bytes_of(wrong[i]), &value).code,
                         STATUS_INVALID_ARGUMENT);
}

static void a_nul_byte_is_named(void **state)
{
    (void)state;
    float number;
    struct status status = number_text_float((struct bytes){ "3\0", 2 }, &number);

    assert_string_equal(status.message,
                        "'3' is followed by a NUL byte: is the file UTF-16, or binary?");
}

static void hexadecimal_has_up_to_16_digits(void **state)
{
    (void)state;
    int64_t value;

    assert_int_equal(number_text_hex(bytes_of("ffFFffFFffFFffFF"), &value).code, STATUS_OK);
    assert_true(value == -1);
    assert_int_equal(number_text_hex(bytes_of("00000000000000000"), &value).code,
                     STATUS_INVALID_ARGUMENT);
    assert_int_equal(number_text_hex(bytes_of("1g"), &value).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(number_text_hex(bytes_of(""), &value).code, STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_have_the_values_of_strtod),
        cmocka_unit_test(texts_that_are_no_numbers_are_refused),
        cmocka_unit_test(integers_keep_all_bits),
        cmocka_unit_test(a_nul_byte_is_named),
        cmocka_unit_test(hexadecimal_has_up_to_16_digits),
    };
    return cmocka_run_group_tests_name("number_text", tests, NULL, NULL);
}
