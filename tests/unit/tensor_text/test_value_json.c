#include "base/arena.h"
#include "unit/tensor_text/row_check.h"
#include "support/test_group.h"

#define LISTS_64 "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
#define ENDS_64  "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"

/* Values that are read and printed again. If want is NULL, the error must contain `error`. */
static const struct row {
    const char *label, *json;
    enum dtype dtype;
    const char *want, *error;
} rows[] = {
    { "floats", "[[1, 2.5], [-0.1, 1e30]]", DT_FLOAT,
      "[[1, 2.5],\n [-0.100000001, 1.00000002e+30]]", NULL },
    { "a negative zero", "[-0.0, -0]", DT_FLOAT, "[-0, -0]", NULL },
    { "a scalar", "7", DT_INT64, "7", NULL },
    { "an empty list", "[]", DT_INT32, "[]", NULL },
    { "an int8 that fits", "[-128, 127]", DT_INT8, "[-128, 127]", NULL },
    { "an int8 that does not", "[128]", DT_INT8, NULL, "element 0 is not a int8" },
    { "a negative unsigned", "[0, -1]", DT_UINT32, NULL, "element 1 is not a uint32" },
    { "a negative uint64", "[-1]", DT_UINT64, NULL, "element 0 is not a uint64" },
    { "a fraction for an integer", "[1.5]", DT_INT32, NULL, "element 0 is not a int32" },
    { "halves", "[0.5, 65504]", DT_HALF, "[0.5, 65504]", NULL },
    { "bfloat16", "[1, 0.5]", DT_BFLOAT16, "[1, 0.5]", NULL },
    { "bools", "[true, false]", DT_BOOL, "[true, false]", NULL },
    { "a number for a bool", "[1]", DT_BOOL, NULL, "element 0 is not a bool" },
    { "strings", "[\"a\\\"b\\u0000c\", \"\"]", DT_STRING, "[\"a\\\"b\\u0000c\", \"\"]", NULL },
    { "base64", "[{\"b64\": \"YQBi\"}, \"x\"]", DT_STRING, "[\"a\\u0000b\", \"x\"]", NULL },
    { "a base64 scalar", "{\"b64\": \"aGk\"}", DT_STRING, "\"hi\"", NULL },
    { "not base64", "[{\"b64\": \"a\"}]", DT_STRING, NULL, "{\"b64\": BASE64}" },
    { "another object", "[{\"b64\": \"YQ==\", \"x\": 1}]", DT_STRING, NULL, "{\"b64\": BASE64}" },
    { "base64 of a number", "[{\"b64\": 7}]", DT_STRING, NULL, "{\"b64\": BASE64}" },
    { "a number for a string", "[7]", DT_STRING, NULL, "element 0 is not a string" },
    { "a ragged list", "[[1], [2, 3]]", DT_FLOAT, NULL, "lists of different sizes at level 1" },
    { "first lists of 2^40 numbers in all",
      "[[[[[[[[[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"
      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"
      ","
      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"
      ","
      "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
      DT_FLOAT, NULL, "lists of different sizes at level" },
    { "a list in place of a number", "[1, [2]]", DT_FLOAT, NULL, "element 1 is not a float" },
    { "not JSON", "[1, ", DT_FLOAT, NULL, "not JSON" },
    { "30 levels of lists", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
      DT_FLOAT, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", NULL },
    { "256 levels of lists",
      LISTS_64 LISTS_64 LISTS_64 LISTS_64 "1" ENDS_64 ENDS_64 ENDS_64 ENDS_64, DT_FLOAT, NULL,
      "lists nested deeper than 254" },
};

static void reads_and_prints(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct tensor tensor = { 0 };
    struct status status = value_from_json(row->json, row->dtype, arena, &tensor);
    check_row(status, &tensor, row->want, STATUS_INVALID_ARGUMENT, row->error);
    arena_destroy(arena);
}

static void what_json_cannot_say_is_printed(void **state)
{
    (void)state;
    const float odd[] = { 0.0F / 0.0F, 1.0F / 0.0F, -1.0F / 0.0F };
    const struct shape shape = shape_of(3);
    struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, odd);
    struct buffer out = { 0 };
    value_to_text(&tensor, &out);
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, "[NaN, Infinity, -Infinity]");
    buffer_finish(&out);
}

static void empty_lists_beyond_measure_are_one(void **state)
{
    (void)state;
    const struct shape shapes[] = { shape_of(2, 0), shape_of(1 << 20, 1LL << 20, 0) };
    const char *wanted[] = { "[[],\n []]", "[]" };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct tensor tensor = tensor_borrow(DT_FLOAT, &shapes[i], "");
        struct buffer out = { 0 };
        value_to_text(&tensor, &out);
        buffer_append_char(&out, '\0');
        assert_string_equal(out.data, wanted[i]);
        buffer_finish(&out);
    }
}

/* A text of about 1 KB. The lengths of its nested lists multiply to 2^64. */
static void a_shape_that_wraps_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct tensor tensor;
    const char *text = "0";
    for (int level = 0; level < 12; level++) {
        text = arena_printf(arena, "[%s", text);
        for (int i = 1; i < (level < 4 ? 64 : 32); i++)
            text = arena_printf(arena, "%s,0", text);
        text = arena_printf(arena, "%s]", text);
    }
    struct status status = value_from_json(text, DT_FLOAT, arena, &tensor);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "more elements than fit into 64 bits"));
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(what_json_cannot_say_is_printed),
        cmocka_unit_test(empty_lists_beyond_measure_are_one),
        cmocka_unit_test(a_shape_that_wraps_is_refused),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads_and_prints);
    return test_group_run(&group, "value json", NULL, NULL);
}
