#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/oip/tensor_body.h"
#include "unit/oip/words.h"
#include "support/arena.h"
#include "support/test_group.h"

#define UNKNOWN SHAPE_UNKNOWN_RANK
#define EIGHT   "\x01\x00\x02\x00\x03\x00\x04\x00"

/* A body, and the request that it is. */
static const struct row {
    const char *label;
    enum dtype dtype;
    struct shape shape; /* of the signature */
    const char *given;  /* the shape that the request gives */
    struct bytes body;
    const char *words;
} rows[] = {
    { "the unknown dimension follows",
      DT_INT16,
      { 2, { -1, 2 } },
      NULL,
      { EIGHT, 8 },
      "x INT16 [2,2] 1 2 3 4" },
    { "an empty body", DT_INT16, { 2, { -1, 2 } }, NULL, { "", 0 }, "x INT16 [0,2]" },
    { "a known shape", DT_INT16, { 1, { 4 } }, NULL, { EIGHT, 8 }, "x INT16 [4] 1 2 3 4" },
    { "a scalar", DT_INT64, { 0 }, NULL, { "\x07\0\0\0\0\0\0\0", 8 }, "x INT64 [] 7" },
    { "a given shape", DT_INT16, { 2, { -1, -1 } }, "1,4", { EIGHT, 8 }, "x INT16 [1,4] 1 2 3 4" },
    { "a given scalar", DT_INT16, { .rank = UNKNOWN }, "", { EIGHT, 2 }, "x INT16 [] 1" },
    { "a string without length",
      DT_STRING,
      { 1, { -1 } },
      NULL,
      { "text", 4 },
      "x BYTES [1] text" },
    { "a string of unknown rank",
      DT_STRING,
      { .rank = UNKNOWN },
      NULL,
      { "text", 4 },
      "x BYTES [1] text" },
    { "strings with lengths",
      DT_STRING,
      { 1, { -1 } },
      "2",
      { "\x01\0\0\0a\0\0\0\0", 9 },
      "x BYTES [2] a " },
    { "two unknown dimensions",
      DT_INT16,
      { 2, { -1, -1 } },
      NULL,
      { EIGHT, 8 },
      "input 'x' is of type int16 and of shape [?,?]: the shape of a body of 8 bytes does not "
      "follow, so the request must give it" },
    { "an unknown rank",
      DT_INT16,
      { .rank = UNKNOWN },
      NULL,
      { EIGHT, 8 },
      "input 'x' is of type int16 and of shape <unknown>: the shape of a body of 8 bytes does not "
      "follow, so the request must give it" },
    { "half a row",
      DT_INT16,
      { 2, { -1, 3 } },
      NULL,
      { EIGHT, 8 },
      "input 'x' is of type int16 and of shape [?,3]: the shape of a body of 8 bytes does not "
      "follow, so the request must give it" },
    { "rows of no elements",
      DT_INT16,
      { 2, { -1, 0 } },
      NULL,
      { EIGHT, 8 },
      "input 'x' is of type int16 and of shape [?,0]: the shape of a body of 8 bytes does not "
      "follow, so the request must give it" },
    { "another size",
      DT_INT16,
      { 1, { 3 } },
      NULL,
      { EIGHT, 8 },
      "input 'x': 8 bytes are not the elements of [3] of type int16" },
    { "two strings",
      DT_STRING,
      { 1, { 2 } },
      NULL,
      { "text", 4 },
      "input 'x' is of type string and of shape [2]: the shape of a body of 4 bytes does not "
      "follow, so the request must give it" },
    { "no list",
      DT_INT16,
      { 1, { -1 } },
      "2,",
      { EIGHT, 8 },
      "the shape '2,' is not a list of dimensions such as 2,3" },
    { "a negative dimension",
      DT_INT16,
      { 1, { -1 } },
      "-1",
      { EIGHT, 8 },
      "the shape '-1' is not a list of dimensions such as 2,3" },
    { "a large dimension",
      DT_INT16,
      { 1, { -1 } },
      "99999999999999999999",
      { EIGHT, 8 },
      "the shape '99999999999999999999' is not a list of dimensions such as 2,3" },
    { "a bool of 2",
      DT_BOOL,
      { 1, { -1 } },
      NULL,
      { "\x02", 1 },
      "input 'x': the data has a bool of value 2 at element 0" },
    { "a type without name",
      DT_COMPLEX64,
      { 1, { -1 } },
      NULL,
      { EIGHT, 8 },
      "raw elements of input 'x' of type DT_COMPLEX64" },
};

static struct signature one_input(struct signature_tensor *input, enum dtype dtype,
                                  const struct shape *shape)
{
    *input =
        (struct signature_tensor){ .key = "x", .dtype = dtype, .has_shape = true, .shape = *shape };
    return (struct signature){ .name = "s", .inputs = input, .inputs_count = 1 };
}

