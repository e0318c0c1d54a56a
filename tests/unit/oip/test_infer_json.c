#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/oip/infer_json.h"
#include "unit/oip/words.h"
#include "support/padded_body.h"
#include "support/test_group.h"

static int set_up(void **state)
{
    (void)state;
    arena = arena_create((size_t)64 << 20);
    return 0;
}

static struct status read_body(struct bytes text, size_t json_size, struct infer_request *request)
{
    return infer_json_read(padded_body(text), json_size, arena, request);
}

#define INPUT(shape, datatype, data) \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":" shape ",\"datatype\":\"" datatype "\"," data "}]}"
#define DATA(shape, datatype, data) INPUT(shape, datatype, "\"data\":" data)
#define BINARY(shape, datatype, size) \
    INPUT(shape, datatype, "\"parameters\":{\"binary_data_size\":" size "}")
#define NOT_A(datatype, shape, count)                                         \
    "input 'x': data is not a list of " datatype ", flat or nested as " shape \
    ": it goes wrong after " count " elements"

/* A body without binary data, and its request or error. */
static const struct row {
    const char *body, *words;
} rows[] = {
    { DATA("[2,2]", "FP32", "[1,2.5,-3e2,4]"), "x FP32 [2,2] 1 2.5 -300 4" },
    { DATA("[2,2]", "FP32", "[[1,2],[3,4]]"), "x FP32 [2,2] 1 2 3 4" },
    { DATA("[]", "FP32", "[7]"), "x FP32 [] 7" },
    { DATA("[]", "FP32", "7"), "x FP32 [] 7" },
    { DATA("[0]", "FP32", "[]"), "x FP32 [0]" },
    { DATA("[2,0]", "INT32", "[]"), "x INT32 [2,0]" },
    { DATA("[2,0]", "INT32", "[[],[]]"), "x INT32 [2,0]" },
    { DATA("[1,1,1,1,1,1,1,1,1,1,1,1,1,2]", "INT8", "[1,2]"),
      "x INT8 [1,1,1,1,1,1,1,1,1,1,1,1,1,2] 1 2" },
    { DATA("[2]", "FP64", "[0.1,1e300]"),
      "x FP64 [2] 0.10000000000000001 1.0000000000000001e+300" },
    { DATA("[2]", "FP16", "[1.5,100000]"), "x FP16 [2] 1.5 inf" },
    { DATA("[2]", "BF16", "[1.5,-2]"), "x BF16 [2] 1.5 -2" },
    { DATA("[2]", "BOOL", "[true,false]"), "x BOOL [2] 1 0" },
    { DATA("[2]", "INT8", "[-128,127]"), "x INT8 [2] -128 127" },
    { DATA("[2]", "UINT8", "[0,255]"), "x UINT8 [2] 0 255" },
    { DATA("[2]", "INT16", "[-32768,32767]"), "x INT16 [2] -32768 32767" },
    { DATA("[2]", "UINT16", "[0,65535]"), "x UINT16 [2] 0 65535" },
    { DATA("[1]", "INT32", "[-2147483648]"), "x INT32 [1] -2147483648" },
    { DATA("[1]", "UINT32", "[4294967295]"), "x UINT32 [1] 4294967295" },
    { DATA("[1]", "INT64", "[-9223372036854775808]"), "x INT64 [1] -9223372036854775808" },
    { DATA("[1]", "UINT64", "[18446744073709551615]"), "x UINT64 [1] 18446744073709551615" },
    { DATA("[2]", "BYTES", "[\"a\\u0041\",{\"b64\":\"Yg==\"}]"), "x BYTES [2] aA b" },
    { "{\"inputs\":[{\"data\":[1,2],\"datatype\":\"FP32\",\"shape\":[2],\"name\":\"x\"}]}",
      "x FP32 [2] 1 2" },
    { " { \"id\" : \"4\\u0032\" , \"inputs\" : [ { \"name\" : \"x\" , \"shape\" : [ 1 ] , "
      "\"datatype\" : \"FP32\" , \"extra\" : { \"a\" : [ ] } , \"data\" : [ 1 ] } , { \"name\" : "
      "\"y\" , \"shape\" : [ ] , \"datatype\" : \"BYTES\" , \"data\" : [ \"t\" ] } ] , "
      "\"outputs\" : [ { \"name\" : \"p\" } , { \"name\" : \"q\" , \"parameters\" : { "
      "\"binary_data\" : true } } , { \"parameters\" : { \"binary_data\" : false } , \"name\" : "
      "\"r\" } ] , \"parameters\" : { \"signature_name\" : \"s\" , \"binary_data_output\" : true , "
      "\"priority\" : 3 } } ",
      "x FP32 [1] 1; y BYTES [] t -> p -> q binary -> r json id 42 signature s binary" },
    { "{}", "" },

    { DATA("[3]", "FP32", "[1,2]"),
      "input 'x': data has the shape [2], which is neither [3] nor a list of its 3 elements" },
    { DATA("[4]", "FP32", "[[1,2],[3,4]]"),
      "input 'x': data has the shape [2,2], which is neither [4] nor a list of its 4 elements" },
    { DATA("[2,2]", "FP32", "[[1,2],[3]]"), NOT_A("FP32", "[2,2]", "3") },
    { DATA("[2]", "FP32", "[1,\"2\"]"), NOT_A("FP32", "[2]", "1") },
    { DATA("[2]", "INT32", "[1,2.5]"), NOT_A("INT32", "[2]", "1") },
    { DATA("[2]", "BOOL", "[true,1]"), NOT_A("BOOL", "[2]", "1") },
    { DATA("[2]", "INT8", "[1,128]"), "input 'x': element 1 is 128, which INT8 does not hold" },
    { DATA("[1]", "UINT8", "[-1]"), "input 'x': element 0 is -1, which UINT8 does not hold" },
    { DATA("[1]", "UINT16", "[65536]"),
      "input 'x': element 0 is 65536, which UINT16 does not hold" },
    { DATA("[1]", "UINT32", "[-1]"), NOT_A("UINT32", "[1]", "0") },
    { DATA("[4611686018427387904,4]", "FP32", "[1]"),
      "input 'x': shape has more elements than fit into 64 bits (at dimension 1, 4)" },
    { DATA("[9223372036854775807]", "FP32", "[1]"),
      "input 'x': data has the shape [1], which is neither [9223372036854775807] nor a list of its "
      "9223372036854775807 elements" },
    { DATA("[-1]", "FP32", "[1]"),
      "input 'x': shape has the dimension -1, expected an integer from 0 on" },
    { DATA("[1.5]", "FP32", "[1]"),
      "input 'x': shape has the dimension 1.5, expected an integer from 0 on" },
    { DATA("[9223372036854775808]", "FP32", "[1]"),
      "input 'x': shape has the dimension 9223372036854775808, expected at most "
      "9223372036854775807" },
    { DATA("[\"1\"]", "FP32", "[1]"), "input 'x': shape has a dimension that is no number" },
    { DATA("[1]", "FP8", "[1]"),
      "input 'x': datatype 'FP8' is none of BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, "
      "INT32, INT64, FP16, FP32, FP64, BF16, BYTES" },
    { INPUT("[1]", "FP32", "\"k\":1"), "input 'x': neither data nor binary_data_size" },
    { "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"data\":[1]}]}", "input 'x': no shape" },
    { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"data\":[1]}]}", "input 'x': no datatype" },
    { "{\"inputs\":[1]}", "input 0, which has no name so far: 'an input' is not an object" },
    { "{\"inputs\":{}}", "'inputs' is not a list" },
    { "{\"id\":42}", "'id' is not a string" },
    { "{\"parameters\":{\"binary_data_output\":1}}", "'binary_data_output' is not true or false" },
    { "[]", "'the body' is not an object" },
    { INPUT("[1]", "FP32", "\"parameters\":{\"shared_memory_region\":\"r\"}"),
      "input 'x': tensors in shared memory" },
    { "{\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":2}}]}",
      "output 0: the classification extension" },
    { BINARY("[1]", "FP32", "4"), "input 'x': binary_data_size is 4, but 0 bytes are left after "
                                  "the JSON object, whose size is "
                                  "in the header Inference-Header-Content-Length" },
    { DATA("[1]", "FP32", "[1]") "x",
      "the JSON object ends before the size that the header Inference-Header-Content-Length or "
      "Content-Length gives" },
    { "{\"inputs\":[{\"name\":\"x\",}]}", "JSON Parse error: Missing a name for object member. at "
                                          "offset: 23" },
    { "{\"inputs\":[{\"data\":[1,,]}]}", "JSON Parse error: Invalid value. at offset: 22" },
    { "", "JSON Parse error: The document is empty" },
};

