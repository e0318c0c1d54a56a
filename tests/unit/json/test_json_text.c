#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/json/check.h"
#include "server/json/dump.h"
#include "server/json/string.h"
#include "server/json/walk.h"
#include "support/padded_body.h"
#include "support/test_group.h"

static const struct row {
    const char *text, *reason;
    size_t offset;
} rows[] = {
#include "json_errors.inc"
};

static void agrees_with_rapidjson(void **state)
{
    const struct row *row = *state;
    const char *text = padded_body(bytes_of(row->text)).data;
    struct json_error error;
    const char *start = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
    const char *end = json_check(start, &error);
    if (row->reason == NULL) {
        assert_non_null(end);
        if (*json_space(end) ==
            '\0') /* json_skip needs white space or a bracket at the end of a number */
            assert_ptr_equal(json_skip(json_space(start)), end);
    } else {
        assert_null(end);
        assert_string_equal(error.reason, row->reason);
        assert_int_equal(error.at - text, row->offset);
    }
}

static void deep_nesting_is_skipped_without_recursion(void **state)
{
    (void)state;
    size_t depth = 1000000;
    char *text = calloc(1, 2 * depth + JSON_PADDING);
    struct json_error error;
    memset(text, '[', depth);
    assert_null(json_check(text, &error));
    assert_int_equal(error.at - text, depth);
    memset(text + depth, ']', depth);
    assert_ptr_equal(json_check(text, &error), text + 2 * depth);
    assert_ptr_equal(json_skip(text), text + 2 * depth);
    text[depth + 1000] = '}';
    assert_null(json_check(text, &error));
    assert_string_equal(error.reason, "Missing a comma or ']' after an array element.");
    free(text);
}

static const struct string_row {
    const char *text, *bytes;
    size_t size;
} string_rows[] = {
    { "\"\"", "", 0 },
    { "\"plain\"", "plain", 5 },
    { "\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\te\"", "a\"b\\c/d\b\f\n\r\te", 13 },
    { "\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10 },
    { "\"nul\\u0000inside\"", "nul\0inside", 10 },
    { "\"\\ude00\"", "\xED\xB8\x80", 3 },
    { "\"bytes \xff pass\"", "bytes \xff pass", 12 },
};

static void strings_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(string_rows); i++) {
        struct bytes got;
        const char *text = padded_body(bytes_of(string_rows[i].text)).data;
        assert_int_equal(json_string_read(text, arena, &got).code, STATUS_OK);
        assert_int_equal(got.size, string_rows[i].size);
        assert_memory_equal(got.data, string_rows[i].bytes, got.size);
    }
}

static const struct dump_row {
    const char *text, *dump;
} dump_rows[] = {
    { "{ \"a\" : [ 1 , 2.50 , -3e2 ] }",
      "{\n    \"a\": [\n        1,\n        2.5,\n        -300.0\n    ]\n}" },
    { "[true, false , null, \"x\\ny\\u0001\"]",
      "[\n    true,\n    false,\n    null,\n    \"x\\ny\\u0001\"\n]" },
    { "[1e21, 1e22, 1.5e-7, 0.00001, -0, -0.0, 123456789.125]",
      "[\n    1e21,\n    1e22,\n    1.5e-7,\n    0.00001,\n    0,\n    -0.0,\n    "
      "123456789.125\n]" },
    { "[18446744073709551615, 18446744073709551616]",
      "[\n    18446744073709551615,\n    18446744073709552000.0\n]" },
    { "{\"a\":[[],{ },[1]],\"b\":2}", "{\n    \"a\": [\n        [],\n        {},\n        [\n      "
                                      "      1\n        ]\n    ],\n    \"b\": 2\n}" },
    /* RapidJSON's writer stops at a number that JSON cannot represent … */
    { "[NaN, 1]", "[\n    " },
    { "{\"a\":{\"b\":-Infinity}}", "{\n    \"a\": {\n        \"b\": " },
    /* … but TensorFlow Serving itself writes a number that is the whole document. */
    { "NaN", "NaN" },
    { "-Infinity]", "-Infinity" },
    { "1.5e-7", "1.5e-07" },
    { "0.1234567891", "0.123456791" },
    { "1e39", "1e+39" },
    { "\"\\u00e9\"", "\"\xC3\xA9\"" },
    { "2\"behind it", "2" },
    { "truex\"", "true" },
    { "\"a\"\"b", "\"a\"" },
};

static void values_are_dumped_as_by_rapidjson(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(dump_rows); i++) {
        const char *text = padded_body(bytes_of(dump_rows[i].text)).data;
        assert_string_equal(json_dump(text, arena), dump_rows[i].dump);
    }
}

static void dumps_end_at_256_bytes(void **state)
{
    (void)state;
    char *text = calloc(1, 2000 + JSON_PADDING);
    memset(text, ' ', 2000);
    for (int i = 0; i < 900; i++)
        memcpy(text + 2 * i, i == 0 ? "[1" : ",1", 2);
    text[1999] = ']';
    assert_int_equal(strlen(json_dump(text, arena)), 256);
    memset(text, 'x', 2000);
    text[0] = text[1999] = '"';
    text[255] = '\xC3';
    text[256] = '\xA9';
    assert_int_equal(strlen(json_dump(text, arena)), 255); /* does not cut a UTF-8 sequence */
    free(text);
}

static void members_and_elements_are_walked(void **state)
{
    (void)state;
    const char *text = padded_body(bytes_of("[ {\"a\" : [1,2] , \"b\":{} }, [ ], \"x,]\" ]")).data;
    const char *first = json_first(text), *value;
    assert_int_equal(json_list_size(text), 3);
    assert_int_equal(*first, '{');
    const char *a = json_first(first);
    assert_int_equal(json_list_size(json_member_value(a)), 2);
    const char *b = json_next_member(a);
    assert_int_equal(b[1], 'b');
    assert_null(json_next_member(b));
    assert_null(json_first(json_next(first)));
    assert_false(json_is_base64(first, &value));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(deep_nesting_is_skipped_without_recursion),
        cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(values_are_dumped_as_by_rapidjson),
        cmocka_unit_test(dumps_end_at_256_bytes),
        cmocka_unit_test(members_and_elements_are_walked),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, text, agrees_with_rapidjson);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "json text", arena_setup, padded_body_teardown);
}