static void reads_raw_elements(void **state)
{
    const struct row *row = *state;
    struct signature_tensor input;
    struct signature signature = one_input(&input, row->dtype, &row->shape);
    struct infer_request request;
    struct status status = tensor_body_read_raw(row->body, row->given, &signature, arena, &request);
    assert_string_equal(status_is_ok(status) ? request_words(&request, arena) : status.message,
                        row->words);
}

static void refuses_several_inputs(void **state)
{
    (void)state;
    struct signature_tensor inputs[2] = { { .key = "a" }, { .key = "b" } };
    struct signature signature = { .name = "s", .inputs = inputs, .inputs_count = 2 };
    struct infer_request request;
    struct bytes body = { "", 0 };
    assert_string_equal(tensor_body_read_raw(body, NULL, &signature, arena, &request).message,
                        "a body of one tensor, but the signature 's' has 2 inputs");
    assert_string_equal(tensor_body_read_npy(body, &signature, arena, &request).message,
                        "a body of one tensor, but the signature 's' has 2 inputs");
}

/* ---- .npy files ---- */

static struct bytes npy_of(const struct tensor *tensor)
{
    struct buffer file = { 0 };
    size_t size;
    assert_string_equal(tensor_body_npy_size(tensor, &size).message, "");
    tensor_body_put_npy(tensor, &file);
    assert_int_equal(file.size, size);
    struct bytes kept = { arena_memdup(arena, file.data, file.size), file.size };
    buffer_finish(&file);
    return kept;
}

static void writes_npy_as_numpy_does(void **state)
{
    (void)state;
    static const int16_t numbers[] = { 1, 2, 3 };
    struct shape three = shape_of(3);
    struct tensor tensor = tensor_borrow(DT_INT16, &three, numbers);
    struct bytes file = npy_of(&tensor);
    static const char front[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, "
                                "'shape': (3,), }";
    assert_int_equal(file.size, 128 + 6);
    assert_memory_equal(file.data, front, sizeof front - 1);
    assert_int_equal(file.data[127], '\n');
    assert_memory_equal(file.data + 128, numbers, 6);
}

static void reads_the_npy_that_it_writes(void **state)
{
    (void)state;
    static const double zeros[6] = { 0 };
    static const enum dtype dtypes[] = { DT_BOOL,   DT_INT8,  DT_UINT8,  DT_INT16,
                                         DT_UINT16, DT_INT32, DT_UINT32, DT_INT64,
                                         DT_UINT64, DT_HALF,  DT_FLOAT,  DT_DOUBLE };
    struct shape shapes[] = { shape_scalar(), shape_of(6), shape_of(2, 3), shape_of(0, 2) };
    for (size_t i = 0; i < COUNT(dtypes); i++) {
        for (size_t j = 0; j < COUNT(shapes); j++) {
            struct tensor tensor = tensor_borrow(dtypes[i], &shapes[j], zeros);
            struct shape any = shape_unknown();
            struct signature_tensor input;
            struct signature signature = one_input(&input, dtypes[i], &any);
            struct infer_request request;
            struct status status =
                tensor_body_read_npy(npy_of(&tensor), &signature, arena, &request);
            assert_string_equal(status.message, "");
            assert_int_equal(request.inputs[0].tensor.dtype, dtypes[i]);
            assert_true(shape_equal(&request.inputs[0].tensor.shape, &shapes[j]));
        }
    }
}

static void refuses_npy_that_is_cut_short(void **state)
{
    (void)state;
    static const int16_t numbers[] = { 1, 2, 3 };
    struct shape three = shape_of(3);
    struct tensor tensor = tensor_borrow(DT_INT16, &three, numbers);
    struct bytes file = npy_of(&tensor);
    struct signature_tensor input;
    struct signature signature = one_input(&input, DT_INT16, &three);
    for (size_t size = 0; size < file.size; size++) {
        struct infer_request request;
        struct status status =
            tensor_body_read_npy((struct bytes){ file.data, size }, &signature, arena, &request);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    }
}

static void refuses_to_write_npy_of_what_numpy_does_not_have(void **state)
{
    (void)state;
    static const uint16_t numbers[] = { 1 };
    struct shape one = shape_of(1);
    struct tensor tensor = tensor_borrow(DT_BFLOAT16, &one, numbers);
    size_t size;
    assert_string_equal(tensor_body_npy_size(&tensor, &size).message,
                        "a .npy file of type bfloat16");
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(refuses_several_inputs),
        cmocka_unit_test(writes_npy_as_numpy_does),
        cmocka_unit_test(reads_the_npy_that_it_writes),
        cmocka_unit_test(refuses_npy_that_is_cut_short),
        cmocka_unit_test(refuses_to_write_npy_of_what_numpy_does_not_have),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, reads_raw_elements);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "tensor_body", arena_setup, arena_teardown);
}