static void reads_or_refuses(void **state)
{
    const struct row *row = *state;
    struct infer_request request;
    struct status status = read_body(bytes_of(row->body), INFER_JSON_ALL, &request);
    assert_string_equal(status_is_ok(status) ? request_words(&request, arena) : status.message,
                        row->words);
}

/* ---- binary data ---- */

static struct status read_binary(const char *json, struct bytes data, struct infer_request *request)
{
    struct buffer text = { 0 };
    buffer_append_text(&text, json);
    buffer_append(&text, data.data, data.size);
    struct status status = read_body((struct bytes){ text.data, text.size }, strlen(json), request);
    buffer_finish(&text);
    return status;
}

#define BYTES(literal) ((struct bytes){ literal, sizeof literal - 1 })

static void a_nul_byte_after_the_object_is_no_space(void **state)
{
    (void)state;
    struct infer_request request;
    struct status status = read_body(BYTES("{} \0"), INFER_JSON_ALL, &request);

    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "the JSON object ends before the size"));
}

static void reads_binary_data_in_the_order_of_the_inputs(void **state)
{
    (void)state;
    struct infer_request request;
    struct status status = read_binary(
        "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"INT16\",\"parameters\":"
        "{\"binary_data_size\":4}},{\"name\":\"j\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[5]"
        "},"
        "{\"name\":\"b\",\"parameters\":{\"binary_data_size\":11},\"datatype\":\"BYTES\","
        "\"shape\":[2]}]}",
        BYTES("\x01\x00\xff\xff\x03\x00\x00\x00"
              "abc\x00\x00\x00\x00"),
        &request);
    assert_string_equal(status.message, "");
    assert_string_equal(request_words(&request, arena),
                        "x INT16 [2] 1 -1; j FP32 [1] 5; b BYTES [2] abc ");
}

