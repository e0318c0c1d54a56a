#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "proto/message.h"
#include "proto/tensor.pb-c.h"
#include "tensor/tensor_proto.h"

static struct arena *arena;
static struct tensor tensor;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(1 << 20);
    tensor = (struct tensor){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tensor_release(&tensor);
    arena_destroy(arena);
    return 0;
}

/* A TensorProto of this type and shape [size], without values. */
static Tensorflow__TensorProto *empty(enum dtype dtype, int64_t size)
{
    Tensorflow__TensorProto *proto =
        PROTO_NEW(arena, Tensorflow__TensorProto, tensorflow__tensor_proto);
    struct shape shape = shape_of(size);
    proto->dtype = (Tensorflow__DataType)dtype;
    proto->tensor_shape = shape_to_proto(&shape, arena);
    return proto;
}

static void content(Tensorflow__TensorProto *proto, const void *data, size_t size)
{
    proto->tensor_content = (ProtobufCBinaryData){ size, (uint8_t *)data };
}

static enum status_code decode(const Tensorflow__TensorProto *proto)
{
    return tensor_from_proto(proto, arena, &tensor).code;
}

static void content_wins_over_values(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_FLOAT, 2);
    float values[] = { 1, 2 }, other = 9;
    content(proto, values, sizeof values);
    proto->n_float_val = 1;
    proto->float_val = &other;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_memory_equal(tensor_floats(&tensor), values, sizeof values);
}

static void the_last_value_is_repeated(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_INT64, 4);
    int64_t values[] = { 5, -7 };
    proto->n_int64_val = 2;
    proto->int64_val = values;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_memory_equal(tensor_int64s(&tensor), ((int64_t[]){ 5, -7, -7, -7 }), 32);
}

static void a_long_tail_is_filled(void **state)
{
    (void)state;
    for (int64_t size = 3; size < 300; size += 7) {
        Tensorflow__TensorProto *proto = empty(DT_FLOAT, size);
        float values[] = { 1, 2, 3 };
        proto->n_float_val = 3;
        proto->float_val = values;
        assert_int_equal(decode(proto), STATUS_OK);
        assert_true(tensor_floats(&tensor)[0] == 1 && tensor_floats(&tensor)[1] == 2);
        for (int64_t i = 2; i < size; i++)
            assert_true(tensor_floats(&tensor)[i] == 3);
        tensor_release(&tensor);
    }
}

static void surplus_values_are_ignored(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_INT32, 1);
    int32_t values[] = { 1, 2, 3 };
    proto->n_int_val = 3;
    proto->int_val = values;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_int_equal(tensor_int32s(&tensor)[0], 1);
}

static void no_values_are_zeros_and_empty_strings(void **state)
{
    (void)state;
    assert_int_equal(decode(empty(DT_DOUBLE, 3)), STATUS_OK);
    assert_memory_equal(tensor_doubles(&tensor), ((double[]){ 0, 0, 0 }), 24);
    tensor_release(&tensor);
    assert_int_equal(decode(empty(DT_STRING, 2)), STATUS_OK);
    assert_int_equal(tensor_strings(&tensor)[1].size, 0);
}

static void integers_wrap_into_narrow_types(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_UINT8, 2);
    int32_t values[] = { 300, -1 };
    proto->n_int_val = 2;
    proto->int_val = values;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_memory_equal(tensor.data, ((uint8_t[]){ 44, 255 }), 2);
}

static void half_a_complex_pair_is_ignored(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_COMPLEX64, 2);
    float values[] = { 1, 2, 3 };
    proto->n_scomplex_val = 3;
    proto->scomplex_val = values;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_memory_equal(tensor.data, ((float[]){ 1, 2, 1, 2 }), 16);
}

static void strings_come_from_content_too(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_STRING, 3);
    content(proto,
            "\x02\x00\x03"
            "a\0xyz",
            8);
    assert_int_equal(decode(proto), STATUS_OK);
    assert_true(bytes_equal(tensor_strings(&tensor)[0], (struct bytes){ "a\0", 2 }));
    assert_true(bytes_equal(tensor_strings(&tensor)[2], bytes_of("xyz")));
}

static void repeated_strings_keep_their_nul(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_STRING, 2);
    ProtobufCBinaryData value = { 3, (uint8_t *)"a\0b" };
    proto->n_string_val = 1;
    proto->string_val = &value;
    assert_int_equal(decode(proto), STATUS_OK);
    assert_true(bytes_equal(tensor_strings(&tensor)[1], (struct bytes){ "a\0b", 3 }));
}

