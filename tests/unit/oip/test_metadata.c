#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/oip/metadata.h"

static struct signature_tensor inputs[] = {
    { .key = "x", .dtype = DT_FLOAT, .has_shape = true, .shape = { 2, { -1, 4 } } },
    { .key = "n", .dtype = DT_INT64, .has_shape = true, .shape = { 0 } },
};
static struct signature_tensor outputs[] = {
    { .key = "y\"", .dtype = DT_STRING, .has_shape = true, .shape = { SHAPE_UNKNOWN_RANK } },
};
static const struct signature signature = {
    .name = "s", .inputs = inputs, .inputs_count = 2, .outputs = outputs, .outputs_count = 1
};
static const int64_t versions[] = { 1, 12 };

static void expect(struct buffer *out, const char *bytes, size_t size)
{
    assert_int_equal(out->size, size);
    assert_memory_equal(out->data, bytes, size);
    buffer_finish(out);
}

static void describes_a_model(void **state)
{
    (void)state;
    struct model_metadata model = { { "m", 1 }, versions, 2, &signature };
    struct buffer out = { 0 };
    static const char json[] =
        "{\"name\":\"m\",\"versions\":[\"1\",\"12\"],\"platform\":\"tensorflow_savedmodel\","
        "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[-1,4]},"
        "{\"name\":\"n\",\"datatype\":\"INT64\",\"shape\":[]}],"
        "\"outputs\":[{\"name\":\"y\\\"\",\"datatype\":\"BYTES\",\"shape\":[-1]}]}";
    model_metadata_print(&model, &out);
    expect(&out, json, sizeof json - 1);
    static const char message[] = "\x0a\x01m\x12\x01"
                                  "1\x12\x02"
                                  "12\x1a\x15tensorflow_savedmodel"
                                  "\x22\x16\x0a\x01x\x12\x04"
                                  "FP32"
                                  "\x1a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x04"
                                  "\x22\x0c\x0a\x01n\x12\x05INT64\x1a\x00"
                                  "\x2a\x17\x0a\x02y\"\x12\x05"
                                  "BYTES"
                                  "\x1a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    model_metadata_put(&model, &out);
    expect(&out, message, sizeof message - 1);
}

static void lists_the_repository(void **state)
{
    (void)state;
    static const struct index_entry entries[] = {
        { { "m", 1 }, 1, "READY", "" },
        { { "m", 1 }, 2, "UNAVAILABLE", "no \"x\"" },
    };
    struct buffer out = { 0 };
    static const char json[] =
        "[{\"name\":\"m\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"},"
        "{\"name\":\"m\",\"version\":\"2\",\"state\":\"UNAVAILABLE\",\"reason\":\"no \\\"x\\\"\"}]";
    repository_index_print(entries, 2, &out);
    expect(&out, json, sizeof json - 1);
    static const char message[] = "\x0a\x0f\x0a\x01m\x12\x01"
                                  "1\x1a\x05READY\x22\x00"
                                  "\x0a\x1b\x0a\x01m\x12\x01"
                                  "2\x1a\x0bUNAVAILABLE\x22\x06no \"x\"";
    repository_index_put(entries, 2, &out);
    expect(&out, message, sizeof message - 1);
    repository_index_print(NULL, 0, &out);
    expect(&out, "[]", 2);
}

static void describes_the_server(void **state)
{
    (void)state;
    struct buffer out = { 0 };
    static const char json[] = "{\"name\":\"modelserver\",\"version\":\"" SLIPWAY_VERSION
                               "\",\"extensions\":[\"binary_tensor_data\",\"model_repository\"]}";
    server_metadata_print(&out);
    expect(&out, json, sizeof json - 1);
    server_metadata_put(&out);
    assert_memory_equal(out.data, "\x0a\x0bmodelserver\x12", 14);
    buffer_finish(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_a_model),
        cmocka_unit_test(lists_the_repository),
        cmocka_unit_test(describes_the_server),
    };
    return cmocka_run_group_tests_name("metadata", tests, NULL, NULL);
}
