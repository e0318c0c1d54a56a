#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_value.h"

static int set_up(void **state)
{
    *state = arena_create(0);
    return 0;
}

static int tear_down(void **state)
{
    arena_destroy(*state);
    return 0;
}

static const struct json_value *read(const char *text, struct arena *arena)
{
    const struct json_value *value;
    struct status status = json_value_read(bytes_of(text), arena, &value);
    assert_string_equal(status.message, "");
    return value;
}

static void every_kind_is_read(void **state)
{
    const struct json_value *root =
        read("{\"a\": [1, -2.5, true, null], \"b\": \"x\\u0000y\", \"c\": {}}", *state);
    const struct json_value *list = json_value_get(root, "a");
    assert_int_equal(root->kind, JSON_VALUE_OBJECT);
    assert_int_equal(json_value_count(root), 3);
    assert_string_equal(root->keys[0], "a");
    assert_string_equal(root->keys[2], "c");
    assert_int_equal(list->kind, JSON_VALUE_LIST);
    assert_int_equal(json_value_count(list), 4);
    assert_int_equal(list->members[0].kind, JSON_VALUE_INT);
    assert_int_equal(list->members[0].integer, 1);
    assert_int_equal(list->members[1].kind, JSON_VALUE_REAL);
    assert_true(list->members[1].real == -2.5);
    assert_int_equal(list->members[2].kind, JSON_VALUE_BOOL);
    assert_true(list->members[2].boolean);
    assert_true(json_value_is_null(&list->members[3]));
    assert_true(
        bytes_equal(json_value_bytes(json_value_get(root, "b")), (struct bytes){ "x\0y", 3 }));
    assert_int_equal(json_value_count(json_value_get(root, "c")), 0);
}

static void a_byte_order_mark_is_passed(void **state)
{
    const struct json_value *value;

    assert_int_equal(read("\xef\xbb\xbf 7", *state)->integer, 7);
    assert_int_equal(json_value_read(bytes_of("\xef\xbb\xbf"), *state, &value).code,
                     STATUS_INVALID_ARGUMENT);
}

static void absent_members_are_null(void **state)
{
    const struct json_value *root = read("{\"a\": 1}", *state);
    assert_null(json_value_get(root, "b"));
    assert_null(json_value_get(NULL, "b"));
    assert_null(json_value_get(json_value_get(root, "a"), "b"));
    assert_null(json_value_get_text(root, "a"));
    assert_int_equal(json_value_count(NULL), 0);
    assert_int_equal(json_value_count(json_value_get(root, "a")), 0);
}

static void refusals_name_the_place(void **state)
{
    const struct json_value *value;
    struct status status = json_value_read(bytes_of("[1,\n x]"), *state, &value);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_memory_equal(status.message, "line 2, column 2", 16);
    status = json_value_read(bytes_of("\"\xff\""), *state, &value);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
}

static void strict_refuses_equal_keys_and_nuls(void **state)
{
    const struct json_value *value;
    assert_int_equal(read("{\"a\": 1, \"a\": 2}", *state)->members[0].integer, 2);
    struct status status = json_value_read_strict(bytes_of("{\"a\": 1, \"a\": 2}"), *state, &value);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    status = json_value_read_strict(bytes_of("[\"\\u0000\"]"), *state, &value);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
}

/* As json.dumps of Python writes them; a text with these words stays one. */
static void words_of_python_are_numbers(void **state)
{
    const char *text =
        "[NaN, -Infinity, Infinity, 1.5, \"a\\\" NaN\", {\"Infinity\": \"-Infinity\"}]";
    const struct json_value *value;
    struct buffer printed = { 0 };
    double number;

    assert_int_equal(json_value_read_strict(bytes_of(text), *state, &value).code,
                     STATUS_INVALID_ARGUMENT);
    assert_string_equal(json_value_read_python(bytes_of(text), *state, &value).message, "");
    assert_true(isnan(value->members[0].real));
    assert_true(value->members[1].real == -INFINITY);
    assert_true(value->members[2].real == INFINITY);
    assert_false(json_value_number(&value->members[2], &number));
    assert_true(json_value_any_number(&value->members[2], &number));
    assert_string_equal(json_value_show(&value->members[1], *state), "-Infinity");
    json_value_print(value, &printed);
    assert_true(bytes_equal((struct bytes){ printed.data, printed.size }, bytes_of(text)));
    buffer_finish(&printed);
}

static void other_words_are_refused_at_their_place(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        { "[Infinity,\n -Infinity, nan]", "line 2, column 15" },
        { "[-NaN]", "line 1, column 2" },
        { "[Infinity1]", "line 1, column " },
        { "{Infinity: 1}", "line 1, column " },
        { "[\"\\u0000oops\"]", "a text holds a NUL" },
        { "[\"Infinity", "premature end of input" },
        { "[\"\\", "line 1, column" },
        { "", "line 1, column 0" },
    };
    const struct json_value *value;

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct status status = json_value_read_python(bytes_of(rows[i].text), *state, &value);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, rows[i].said) == NULL)
            fail_msg("%s: %s", rows[i].text, status.message);
    }
}

static void what_is_printed_is_read_as_the_same(void **state)
{
    static const char *const texts[] = {
        "[1, -2.5, 3.0, 1e+20, 0.10000000000000001, true, null]",
        "{\"a\": {}, \"b\\n\": [[], \"x\\u0000y\"]}",
        "-9223372036854775807",
        "-0.0",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct buffer out = { 0 };
        json_value_print(read(texts[i], *state), &out);
        buffer_append_char(&out, '\0');
        assert_string_equal(out.data, texts[i]);
        buffer_finish(&out);
    }
}

static void an_arena_limit_is_kept(void **state)
{
    struct arena *arena = arena_create(64 << 10);
    struct buffer text = { 0 };
    const struct json_value *value;
    (void)state;
    buffer_append_text(&text, "[0");
    for (int i = 0; i < 10000; i++)
        buffer_append_text(&text, ",0");
    buffer_append_char(&text, ']');
    struct status status = json_value_read((struct bytes){ text.data, text.size }, arena, &value);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    buffer_finish(&text);
    arena_destroy(arena);
}

static void reads_integers_as_reals(void **state)
{
    const struct json_value *value;
    struct status status =
        json_value_read_reals(bytes_of("[-0, 100000000000000000000]"), *state, &value);
    assert_string_equal(status.message, "");
    for (int i = 0; i < 2; i++)
        assert_int_equal(value->members[i].kind, JSON_VALUE_REAL);
    assert_true(signbit(value->members[0].real));
    assert_true(value->members[1].real == 1e20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_is_passed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absent_members_are_null, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals_name_the_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(strict_refuses_equal_keys_and_nuls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_of_python_are_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_words_are_refused_at_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_printed_is_read_as_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_integers_as_reals, set_up, tear_down),
        cmocka_unit_test(an_arena_limit_is_kept),
    };
    return cmocka_run_group_tests_name("json value", tests, NULL, NULL);
}
