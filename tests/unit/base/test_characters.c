#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/characters.h"

static int value_of(int c)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    for (int i = 0; i < 16; i++)
        if (lower[i] == (char)c || upper[i] == (char)c)
            return i;
    return -1;
}

static void every_byte_is_a_digit_or_not(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        assert_int_equal(hex_digit((char)c), value_of(c));
        assert_int_equal(is_digit((char)c), c >= '0' && c <= '9');
    }
}

static void every_byte_is_in_a_set_or_not(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++)
        assert_int_equal(is_one_of((char)c, "\t,\xff"), c == '\t' || c == ',' || c == 0xff);
}

static void only_whole_escapes_are_decoded(void **state)
{
    static const struct {
        const char *text, *decoded;
    } rows[] = {
        { "", "" },         { "a b", "a b" }, { "%41", "A" },   { "%4a%4A", "JJ" },
        { "x%2Fy", "x/y" }, { "%", "%" },     { "%4", "%4" },   { "%zz", "%zz" },
        { "%4z", "%4z" },   { "%%41", "%A" }, { "a%4", "a%4" }, { "%2541", "%41" },
        { "%ff", "\xff" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char out[16];
        size_t size = percent_decode(bytes_of(rows[i].text), out);
        if (!bytes_equal((struct bytes){ out, size }, bytes_of(rows[i].decoded)))
            fail_msg("'%s' gives '%.*s'", rows[i].text, (int)size, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_a_digit_or_not),
        cmocka_unit_test(every_byte_is_in_a_set_or_not),
        cmocka_unit_test(only_whole_escapes_are_decoded),
    };
    return cmocka_run_group_tests_name("characters", tests, NULL, NULL);
}
