#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/json/signatures.h"
#include "support/padded_body.h"
#include "support/test_group.h"

static struct test_finder finder;

static int set_up(void **state)
{
    finder = (struct test_finder){ .base.find = find_test_signature };
    return arena_setup(state);
}

static struct status read_body(const char *text, struct predict_request *request)
{
    return predict_request_read(padded_body(bytes_of(text)), &finder.base, arena, request);
}

/* Formats the tensor as "float [2,1] 1 2". */
static const char *tensor_words(const struct tensor *tensor)
{
    struct buffer out = { 0 };
    buffer_printf(&out, "%s %s", dtype_name(tensor->dtype), shape_text(&tensor->shape));
    for (int64_t i = 0; i < tensor->size; i++) {
        switch (tensor->dtype) {
        case DT_FLOAT:
            buffer_printf(&out, " %g", tensor_floats(tensor)[i]);
            break;
        case DT_DOUBLE:
            buffer_printf(&out, " %.17g", tensor_doubles(tensor)[i]);
            break;
        case DT_STRING:
            buffer_printf(&out, " %.*s", (int)tensor_strings(tensor)[i].size,
                          tensor_strings(tensor)[i].data);
            break;
        case DT_BOOL:
            buffer_printf(&out, " %d", tensor_bools(tensor)[i]);
            break;
        case DT_UINT8:
            buffer_printf(&out, " %d", ((const uint8_t *)tensor->data)[i]);
            break;
        case DT_INT8:
            buffer_printf(&out, " %d", ((const int8_t *)tensor->data)[i]);
            break;
        case DT_INT16:
            buffer_printf(&out, " %d", ((const int16_t *)tensor->data)[i]);
            break;
        case DT_INT32:
            buffer_printf(&out, " %d", tensor_int32s(tensor)[i]);
            break;
        case DT_INT64:
            buffer_printf(&out, " %lld", (long long)tensor_int64s(tensor)[i]);
            break;
        case DT_UINT32:
            buffer_printf(&out, " %u", ((const uint32_t *)tensor->data)[i]);
            break;
        case DT_UINT64:
            buffer_printf(&out, " %llu", ((const unsigned long long *)tensor->data)[i]);
            break;
        default:
            fail();
        }
    }
    char *text = arena_memdup(arena, out.data, out.size);
    buffer_finish(&out);
    return text;
}

#define S(name)   "\"signature_name\":\"" name "\","
#define ROW_ERROR "Failed to process element: "
#define ROW_LIST  " of 'instances' list. Error: INVALID_ARGUMENT: "

#define TOO_BIG   "JSON Parse error: Number too big to be stored in double. at offset: "
#define ZEROS_62  "00000000000000000000000000000000000000000000000000000000000000"
#define ZEROS_310 ZEROS_62 ZEROS_62 ZEROS_62 ZEROS_62 ZEROS_62

