#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/json/example_request.h"
#include "support/padded_body.h"
#include "support/test_group.h"

static struct status read_body(const char *text, struct example_request *request)
{
    return example_request_read(padded_body(bytes_of(text)), arena, request);
}

/* Expected Examples, serialized: a Features message with one map entry per feature. */
static const struct row {
    const char *body;
    const char *wire;
    size_t size;
} rows[] = {
#define WIRE(text) text, sizeof(text) - 1
    { "{\"examples\":[{\"a\":7}]}",
      WIRE("\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x07") },
    { "{\"examples\":[{\"a\":true}]}",
      WIRE("\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x01") },
    { "{\"examples\":[{\"a\":1.5}]}",
      WIRE("\x0a\x0f\x0a\x0d\x0a\x01\x61\x12\x08\x12\x06\x0a\x04\x00\x00\xc0\x3f") },
    { "{\"examples\":[{\"a\":[\"x\",{\"b64\":\"eQ==\"}]}]}",
      WIRE("\x0a\x0f\x0a\x0d\x0a\x01\x61\x12\x08\x0a\x06\x0a\x01\x78\x0a\x01\x79") },
    { "{\"examples\":[{\"a\":[]}]}", WIRE("\x0a\x00") },
    { "{\"examples\":[{\"a\":[1.0],\"a\":[]}]}", WIRE("\x0a\x00") },
    { "{\"examples\":[{\"a\":[],\"b\":[],\"\\u0061\":7}]}",
      WIRE("\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x07") },
    { "{\"context\":{\"a\":7},\"examples\":[{\"b\":7}]}",
      WIRE(
          "\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x07\x0a\x0c\x0a\x0a\x0a\x01\x62\x12"
          "\x05\x1a\x03\x0a\x01\x07") },
};

static void is_serialized(void **state)
{
    const struct row *row = *state;
    struct example_request request;
    assert_string_equal(read_body(row->body, &request).message, "");
    assert_int_equal(request.examples.size, 1);
    struct bytes got = tensor_strings(&request.examples)[0];
    assert_int_equal(got.size, row->size);
    assert_memory_equal(got.data, row->wire, row->size);
}

static const struct error_row {
    const char *body, *error;
} error_rows[] = {
    { "{\"a\":1}",
      "JSON Value: {\n    \"a\": 1\n} When method is classify, key 'examples' is expected and was "
      "not found" },
    { "{\"examples\":5}",
      "JSON Value: {\n    \"examples\": 5\n} Expecting 'examples' value to be an list/array" },
    { "{\"examples\":[]}",
      "JSON Value: {\n    \"examples\": []\n} 'examples' value is an empty array" },
    { "{\"context\":3}", "Example must be JSON object but got JSON Number" },
    { "{\"context\":3,\"examples\":[]}", "Example must be JSON object but got JSON Number" },
    { "{\"examples\":[{\"a\":null,\"a\":[]}]}",
      "Feature: a has element with unexpected JSON type: Null" },
    { "{\"examples\":[5]}", "Example must be JSON object but got JSON Number" },
    { "{\"context\":[],\"examples\":[{}]}", "Example must be JSON object but got JSON Array" },
    { "{\"examples\":[{\"a\":null}]}", "Feature: a has element with unexpected JSON type: Null" },
    { "{\"examples\":[{\"a\":[1,[2]]}]}",
      "Feature: a has element with unexpected JSON type: Array" },
    { "{\"examples\":[{\"a\":{\"b\":1}}]}",
      "Feature: a has element with unexpected JSON type: Object" },
    { "{\"examples\":[{\"a\":[1,2.0]}]}",
      "Unexpected element type in feature: a expecting type: int64" },
    { "{\"examples\":[{\"a\":[2.0,1]}]}",
      "Unexpected element type in feature: a expecting type: float" },
    { "{\"examples\":[{\"a\":[\"x\",1]}]}",
      "Unexpected element type in feature: a expecting type: bytes" },
    { "{\"examples\":[{\"a\":9223372036854775808}]}",
      "Feature: a has uint64_t element. Only int64_t is supported." },
    { "[1]", "JSON Value: [\n    1\n] Is not object" },
};

static void is_refused(void **state)
{
    const struct error_row *row = *state;
    struct example_request request;
    struct status status = read_body(row->body, &request);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, row->error);
}

static void an_empty_list_and_many_examples_are_accepted(void **state)
{
    (void)state;
    struct example_request request;
    assert_string_equal(
        read_body("{\"signature_name\":\"s\",\"examples\":[{\"a\":[]},{},{\"a\":NaN}]}", &request)
            .message,
        "");
    assert_int_equal(request.examples.size, 3);
    assert_true(bytes_equal(request.signature_name, bytes_of("s")));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test_setup_teardown(an_empty_list_and_many_examples_are_accepted, arena_setup,
                                        padded_body_teardown),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS_WITH(&group, rows, body, is_serialized, arena_setup, padded_body_teardown);
    ADD_ROWS_WITH(&group, error_rows, body, is_refused, arena_setup, padded_body_teardown);
    return test_group_run(&group, "example json", NULL, NULL);
}
