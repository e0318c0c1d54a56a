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
        cmocka_unit_test_setup_teardown(what_is_printed_is_read_as_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_integers_as_reals, set_up, tear_down),
        cmocka_unit_test(an_arena_limit_is_kept),
    };
    return cmocka_run_group_tests_name("json value", tests, NULL, NULL);
}