/* A body, and its expected tensors or error. */
static const struct row {
    const char *body, *words[2];
} rows[] = {
    { "{\"instances\":[1,2.5,-3e2]}", { "float [3] 1 2.5 -300" } },
    { "{\"instances\":[[1,2],[3,4]]}", { "float [2,2] 1 2 3 4" } },
    { " { \"instances\" : [ [ [ 1 ] , [ 2 ] ] ] } trailing {", { "float [1,2,1] 1 2" } },
    { "{\"instances\":[[],[]]}", { "float [2,0]" } },
    { "{\"instances\":[NaN,-Infinity,Inf,1e39,1e-60]}", { "float [5] nan -inf inf inf 0" } },
    { "{\"instances\":[1e400]}", { TOO_BIG "14" } },
    { "{\"instances\":[0.5,0.25,-1e309]}", { TOO_BIG "23" } },
    { "{\"instances\":[0e309]}", { TOO_BIG "14" } },
    { "{\"instances\":[1" ZEROS_310 "]}", { TOO_BIG "14" } },
    { "{\"instances\":[{\"x\":1},{\"x\":1e999}]}", { TOO_BIG "27" } },
    { "{\"inputs\":-1e999}", { TOO_BIG "10" } },
    { "{\"k\":1e999,\"inputs\":1}", { TOO_BIG "5" } },
    { "{" S("double") "\"inputs\":[1e308,1.8e308]}", { TOO_BIG "43" } },
    { "{\"inputs\":7}", { "float [] 7" } },
    { "{\"inputs\":[]}", { "float [0]" } },
    { "{\"inputs\":{\"x\":[[1],[2]],\"extra\":{}}}", { "float [2,1] 1 2" } },
    { "{\"instances\":[{\"x\":1},{\"x\":2}]}", { "float [2] 1 2" } },
    { "{\"instances\":[{\"x\":[1,2]},{\"\\u0078\":[3,4]}]}", { "float [2,2] 1 2 3 4" } },
    { "{\"instances\":[1],\"signature_name\":\"int64\"}",
      { "int64 [1] 1" } }, /* the signature's name follows the values */
    { "{\"signature_name\":\"\",\"instances\":[1],\"instances\":5}", { "float [1] 1" } },
    { "{\"other\":[[[{}]]],\"instances\":[1],\"more\":{\"a\":[]}}", { "float [1] 1" } },
    { "\xEF\xBB\xBF{\"instances\":[1]}", { "float [1] 1" } },
    { "{" S("double") "\"instances\":[0.1,1e-320,12345678901234567890]}",
      { "double [3] 0.10000000000000001 9.9998886718268301e-321 1.2345678901234567e+19" } },
    { "{" S("int32") "\"instances\":[2147483647,-2147483648,-0]}",
      { "int32 [3] 2147483647 -2147483648 0" } },
    { "{" S("int8") "\"instances\":[300,-129,-1]}", { "int8 [3] 44 127 -1" } },
    { "{" S("uint8") "\"instances\":[256,-1,7]}", { "uint8 [3] 0 255 7" } },
    { "{" S("int16") "\"instances\":[65536,40000]}", { "int16 [2] 0 -25536" } },
    { "{" S("int64") "\"instances\":[9223372036854775807,-9223372036854775808]}",
      { "int64 [2] 9223372036854775807 -9223372036854775808" } },
    { "{" S("uint32") "\"instances\":[4294967295]}", { "uint32 [1] 4294967295" } },
    { "{" S("uint64") "\"instances\":[18446744073709551615]}",
      { "uint64 [1] 18446744073709551615" } },
    { "{" S("bool") "\"instances\":[[true,false]]}", { "bool [1,2] 1 0" } },
    { "{" S("string") "\"instances\":[\"a\",\"\\u00e9\",{\"b64\":\"aGk=\"},{ \"b64\" : \"aG\\/v\" "
                      "}]}",
      { "string [4] a \xC3\xA9 hi ho\xEF" } },
    { "{" S("string") "\"inputs\":{\"b64\":\"aG k\\n=\"}}", { "string [] hi" } },
    { "{" S("string") "\"inputs\":{\"\\u00624\":\"a\",\"x\":{\"\\u0062\\u00364\":\"aGk\"}}}",
      { "string [] hi" } },
    { "{" S("string") "\"instances\":[{\"b6\\u0034\":\"aGk=\"}]}", { "string [1] hi" } },
    { "{" S("string") "\"instances\":[{\"x\":\"a\"},{\"x\":{\"b64\":\"aGk\"}}]}",
      { "string [2] a hi" } },
    { "{" S("pair") "\"instances\":[{\"a\":[1,2],\"b\":\"p\"},{\"b\":\"q\",\"a\":[3,4]}]}",
      { "float [2,2] 1 2 3 4", "string [2] p q" } },
    { "{" S("pair") "\"inputs\":{\"b\":\"p\",\"a\":1,\"a\":2,\"b\":3,\"no\":4}}",
      { "float [] 1", "string [] p" } },
    { "{" S("pair") "\"inputs\":{\"b\":[\"p\",\"q\",\"r\"],\"a\":[[1]]}}",
      { "float [1,1] 1", "string [3] p q r" } },

    { "", { "JSON Parse error: The document is empty" } },
    { "  ", { "JSON Parse error: The document is empty. at offset: 2" } },
    { "{\"instances\": [1.0 2.0]}",
      { "JSON Parse error: Missing a comma or ']' after an array element. at offset: 19" } },
    { "{\"instances\": [\"a\"], \"x\": }", { "JSON Parse error: Invalid value. at offset: 26" } },
    { "[1, {\"a\": 2.50}]",
      { "JSON Value: [\n    1,\n    {\n        \"a\": 2.5\n    }\n] Is not object" } },
    { "{\"signature_name\":5,\"instances\":[1]}",
      { "JSON Value: {\n    \"signature_name\": 5,\n    \"instances\": [\n        1\n    ]\n} not "
        "formatted correctly. "
        "'signature_name' key must be a string value." } },
    { "{" S("missing") "\"instances\":[\"no\"]}",
      { "Serving signature name: \"missing\" not found in signature def" } },
    { "{" S("none") "\"instances\":[]}", { "Failed to get input map for signature: none" } },
    { "{\"instances\":[1],\"inputs\":[1]}",
      { "JSON Value: {\n    \"instances\": [\n        1\n    ],\n    \"inputs\": [\n        1\n    "
        "]\n} Not formatted correctly expecting only one "
        "of 'inputs' or 'instances' keys to exist " } },
    { "{}", { "Missing 'inputs' or 'instances' key" } },
    { "{\"instances\":5}",
      { "JSON Value: {\n    \"instances\": 5\n} Expecting 'instances' to be an list/array" } },
    { "{\"instances\":[]}",
      { "JSON Value: {\n    \"instances\": []\n} No values in 'instances' array" } },
    { "{" S("pair") "\"instances\":[1]}",
      { "instances is a plain list, but expecting list of objects as multiple input tensors "
        "required as per tensorinfo_map" } },
    { "{" S("pair") "\"inputs\":[1]}",
      { "inputs is a plain value/list, but expecting an object as multiple input tensors required "
        "as per tensorinfo_map" } },
    { "{" S("pair") "\"inputs\":{\"a\":[1]}}", { "Missing named input: b in 'inputs' object." } },
    { "{\"instances\":[{\"x\":1},2]}",
      { "Expecting object but got list at item 1 of input list" } },
    { "{\"instances\":[1,{\"x\":2}]}",
      { "Expecting value/list but got object at item 1 of input list" } },
    { "{" S("pair") "\"instances\":[{\"a\":1,\"b\":\"x\"},{\"a\":1}]}",
      { ROW_ERROR
        "1 of 'instances' list. JSON object: {\n    \"a\": 1\n} keys must be equal to: a,b" } },
    { "{\"instances\":[{\"x\":1},{\"y\":2}]}",
      { ROW_ERROR "1 key: y" ROW_LIST "JSON object: does not have named input: y" } },
    { "{\"instances\":[[1,2],[3]]}",
      { ROW_ERROR "1" ROW_LIST "Expecting tensor size: 2 but got: 1" } },
    { "{\"instances\":[[[1,2]],[[3],[4]]]}",
      { ROW_ERROR "1" ROW_LIST "Expecting shape [1,2] but got: [2,1]" } },
    { "{\"instances\":[{\"x\":[1]},{\"x\":[\"a\"]}]}",
      { ROW_ERROR "1 key: x" ROW_LIST
                  "JSON Value: \"a\" Type: String is not of expected type: float" } },
    { "{\"instances\":[1,null]}",
      { ROW_ERROR "1" ROW_LIST "JSON Value: null Type: Null is not of expected type: float" } },
    { "{\"instances\":[true]}",
      { ROW_ERROR "0" ROW_LIST "JSON Value: true Type: True is not of expected type: float" } },
    { "{\"instances\":[{\"b64\":\"aGk=\"}]}",
      { ROW_ERROR
        "0" ROW_LIST
        "JSON Value: {\n    \"b64\": \"aGk=\"\n} Type: Object is not of expected type: float" } },
    { "{" S("int32") "\"instances\":[1.0]}",
      { ROW_ERROR "0" ROW_LIST "JSON Value: 1.0 Type: Number is not of expected type: int32" } },
    { "{" S("int32") "\"instances\":[2147483648]}",
      { ROW_ERROR "0" ROW_LIST
                  "JSON Value: 2147483648 Type: Number is not of expected type: int32" } },
    { "{" S("uint64") "\"inputs\":[-1]}",
      { "JSON Value: -1 Type: Number is not of expected type: uint64" } },
    { "{" S("bool") "\"inputs\":[1]}",
      { "JSON Value: 1 Type: Number is not of expected type: bool" } },
    { "{" S("string") "\"inputs\":[5]}",
      { "JSON Value: 5 Type: Number is not of expected type: string" } },
    { "{" S("string") "\"inputs\":[{\"b64\":5}]}",
      { "JSON Value: {\n    \"b64\": 5\n} not formatted correctly for base64 data" } },
    { "{" S("string") "\"inputs\":[{\"b64\":\"a!\"}]}", { "Unable to base64 decode" } },
    { "{" S("half") "\"inputs\":[1]}", { "Conversion of JSON Value: 1 to type: half" } },
    { "{" S("half") "\"instances\":[1]}",
      { ROW_ERROR "0 of 'instances' list. Error: UNIMPLEMENTED: Conversion of JSON Value: 1 to "
                  "type: half" } },
    { "{" S("half") "\"inputs\":null}", { "Conversion of JSON Value: null to type: half" } },
    { "{" S("half") "\"inputs\":{\"b64\":\"aGk=\"}}",
      { "JSON Value: {\n    \"b64\": \"aGk=\"\n} Type: Object is not of expected type: half" } },
    { "{\"inputs\":[[1,2],3]}",
      { "JSON Value: 3 found at incorrect level: 2 in the JSON DOM. Expected at level: 2" } },
    { "{\"inputs\":[1,[2]]}", { "Encountered list at unexpected level: 1 expected < 1" } },
    { "{\"inputs\":[[1,2],[3]]}",
      { "Encountered list at unexpected size: 1 at level: 1 expected size: 2" } },
    { "{\"inputs\":[[[[[[[[[[[[[1]]]]]]]]]]]]]}", { "float [1,1,1,1,1,1,1,1,1,1,1,1,1] 1" } },
    { "{\"inputs\":{\"x\":[ [[[[[[[[[[[[[]]]]]]]]]]]]]]}}",
      { "float [1,1,1,1,1,1,1,1,1,1,1,1,1,0]" } },
    { "{\"instances\":[[[[[[[[[[[[[1]]]]]]]]]]]]]}", { "float [1,1,1,1,1,1,1,1,1,1,1,1,1] 1" } },
    { "{\"instances\":[{\"x\":[[[[[[[[[[[[1]]]]]]]]]]]]}]}",
      { "float [1,1,1,1,1,1,1,1,1,1,1,1,1] 1" } },
    { "{\"inputs\":[[[[[[[[[[[[[1,[]]]]]]]]]]]]]]}",
      { "Expecting 13 levels of lists of equal sizes with elements of type: float, but that ends "
        "after 1 elements" } },
    { "{\"instances\":[1,[[[[[[[[[[[[1]]]]]]]]]]]]]}",
      { ROW_ERROR "1" ROW_LIST "Expecting shape [] but got: [1,1,1,1,1,1,1,1,1,1,1,1]" } },
};