static void wrong_content_is_refused(void **state)
{
    (void)state;
    Tensorflow__TensorProto *proto = empty(DT_FLOAT, 2);
    content(proto, "1234567", 7);
    assert_int_equal(decode(proto), STATUS_INVALID_ARGUMENT);
    proto = empty(DT_BOOL, 2);
    content(proto, "\x01\x02", 2);
    assert_int_equal(decode(proto), STATUS_INVALID_ARGUMENT);
    proto = empty(DT_STRING, 2);
    content(proto,
            "\x01\x7f"
            "ab",
            4);
    assert_int_equal(decode(proto), STATUS_INVALID_ARGUMENT);
    proto = empty(DT_STRING, 1);
    content(proto,
            "\x01"
            "ab",
            3);
    assert_int_equal(decode(proto), STATUS_INVALID_ARGUMENT);
}

static void wrong_types_and_shapes_are_refused(void **state)
{
    (void)state;
    assert_int_equal(decode(empty((enum dtype)0, 1)), STATUS_INVALID_ARGUMENT);
    assert_int_equal(decode(empty((enum dtype)101, 1)), STATUS_INVALID_ARGUMENT);
    assert_int_equal(decode(empty((enum dtype)99, 1)), STATUS_INVALID_ARGUMENT);
    assert_int_equal(decode(empty(DT_VARIANT, 1)), STATUS_UNIMPLEMENTED);
    assert_int_equal(decode(empty(DT_FLOAT, -1)), STATUS_INVALID_ARGUMENT);
    assert_int_equal(decode(empty(DT_FLOAT, -2)), STATUS_INVALID_ARGUMENT);
    Tensorflow__TensorProto *proto = empty(DT_FLOAT, 1);
    proto->tensor_shape->unknown_rank = true;
    assert_int_equal(decode(proto), STATUS_INVALID_ARGUMENT);
}

static void a_claim_of_2_to_the_60_elements_is_refused(void **state)
{
    (void)state;
    assert_int_equal(decode(empty(DT_FLOAT, (int64_t)1 << 60)), STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(decode(empty(DT_STRING, (int64_t)1 << 60)), STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(decode(empty(DT_UINT8, (int64_t)1 << 60)), STATUS_RESOURCE_EXHAUSTED);
}

static void every_type_survives_a_round_trip(void **state)
{
    (void)state;
    for (int dtype = 1; dtype < DT_FLOAT4_E2M1FN; dtype++) {
        if (dtype_file_size((enum dtype)dtype) == 0)
            continue;
        for (int64_t size = 0; size < 4; size++) {
            unsigned char data[64];
            for (size_t i = 0; i < sizeof data; i++)
                data[i] = (unsigned char)(dtype == DT_BOOL ? i % 2 : 3 * i + 1);
            struct shape shape = shape_of(size);
            struct tensor in = tensor_borrow((enum dtype)dtype, &shape, data);
            assert_int_equal(decode(tensor_to_proto(&in, arena)), STATUS_OK);
            assert_int_equal(tensor.dtype, dtype);
            assert_true(shape_equal(&tensor.shape, &shape));
            assert_memory_equal(tensor.data, data, tensor_bytes(&in));
            tensor_release(&tensor);
        }
    }
}

static void shapes_survive_a_round_trip(void **state)
{
    (void)state;
    const struct shape shapes[] = { shape_scalar(), shape_unknown(), shape_of(2, -1, 0) };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct shape back;
        assert_int_equal(shape_from_proto(shape_to_proto(&shapes[i], arena), &back).code,
                         STATUS_OK);
        assert_true(shape_equal(&back, &shapes[i]));
    }
    struct shape back;
    assert_int_equal(shape_from_proto(NULL, &back).code, STATUS_OK);
    assert_int_equal(back.rank, SHAPE_UNKNOWN_RANK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(content_wins_over_values),
        TEST(the_last_value_is_repeated),
        TEST(a_long_tail_is_filled),
        TEST(surplus_values_are_ignored),
        TEST(no_values_are_zeros_and_empty_strings),
        TEST(integers_wrap_into_narrow_types),
        TEST(half_a_complex_pair_is_ignored),
        TEST(strings_come_from_content_too),
        TEST(repeated_strings_keep_their_nul),
        TEST(wrong_content_is_refused),
        TEST(wrong_types_and_shapes_are_refused),
        TEST(a_claim_of_2_to_the_60_elements_is_refused),
        TEST(every_type_survives_a_round_trip),
        TEST(shapes_survive_a_round_trip),
    };
    return cmocka_run_group_tests_name("tensor_proto", tests, NULL, NULL);
}
