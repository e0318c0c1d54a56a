#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/json/predict.h"

static const float floats[] = { 1.5f, 2, 0.3f, 1.0f / 3, -7, 1e-7f };
static const int32_t ints[] = { 1, -2, 3 };
static const struct bytes strings[] = { { "a\"", 2 }, { "b\0c", 3 }, { "d", 1 } };
static const bool bools[] = { true, false, true };

static struct tensor make(enum dtype dtype, const void *data, int rank, const int64_t *dims)
{
    struct shape shape = shape_make(rank, dims);
    return tensor_borrow(dtype, &shape, data);
}
#define T(dtype, data, ...) \
    make(dtype, data, (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / 8), (int64_t[]){ __VA_ARGS__ })

static char *print(int count, const char *const *keys, const struct tensor *outputs, bool rows,
                   struct status *status)
{
    struct signature_tensor infos[4] = { { 0 } };
    for (int i = 0; i < count; i++)
        infos[i].key = keys[i];
    struct signature signature = { .outputs = infos, .outputs_count = count };
    struct buffer out = { 0 };
    *status = predict_response_print(&signature, outputs, rows, &out);
    assert_true(out.size <= predict_response_size_max(&signature, outputs, rows));
    buffer_append_char(&out, '\0');
    return out.data;
}

static void expect(int count, const char *const *keys, const struct tensor *outputs, bool rows,
                   const char *want)
{
    struct status status;
    char *got = print(count, keys, outputs, rows, &status);
    assert_string_equal(status.message, "");
    assert_string_equal(got, want);
    free(got);
}

static void expect_error(int count, const char *const *keys, const struct tensor *outputs,
                         const char *want)
{
    struct status status;
    free(print(count, keys, outputs, true, &status));
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, want);
}

static const char *const one[] = { "y" }, *const two[] = { "a", "b_bytes" };

static void rows_of_one_output_are_values(void **state)
{
    (void)state;
    struct tensor y = T(DT_FLOAT, floats, 3);
    expect(1, one, &y, true, "{\n    \"predictions\": [1.5, 2.0, 0.3\n    ]\n}");
    y = T(DT_FLOAT, floats, 2, 3);
    expect(1, one, &y, true,
           "{\n    \"predictions\": [[1.5, 2.0, 0.3], [0.333333343, -7.0, 1e-07]\n    ]\n}");
    y = T(DT_FLOAT, floats, 0, 3);
    expect(1, one, &y, true, "{\n    \"predictions\": []\n}");
    y = T(DT_BOOL, bools, 3);
    expect(1, one, &y, true, "{\n    \"predictions\": [true, false, true\n    ]\n}");
}

static void rows_of_several_outputs_are_objects(void **state)
{
    (void)state;
    struct tensor outputs[] = { T(DT_INT32, ints, 2, 1), T(DT_STRING, strings, 2) };
    expect(
        2, two, outputs, true,
        "{\n    \"predictions\": [\n        {\n            \"a\": [1],\n            \"b_bytes\": "
        "{\"b64\": \"YSI=\"}\n        },\n        {\n            \"a\": [-2],\n            "
        "\"b_bytes\": {\"b64\": \"YgBj\"}\n        }\n    ]\n}");
}

static void columns_are_tensors(void **state)
{
    (void)state;
    struct tensor y = tensor_borrow(DT_FLOAT, &(struct shape){ 0 }, floats);
    expect(1, one, &y, false, "{\n    \"outputs\": 1.5\n}");
    y = T(DT_STRING, strings, 3);
    expect(1, one, &y, false,
           "{\n    \"outputs\": [\n        \"a\\\"\",\n        \"b\\u0000c\",\n        \"d\"\n    "
           "]\n}");
    struct tensor outputs[] = { T(DT_INT32, ints, 1, 2), T(DT_FLOAT, floats, 0) };
    expect(
        2, two, outputs, false,
        "{\n    \"outputs\": {\n        \"a\": [\n            [\n                1,\n             "
        "   -2\n            ]\n        ],\n        \"b_bytes\": []\n    }\n}");
}

/* Uses the values with the longest texts. */
static void no_response_is_larger_than_predicted(void **state)
{
    (void)state;
    static const float long_floats[] = { -1.23456789e-38f, -1.17549435e-38f, -1.23456794e+38f };
    static const double doubles[] = { -2.2250738585072014e-308, -1.7976931348623157e+308, -0.1 };
    static const int64_t integers[] = { INT64_MIN, INT64_MIN, INT64_MIN };
    static const int8_t bytes[] = { INT8_MIN, INT8_MIN, INT8_MIN };
    static const bool falses[3];
    static const struct bytes texts[] = { { "\0\0\0\0", 4 }, { "", 0 }, { "\1\2", 2 } };
    const struct {
        enum dtype dtype;
        const void *data;
    } all[] = { { DT_FLOAT, long_floats }, { DT_DOUBLE, doubles }, { DT_INT64, integers },
                { DT_INT8, bytes },        { DT_BOOL, falses },    { DT_STRING, texts } };
    for (size_t i = 0; i < COUNT(all); i++) {
        struct status status;
        struct tensor tensors[] = { T(all[i].dtype, all[i].data, 3, 1, 1, 1),
                                    T(all[i].dtype, all[i].data, 3, 1) };
        for (int rows = 0; rows < 2; rows++)
            for (int count = 1; count <= 2; count++)
                free(print(count, two, tensors, rows, &status)); /* print checks the size */
    }
    struct tensor lists = T(DT_FLOAT, floats, (int64_t)1 << 60, 0);
    struct signature_tensor info = { .key = "y" };
    struct signature signature = { .outputs = &info, .outputs_count = 1 };
    assert_true(predict_response_size_max(&signature, &lists, false) >= (size_t)1 << 61);
}

static void outputs_without_rows_or_a_json_form_are_named(void **state)
{
    (void)state;
    struct tensor y = tensor_borrow(DT_FLOAT, &(struct shape){ 0 }, floats);
    expect_error(1, one, &y, "Tensor name: y has no shape information ");
    struct tensor outputs[] = { T(DT_INT32, ints, 2), T(DT_STRING, strings, 3) };
    expect_error(2, two, outputs,
                 "Tensor name: b_bytes has inconsistent batch size: 3 expecting: 2");
    y = T(DT_HALF, floats, 2);
    expect_error(1, one, &y, "Failed to write JSON value for tensor type: half");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_output_are_values),
        cmocka_unit_test(rows_of_several_outputs_are_objects),
        cmocka_unit_test(columns_are_tensors),
        cmocka_unit_test(no_response_is_larger_than_predicted),
        cmocka_unit_test(outputs_without_rows_or_a_json_form_are_named),
    };
    return cmocka_run_group_tests_name("predict response", tests, NULL, NULL);
}