static void body_gives_these_tensors_or_this_error(void **state)
{
    const struct row *row = *state;
    struct predict_request request;
    struct status status = read_body(row->body, &request);
    if (!status_is_ok(status)) {
        assert_string_equal(status.message, row->words[0]);
        bool lacks = strncmp(row->words[0], "Conversion", 10) == 0 ||
                     strstr(row->words[0], "not implemented") != NULL;
        assert_int_equal(status.code, lacks ? STATUS_UNIMPLEMENTED : STATUS_INVALID_ARGUMENT);
        return;
    }
    for (int i = 0; i < request.signature->inputs_count; i++)
        assert_string_equal(tensor_words(&request.inputs[i]), row->words[i]);
    assert_int_equal(request.rows, strstr(row->body, "\"instances\"") != NULL);
}

static void the_signature_of_an_ordinary_body_is_looked_up_once(void **state)
{
    (void)state;
    struct predict_request request;
    assert_int_equal(read_body("{\"instances\":[[1.0,2.0]]}", &request).code, STATUS_OK);
    assert_int_equal(finder.calls, 1);
}

static void a_request_over_its_limit_is_refused(void **state)
{
    (void)state;
    struct predict_request request;
    arena_destroy(arena);
    arena = arena_create(10000);
    char *text = calloc(1, 100000);
    strcpy(text, "{\"instances\":[0");
    for (size_t at = strlen(text); at < 90000; at += 2)
        memcpy(text + at, ",1", 2);
    strcat(text, "]}");
    assert_int_equal(read_body(text, &request).code, STATUS_RESOURCE_EXHAUSTED);
    free(text);
}

