#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "storage/ordered_code.h"
#include "storage/slice.h"

static void assert_hex(struct buffer *buffer, const char *expected)
{
    char hex[256] = "";
    for (size_t i = 0; i < buffer->size; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)buffer->data[i]);
    buffer_finish(buffer);
    assert_string_equal(hex, expected);
}

static const struct row {
    int64_t value;
    const char *hex;
} signed_rows[] = {
    { 0, "80" },          { 1, "81" },           { 5, "85" },          { 63, "bf" },
    { 64, "c040" },       { 100, "c064" },       { 8191, "dfff" },     { 8192, "e02000" },
    { 100000, "e186a0" }, { 0x424242, "f0424242" }, { -1, "7f" },      { -64, "40" },
    { -65, "3fbf" },      { -2048, "3800" },
}, unsigned_rows[] = {
    { 0, "00" }, { 1, "0101" }, { 2, "0102" }, { 255, "01ff" }, { 256, "020100" },
};

static void signed_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(signed_rows); i++) {
        struct buffer buffer = { 0 };
        ordered_put_snum(&buffer, signed_rows[i].value);
        assert_hex(&buffer, signed_rows[i].hex);
    }
}

static void unsigned_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(unsigned_rows); i++) {
        struct buffer buffer = { 0 };
        ordered_put_num(&buffer, (uint64_t)unsigned_rows[i].value);
        assert_hex(&buffer, unsigned_rows[i].hex);
    }
}

static void the_order_of_bytes_is_the_order_of_numbers(void **state)
{
    (void)state;
    int64_t values[2 * 63 + 3], count = 0;
    values[count++] = INT64_MIN;
    for (int i = 62; i >= 0; i--)
        values[count++] = -((int64_t)1 << i);
    values[count++] = 0;
    for (int i = 0; i < 63; i++)
        values[count++] = (int64_t)1 << i;
    values[count++] = INT64_MAX;
    struct buffer last = { 0 };
    for (int i = 0; i < count; i++) {
        struct buffer code = { 0 };
        ordered_put_snum(&code, values[i]);
        if (i > 0)
            assert_true(bytes_compare((struct bytes){ last.data, last.size },
                                      (struct bytes){ code.data, code.size }) < 0);
        buffer_finish(&last);
        last = code;
    }
    buffer_finish(&last);
}

static void keys_of_slices(void **state)
{
    (void)state;
    struct buffer key = { 0 };
    struct tensor_slice slice = { 2, { 0, 0 }, { 5, SLICE_WHOLE } };
    slice_key(bytes_of("foo"), &slice, &key);
    assert_hex(&key, "00666f6f000101028085807f");
    slice = (struct tensor_slice){ 2, { 0, 0 }, { 500, 8 } };
    key = (struct buffer){ 0 };
    slice_key(bytes_of("emb"), &slice, &key);
    assert_hex(&key, "00656d620001010280c1f48088");
    slice = (struct tensor_slice){ 2, { 500, 0 }, { 500, 8 } };
    key = (struct buffer){ 0 };
    slice_key(bytes_of("emb"), &slice, &key);
    assert_hex(&key, "00656d6200010102c1f4c1f48088");
    slice = slice_whole(0);
    key = (struct buffer){ 0 };
    slice_key(bytes_of("a"), &slice, &key);
    assert_hex(&key, "0061000100");
    key = (struct buffer){ 0 };
    ordered_put_string(&key, (struct bytes){ "\0\xff", 2 });
    assert_hex(&key, "00ffff000001");
}

static void specifications_are_read_and_checked(void **state)
{
    (void)state;
    struct shape shape;
    struct tensor_slice slice, resolved;
    assert_string_equal(slice_parse("1000 8 500,500:-", &shape, &slice).message, "");
    assert_string_equal(shape_text(&shape), "[1000,8]");
    assert_string_equal(slice_text(&slice), "500,500:-");
    assert_string_equal(slice_resolve(&slice, &shape, &resolved).message, "");
    assert_string_equal(slice_text(&resolved), "500,500:0,8");
    assert_string_equal(slice_parse("3 -", &shape, &slice).message, "");
    const char *wrong[] = { "3",   "3 ",   "3 -:-", "3 1",  "3 1,",  "3 1,x",
                            "x -", "3  -", "3 4 -", "-3 -", "3 1,2:" };
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (status_is_ok(slice_parse(wrong[i], &shape, &slice)))
            fail_msg("'%s' was taken", wrong[i]);
    assert_string_equal(slice_parse("3 1,3", &shape, &slice).message, "");
    assert_int_equal(slice_resolve(&slice, &shape, &resolved).code, STATUS_INVALID_ARGUMENT);
}

static void copies_land_where_they_belong(void **state)
{
    (void)state;
    /* Copies the slice [:, 1:3, 1:4] of a [2,3,4] tensor to a buffer for its slice
     * [0:2, 0:3, 1:4]. */
    int from[24], to[18], expected[18];
    for (int i = 0; i < 24; i++)
        from[i] = i;
    memset(to, -1, sizeof to);
    memset(expected, -1, sizeof expected);
    struct tensor_slice whole = { 3, { 0, 0, 0 }, { 2, 3, 4 } },
                        target = { 3, { 0, 0, 1 }, { 2, 3, 3 } },
                        part = { 3, { 0, 1, 1 }, { 2, 2, 3 } };
    for (int a = 0; a < 2; a++)
        for (int b = 1; b < 3; b++)
            for (int c = 1; c < 4; c++)
                expected[a * 9 + b * 3 + c - 1] = a * 12 + b * 4 + c;
    slice_copy(&part, &whole, from, &target, to, sizeof(int));
    assert_memory_equal(to, expected, sizeof to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(the_order_of_bytes_is_the_order_of_numbers),
        cmocka_unit_test(keys_of_slices),
        cmocka_unit_test(specifications_are_read_and_checked),
        cmocka_unit_test(copies_land_where_they_belong),
    };
    return cmocka_run_group_tests_name("ordered code and slices", tests, NULL, NULL);
}