static const struct binary_row {
    const char *json, *error;
    struct bytes data;
} binary_rows[] = {
    { BINARY("[2]", "INT16", "3"),
      "input 'x': 3 bytes are not the elements of [2] of type int16",
      { "abc", 3 } },
    { BINARY("[1]", "BOOL", "1"),
      "input 'x': the data has a bool of value 2 at element 0",
      { "\x02", 1 } },
    { BINARY("[1]", "BYTES", "5"),
      "input 'x': element 0 is to have 2 bytes, but only 1 follow",
      { "\x02\x00\x00\x00"
        "a",
        5 } },
    { BINARY("[1]", "BYTES", "6"),
      "input 'x': 1 bytes follow the last of 1 elements",
      { "\x01\x00\x00\x00"
        "ab",
        6 } },
    { BINARY("[1000000000]", "BYTES", "4"),
      "input 'x': 4 bytes are not the elements of [1000000000] of type string",
      { "\x00\x00\x00\x00", 4 } },
    { BINARY("[1]", "INT8", "1"),
      "1 bytes of binary data belong to no input's binary_data_size",
      { "ab", 2 } },
    { INPUT("[1]", "INT8", "\"data\":[1],\"parameters\":{\"binary_data_size\":1}"),
      "input 'x': both data and binary_data_size",
      { "a", 1 } },
    { "{\"inputs\":[", "JSON Parse error: Invalid value. at offset: 11", { "\x01", 1 } },
};