static void deep_nesting_is_an_error_in_a_tensor_and_skipped_elsewhere(void **state)
{
    (void)state;
    struct predict_request request;
    char *text = calloc(1, 200100);
    strcpy(text, "{\"x\":");
    memset(text + 5, '[', 100000);
    memset(text + 100005, ']', 100000);
    strcpy(text + 200005, ",\"instances\":[1]}");
    assert_int_equal(read_body(text, &request).code, STATUS_OK);
    memcpy(text, "{\"instances\":", 13);
    memset(text + 13, '[', 99992);
    memset(text + 100005, ']', 99992);
    strcpy(text + 199997, "}");
    assert_string_equal(read_body(text, &request).message,
                        "input 'x': Too many dimensions: at most 254");
    free(text);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS_WITH(&group, rows, body, body_gives_these_tensors_or_this_error, set_up,
                  padded_body_teardown);
    const struct CMUnitTest others[] = {
        cmocka_unit_test_setup_teardown(the_signature_of_an_ordinary_body_is_looked_up_once, set_up,
                                        padded_body_teardown),
        cmocka_unit_test_setup_teardown(a_request_over_its_limit_is_refused, set_up,
                                        padded_body_teardown),
        cmocka_unit_test_setup_teardown(deep_nesting_is_an_error_in_a_tensor_and_skipped_elsewhere,
                                        set_up, padded_body_teardown),
    };
    ADD_TESTS(&group, others);
    return test_group_run(&group, "predict request", NULL, NULL);
}
