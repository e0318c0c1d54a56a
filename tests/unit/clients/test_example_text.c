#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clients/example_text.h"
#include "proto/wire.h"
#include "support/test_group.h"

/* Formats a feature as "kind=hex,"; describe_example formats all, as "key:kind=hex,;". */
static void describe_value(struct bytes feature, struct buffer *out)
{
    static const char *const kinds[] = { "", "bytes", "float", "int64" };
    struct wire lists = wire_of(feature);
    struct wire_field list, value;
    while (wire_next(&lists, &list)) {
        struct wire values = wire_of(list.bytes);
        buffer_printf(out, "%s=", kinds[list.number]);
        while (wire_next(&values, &value)) {
            for (size_t i = 0; i < value.bytes.size; i++)
                buffer_printf(out, "%02x", (unsigned char)value.bytes.data[i]);
            buffer_append_char(out, ',');
        }
        assert_false(values.damaged);
    }
    assert_false(lists.damaged);
}

static void describe_example(struct bytes example, struct buffer *out)
{
    struct wire outer = wire_of(example);
    struct wire_field features, entry, part;
    assert_true(wire_next(&outer, &features));
    struct wire entries = wire_of(features.bytes);
    while (wire_next(&entries, &entry)) {
        struct wire parts = wire_of(entry.bytes);
        assert_true(wire_next(&parts, &part));
        buffer_printf(out, "%.*s:", (int)part.bytes.size, part.bytes.data);
        assert_true(wire_next(&parts, &part));
        describe_value(part.bytes, out);
        buffer_append_char(out, ';');
    }
    assert_false(entries.damaged);
}

static const struct row {
    const char *label, *json;
    const char *want; /* each example as text, and a newline */
    const char *error;
} rows[] = {
    { "a text", "[{\"a\": \"hi\"}]", "a:bytes=6869,;\n", NULL },
    { "an empty text", "[{\"a\": \"\"}]", "a:bytes=,;\n", NULL },
    { "base64", "[{\"a\": {\"b64\": \"AP8=\"}}]", "a:bytes=00ff,;\n", NULL },
    { "text and base64", "[{\"a\": [\"x\", {\"b64\": \"/w==\"}]}]", "a:bytes=78,ff,;\n", NULL },
    { "an integer", "[{\"a\": 300}]", "a:int64=ac02,;\n", NULL },
    { "zeros", "[{\"a\": [0, 0]}]", "a:int64=00,00,;\n", NULL },
    { "a negative integer", "[{\"a\": -1}]", "a:int64=ffffffffffffffffff01,;\n", NULL },
    { "booleans", "[{\"a\": [true, false]}]", "a:int64=01,00,;\n", NULL },
    { "a fraction", "[{\"a\": 1.5}]", "a:float=0000c03f,;\n", NULL },
    { "an exponent", "[{\"a\": [1e0, 0.0]}]", "a:float=0000803f,00000000,;\n", NULL },
    { "an empty list", "[{\"a\": []}]", "a:;\n", NULL },
    { "two features", "[{\"b\": 1, \"a\": 2.0}]", "b:int64=01,;a:float=00000040,;\n", NULL },
    { "two examples", "[{\"a\": 1}, {}]", "a:int64=01,;\n\n", NULL },
    { "no example", "[]", "", NULL },
    { "mixed kinds", "[{\"a\": [1, 1.5]}]", NULL,
      "example 0: feature 'a' mixes kinds at element 1" },
    { "a list in a list", "[{\"a\": [[1]]}]", NULL, "feature 'a' is neither a string" },
    { "null", "[{\"a\": null}]", NULL, "feature 'a' is neither a string" },
    { "another object", "[{\"a\": {\"b64\": \"\", \"x\": 1}}]", NULL, "feature 'a' is neither" },
    { "base64 of a number", "[{\"a\": {\"b64\": 1}}]", NULL, "feature 'a' is neither a string" },
    { "not base64", "[{}, {\"a\": {\"b64\": \"?\"}}]", NULL, "example 1: feature 'a': " },
    { "an example that is a list", "[[1]]", NULL, "example 0: an example is a JSON object" },
    { "an object of examples", "{\"a\": 1}", NULL, "a list of examples is expected" },
    { "not JSON", "[{", NULL, "not JSON: line 1, column 2" },
};

static void becomes_examples(void **state)
{
    const struct row *row = *state;
    struct buffer out = { 0 }, text = { 0 };
    struct status status = examples_from_json(row->json, 1, &out);
    if (row->want == NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, row->error) == NULL)
            fail_msg("'%s' is not in '%s'", row->error, status.message);
    } else {
        struct wire wire = wire_of((struct bytes){ out.data != NULL ? out.data : "", out.size });
        struct wire_field field;
        assert_string_equal(status.message, "");
        while (wire_next(&wire, &field)) {
            assert_int_equal(field.number, 1);
            describe_example(field.bytes, &text);
            buffer_append_char(&text, '\n');
        }
        assert_false(wire.damaged);
        buffer_append_char(&text, '\0');
        assert_string_equal(text.data, row->want);
    }
    buffer_finish(&text);
    buffer_finish(&out);
}

static void a_context_is_one_object(void **state)
{
    struct buffer out = { 0 }, text = { 0 };
    struct wire_field field;
    (void)state;
    assert_string_equal(example_from_json("{\"a\": 1}", 2, &out).message, "");
    struct wire wire = wire_of((struct bytes){ out.data, out.size });
    assert_true(wire_next(&wire, &field));
    assert_int_equal(field.number, 2);
    describe_example(field.bytes, &text);
    buffer_append_char(&text, '\0');
    assert_string_equal(text.data, "a:int64=01,;");
    assert_int_equal(example_from_json("[{\"a\": 1}]", 2, &out).code, STATUS_INVALID_ARGUMENT);
    buffer_finish(&text);
    buffer_finish(&out);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_context_is_one_object),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, becomes_examples);
    return test_group_run(&group, "example text", NULL, NULL);
}