static void refuses_binary_data(void **state)
{
    const struct binary_row *row = *state;
    struct infer_request request;
    assert_string_equal(read_binary(row->json, row->data, &request).message, row->error);
}

static void refuses_a_header_larger_than_the_body(void **state)
{
    (void)state;
    struct infer_request request;
    assert_string_equal(read_body(bytes_of("{}"), 3, &request).message,
                        "Inference-Header-Content-Length is 3, but the body has 2 bytes");
}

static void refuses_json_beyond_the_header(void **state)
{
    (void)state;
    struct infer_request request;
    assert_int_equal(read_body(bytes_of("{\"id\":\"\"}"), 4, &request).code,
                     STATUS_INVALID_ARGUMENT);
}

static void stays_within_the_memory_limit(void **state)
{
    (void)state;
    struct arena *all = arena;
    struct infer_request request;
    struct buffer text = { 0 };
    buffer_append_text(&text, "{\"inputs\":[{\"shape\":[100000],\"datatype\":\"FP64\",\"data\":[0");
    for (int i = 1; i < 100000; i++)
        buffer_append_text(&text, ",0");
    buffer_append_text(&text, "]}]}");
    arena = arena_create(100000);
    struct status status =
        read_body((struct bytes){ text.data, text.size }, INFER_JSON_ALL, &request);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    arena_destroy(arena);
    arena = all;
    buffer_finish(&text);
}

/* ---- answers ---- */

#define OUTPUT(name)                          \
    {                                         \
        .key = name, .tensor_name = name ":0" \
    }
static struct signature_tensor output_names[] = { OUTPUT("p"), OUTPUT("q") };
static const struct signature answering = { .name = "s",
                                            .outputs = output_names,
                                            .outputs_count = 2 };

static const char *print(const struct tensor *outputs, const struct infer_choice *choices,
                         int count, size_t *json_size)
{
    struct infer_answer answer = { .model_name = bytes_of("m"),
                                   .id = bytes_of("4\"2"),
                                   .version = 3,
                                   .signature = &answering,
                                   .choices = choices,
                                   .choices_count = count };
    struct buffer out = { 0 };
    size_t most = infer_json_size_max(&answer, outputs);
    struct status status = infer_json_print(&answer, outputs, &out, json_size);
    assert_true(out.size <= most);
    char *text = status_is_ok(status) ? arena_memdup(arena, out.data, out.size)
                                      : arena_strdup(arena, status.message);
    buffer_finish(&out);
    return text;
}

#define HEAD "{\"model_name\":\"m\",\"model_version\":\"3\",\"id\":\"4\\\"2\",\"outputs\":["

static void prints_outputs_as_json(void **state)
{
    (void)state;
    static const float numbers[] = { 1, 0.5f };
    static const struct bytes texts[] = { { "\xc3\xa9\"", 3 } };
    struct shape matrix = shape_of(1, 2), scalar = shape_scalar();
    struct tensor outputs[] = { tensor_borrow(DT_FLOAT, &matrix, numbers),
                                tensor_borrow(DT_STRING, &scalar, texts) };
    static const struct infer_choice choices[] = { { 1, false }, { 0, false } };
    size_t json_size;
    assert_string_equal(print(outputs, choices, 2, &json_size),
                        HEAD "{\"name\":\"q\",\"datatype\":\"BYTES\",\"shape\":[],\"data\":"
                             "[\"\xc3\xa9\\\"\"]},{\"name\":\"p\",\"datatype\":\"FP32\",\"shape\":"
                             "[1,2],\"data\":[1.0,0.5]}]}");
    assert_int_equal(json_size, INFER_JSON_ALL);
}

