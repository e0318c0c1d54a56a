/* Tests the strings of JSON, of headers and of terminals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text_print.h"
#include "support/test_group.h"

struct row {
    const char *label, *text, *json, *ascii, *visible, *bare;
};

static const struct row rows[] = {
    { "plain", "a/b", "\"a/b\"", "\"a/b\"", "\"a/b\"", "a/b" },
    { "empty", "", "\"\"", "\"\"", "\"\"", "" },
    { "quotes", "a\"\\", "\"a\\\"\\\\\"", "\"a\\\"\\\\\"", "\"a\\\"\\\\\"", "a\"\\" },
    { "controls of ASCII", "\n\x1b[2J", "\"\\n\\u001B[2J\"", "\"\\n\\u001B[2J\"",
      "\"\\n\\u001B[2J\"", "\\n\\u001B[2J" },
    { "controls with a letter", "\b\f\r\t/", "\"\\b\\f\\r\\t/\"", "\"\\b\\f\\r\\t/\"",
      "\"\\b\\f\\r\\t/\"", "\\b\\f\\r\\t/" },
    { "delete", "\x7f", "\"\x7f\"", "\"\\u007F\"", "\"\\u007F\"", "\\u007F" },
    { "a control beyond ASCII", "\xC2\x9B", "\"\xC2\x9B\"", "\"\\u009B\"", "\"\\u009B\"",
      "\\u009B" },
    { "two bytes", "\xC3\xA9!", "\"\xC3\xA9!\"", "\"\\u00E9!\"", "\"\xC3\xA9!\"", "\xC3\xA9!" },
    { "three bytes", "\xE2\x82\xAC", "\"\xE2\x82\xAC\"", "\"\\u20AC\"", "\"\xE2\x82\xAC\"",
      "\xE2\x82\xAC" },
    { "four bytes", "\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\"", "\"\\uD83D\\uDE00\"",
      "\"\xF0\x9F\x98\x80\"", "\xF0\x9F\x98\x80" },
    { "a byte alone", "a\x9B\xFF", "\"a\x9B\xFF\"", "\"a\\uFFFD\\uFFFD\"", "\"a\\u009B\xFF\"",
      "a\\u009B\xFF" },
    { "cut short", "\xE2\x82", "\"\xE2\x82\"", "\"\\uFFFD\\uFFFD\"", "\"\xE2\\u0082\"",
      "\xE2\\u0082" },
    { "overlong", "\xC0\x9B", "\"\xC0\x9B\"", "\"\\uFFFD\\uFFFD\"", "\"\xC0\\u009B\"",
      "\xC0\\u009B" },
    { "a surrogate", "\xED\xA0\x80", "\"\xED\xA0\x80\"", "\"\\uFFFD\\uFFFD\\uFFFD\"",
      "\"\xED\xA0\\u0080\"", "\xED\xA0\\u0080" },
};

static void assert_prints(void (*print)(struct buffer *out, struct bytes text), const char *text,
                          const char *expected)
{
    struct buffer out = { 0 };
    print(&out, bytes_of(text));
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, expected);
    buffer_finish(&out);
}

static void is_printed(void **state)
{
    const struct row *row = *state;
    assert_prints(json_print_string, row->text, row->json);
    assert_prints(json_print_ascii, row->text, row->ascii);
    assert_prints(json_print_visible, row->text, row->visible);
    assert_prints(text_print_visible, row->text, row->bare);
}

static void line_feeds_stay_in_lines(void **state)
{
    (void)state;
    assert_prints(text_print_lines, "a\n\n\rb\n", "a\n\n\\rb\n");
    assert_prints(text_print_lines, "\x1b", "\\u001B");
}

static void what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    assert_prints(text_print_utf8, "", "");
    assert_prints(text_print_utf8, "a\"\n\xc3\xa9\xf0\x9f\x98\x80",
                  "a\"\n\xc3\xa9\xf0\x9f\x98\x80");
    assert_prints(text_print_utf8,
                  "a\xff"
                  "b\xc3",
                  "a\xef\xbf\xbd"
                  "b\xef\xbf\xbd");
    assert_prints(text_print_utf8, "\xed\xa0\x80\xc0\xaf",
                  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_prints(text_print_utf8, "\xef\xbf\xbd", "\xef\xbf\xbd");
}

static void a_nul_does_not_end_a_name(void **state)
{
    (void)state;
    assert_string_equal(text_print_name((struct bytes){ "\0a\0\0b\n", 6 }), "\\000a\\000\\000b\n");
    assert_string_equal(text_print_name((struct bytes){ NULL, 0 }), "");
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(line_feeds_stay_in_lines),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(a_nul_does_not_end_a_name),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, is_printed);
    return test_group_run(&group, "text_print", NULL, NULL);
}
