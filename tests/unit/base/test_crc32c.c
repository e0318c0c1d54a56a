#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/crc32c.h"

static void known_sums(void **state)
{
    (void)state;
    char zeros[32] = { 0 }, ones[32];
    memset(ones, 0xff, sizeof ones);
    assert_int_equal(crc32c(0, "", 0), 0);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43);
}

static void masking_and_back(void **state)
{
    (void)state;
    assert_int_equal(crc32c_mask(0), 0xa282ead8);
    assert_int_equal(crc32c_mask(0xe3069283), 0xc78ab0e5);
    assert_int_equal(crc32c_unmask(0xc78ab0e5), 0xe3069283);
}

static void the_instruction_agrees_with_the_tables(void **state)
{
    (void)state;
    static unsigned char data[40000];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)((seed = seed * 1664525 + 1013904223) >> 24);
    for (size_t size = 0; size < sizeof data; size += size < 64 ? 1 : 997)
        for (size_t start = 0; start < 3 && start <= size; start++)
            assert_int_equal(crc32c(7, data + start, size - start),
                             crc32c_plain(7, data + start, size - start));
}

static void sums_continue(void **state)
{
    (void)state;
    static unsigned char data[20000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * i >> 3);
    uint32_t whole = crc32c(0, data, sizeof data);
    for (size_t cut = 0; cut <= sizeof data; cut += 613)
        assert_int_equal(crc32c(crc32c(0, data, cut), data + cut, sizeof data - cut), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(masking_and_back),
        cmocka_unit_test(the_instruction_agrees_with_the_tables),
        cmocka_unit_test(sums_continue),
    };
    return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