static void prints_binary_data_behind_the_object(void **state)
{
    (void)state;
    static const int16_t numbers[] = { 0x4241, 0x4443 };
    static const struct bytes texts[] = { { "EF", 2 } };
    struct shape two = shape_of(2), one = shape_of(1);
    struct tensor outputs[] = { tensor_borrow(DT_INT16, &two, numbers),
                                tensor_borrow(DT_STRING, &one, texts) };
    static const struct infer_choice choices[] = { { 0, true }, { 1, true } };
    size_t json_size;
    const char *text = print(outputs, choices, 2, &json_size);
    static const char json[] =
        HEAD "{\"name\":\"p\",\"datatype\":\"INT16\",\"shape\":[2],\"parameters\":"
             "{\"binary_data_size\":4}},{\"name\":\"q\",\"datatype\":\"BYTES\",\"shape\":[1],"
             "\"parameters\":{\"binary_data_size\":6}}]}";
    assert_int_equal(json_size, strlen(json));
    assert_memory_equal(text, json, strlen(json));
    assert_memory_equal(text + json_size,
                        "ABCD\x02\x00\x00\x00"
                        "EF",
                        10);
}

static void prints_every_datatype(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        uint64_t bits;
        const char *text;
    } cases[] = {
        { DT_BOOL, 1, "true" },
        { DT_UINT8, 255, "255" },
        { DT_INT8, 255, "-1" },
        { DT_UINT16, 65535, "65535" },
        { DT_INT16, 65535, "-1" },
        { DT_INT32, 0xffffffff, "-1" },
        { DT_UINT32, 0xffffffff, "4294967295" },
        { DT_INT64, UINT64_MAX, "-1" },
        { DT_UINT64, UINT64_MAX, "18446744073709551615" },
        { DT_HALF, 0x3e00, "1.5" },
        { DT_BFLOAT16, 0x3fc0, "1.5" },
        { DT_DOUBLE, 0x3ff8000000000000, "1.5" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct shape scalar = shape_scalar();
        struct tensor output = tensor_borrow(cases[i].dtype, &scalar, &cases[i].bits);
        static const struct infer_choice choices[] = { { 0, false } };
        size_t json_size;
        const char *want = arena_printf(arena,
                                        HEAD "{\"name\":\"p\",\"datatype\":\"%s\",\"shape\":"
                                             "[],\"data\":[%s]}]}",
                                        datatype_name(cases[i].dtype), cases[i].text);
        assert_string_equal(print(&output, choices, 1, &json_size), want);
    }
}

static void refuses_to_print_what_is_not_utf8(void **state)
{
    (void)state;
    static const char *const broken[] = { "\x80",
                                          "\xc3",
                                          "\xc0\x80",
                                          "\xed\xa0\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xe0\x80\x80",
                                          "\xf0\x80\x80\x80",
                                          "a\xe2\x82" };
    for (size_t i = 0; i < COUNT(broken); i++) {
        struct bytes text = bytes_of(broken[i]);
        struct shape scalar = shape_scalar();
        struct tensor output = tensor_borrow(DT_STRING, &scalar, &text);
        static const struct infer_choice choices[] = { { 0, false } };
        size_t json_size;
        assert_string_equal(print(&output, choices, 1, &json_size),
                            "output 'p': element 0 is not UTF-8, so it is no JSON string; ask for "
                            "binary data");
    }
}

/* ---- matching ---- */

static struct signature_tensor wanted_inputs[] = {
    { .key = "a", .dtype = DT_FLOAT, .has_shape = true, .shape = { 2, { -1, 2 } } },
    { .key = "b", .dtype = DT_STRING },
};
static const struct signature matching = { .name = "s",
                                           .inputs = wanted_inputs,
                                           .inputs_count = 2,
                                           .outputs = output_names,
                                           .outputs_count = 2 };

#define A(shape, datatype) \
    "{\"name\":\"a\",\"shape\":" shape ",\"datatype\":\"" datatype "\",\"data\":[1,2]}"
#define B "{\"name\":\"b\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"t\"]}"

static const struct match_row {
    const char *body, *error;
} match_rows[] = {
    { "{\"inputs\":[" B "," A("[1,2]", "FP32") "]}", "" },
    { "{\"inputs\":[" A("[2,1]", "FP32") "," B "]}",
      "input 'a': shape [2,1], signature wants [?,2]" },
    { "{\"inputs\":[" A("[2]", "FP32") "," B "]}", "input 'a': shape [2], signature wants [?,2]" },
    { "{\"inputs\":[" A("[1,2]", "FP64") "," B "]}",
      "input 'a': datatype FP64, signature wants FP32" },
    { "{\"inputs\":[" A("[1,2]", "FP32") "]}",
      "input 'b' of the signature 's' is not in the request" },
    { "{\"inputs\":[" B "," B "]}", "input 'b' is given twice" },
    { "{\"inputs\":[{\"name\":\"c\",\"shape\":[0],\"datatype\":\"FP32\",\"data\":[]}]}",
      "input 'c' is not in the signature 's', which has: a, b" },
    { "{\"outputs\":[{\"name\":\"z\"}],\"inputs\":[" B "," A("[1,2]", "FP32") "]}",
      "output 'z' is not in the signature 's', which has: p, q" },
    { "{\"outputs\":[{\"name\":\"q\"},{\"name\":\"q\"}],\"inputs\":[" B "," A("[1,2]", "FP32") "]}",
      "output 'q' is asked for twice" },
};

static void matches_the_signature(void **state)
{
    const struct match_row *row = *state;
    struct infer_request request;
    struct infer_match match;
    struct status status = read_body(bytes_of(row->body), INFER_JSON_ALL, &request);
    assert_string_equal(status.message, "");
    status = infer_match(&request, &matching, arena, &match);
    assert_string_equal(status.message, row->error);
    if (status_is_ok(status)) {
        assert_int_equal(match.inputs[0].dtype, DT_FLOAT);
        assert_int_equal(match.inputs[1].dtype, DT_STRING);
        assert_int_equal(match.choices_count, 2);
    }
}

static void an_output_that_says_nothing_has_the_request_s_form(void **state)
{
    (void)state;
    struct infer_request request;
    struct infer_match match;
    struct status status = read_body(
        bytes_of("{\"outputs\":[{\"name\":\"q\"},{\"name\":\"p\",\"parameters\":{\"binary_data\":"
                 "false}}],\"parameters\":{\"binary_data_output\":true},\"inputs\":[" B
                 "," A("[1,2]", "FP32") "]}"),
        INFER_JSON_ALL, &request);
    assert_string_equal(status.message, "");
    assert_string_equal(infer_match(&request, &matching, arena, &match).message, "");
    assert_int_equal(match.choices[0].output, 1);
    assert_true(match.choices[0].binary);
    assert_int_equal(match.choices[1].output, 0);
    assert_false(match.choices[1].binary);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_nul_byte_after_the_object_is_no_space),
        cmocka_unit_test(reads_binary_data_in_the_order_of_the_inputs),
        cmocka_unit_test(refuses_a_header_larger_than_the_body),
        cmocka_unit_test(refuses_json_beyond_the_header),
        cmocka_unit_test(stays_within_the_memory_limit),
        cmocka_unit_test(prints_outputs_as_json),
        cmocka_unit_test(prints_binary_data_behind_the_object),
        cmocka_unit_test(prints_every_datatype),
        cmocka_unit_test(refuses_to_print_what_is_not_utf8),
        cmocka_unit_test(an_output_that_says_nothing_has_the_request_s_form),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, body, reads_or_refuses);
    ADD_ROWS(&group, binary_rows, json, refuses_binary_data);
    ADD_ROWS(&group, match_rows, body, matches_the_signature);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "infer_json", set_up, padded_body_teardown);
}
