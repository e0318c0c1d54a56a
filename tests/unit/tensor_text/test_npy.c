#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "tensor/npy.h"
#include "unit/tensor_text/row_check.h"
#include "support/test_group.h"

/* Builds a file as NumPy writes it: magic, version, header size, header and data. */
static struct bytes make(char *file, int version, const char *descr, const char *order,
                         const char *shape, const void *data, size_t size)
{
    char header[256];
    int length =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n",
                 descr, order, shape);
    size_t start = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (char)length;
    memcpy(file + start, header, (size_t)length);
    memcpy(file + start + length, data, size);
    return (struct bytes){ file, start + (size_t)length + size };
}

static const struct row {
    const char *label, *descr, *order, *shape;
    const void *data;
    size_t size;
    const char *want; /* NULL: expect `error` */
    const char *error;
    enum status_code code;
} rows[] = {
    { "floats", "<f4", "False", "2, 1", "\0\0\x80\x3f\0\0\0\x40", 8, "[[1],\n [2]]", NULL, 0 },
    { "one dimension", "<i2", "False", "2,", "\1\0\xff\xff", 4, "[1, -1]", NULL, 0 },
    { "a scalar", "|u1", "False", "", "\7", 1, "7", NULL, 0 },
    { "bools", "|b1", "False", "2,", "\1\0", 2, "[true, false]", NULL, 0 },
    { "none at all", "<f8", "False", "0, 3", "", 0, "[]", NULL, 0 },
    { "byte strings", "|S3", "False", "2,", "ab\0abc", 6, "[\"ab\", \"abc\"]", NULL, 0 },
    { "characters", "<U2", "False", "1,", "\xe4\0\0\0\x0d\xf6\x01\0", 8,
      "[\"\xc3\xa4\xf0\x9f\x98\x8d\"]", NULL, 0 },
    { "a bool of value 2", "|b1", "False", "2,", "\1\2", 2, NULL,
      ".npy has a bool of value 2 at element 1", STATUS_INVALID_ARGUMENT },
    { "a great many floats", "<f4", "False", "1000000000000,", "\0\0\x80\x3f", 4, NULL, "cut short",
      STATUS_INVALID_ARGUMENT },
    { "cut short", "<f4", "False", "3,", "\0\0\x80\x3f", 4, NULL, "cut short",
      STATUS_INVALID_ARGUMENT },
    { "strings cut short", "|S3", "False", "2,", "abc", 3, NULL, "cut short",
      STATUS_INVALID_ARGUMENT },
    { "characters beyond all memory", "<U4611686018427387905", "False", "1,", "abcd", 4, NULL,
      "cut short", STATUS_INVALID_ARGUMENT },
    { "a great many strings of no characters", "|S0", "False", "1000000000000,", "", 0, NULL,
      "no characters", STATUS_INVALID_ARGUMENT },
    { "columns first", "<f4", "True", "1, 1", "\0\0\x80\x3f", 4, NULL, "ortran",
      STATUS_INVALID_ARGUMENT },
    { "big-endian numbers", ">f4", "False", "1,", "\x3f\x80\0\0", 4, NULL, "dtype '>f4'",
      STATUS_UNIMPLEMENTED },
    { "big-endian characters", ">U1", "False", "1,", "\0\0\0a", 4, NULL, "dtype '>U1'",
      STATUS_UNIMPLEMENTED },
    { "Python objects", "|O", "False", "1,", "x", 1, NULL, "dtype '|O'", STATUS_UNIMPLEMENTED },
    { "a shape that is no shape", "<f4", "False", "x,", "", 0, NULL, "not readable",
      STATUS_INVALID_ARGUMENT },
    { "a negative dimension", "<f4", "False", "-1,", "", 0, NULL, "", STATUS_INVALID_ARGUMENT },
};

static void reads(void **state)
{
    const struct row *row = *state;
    for (int version = 1; version <= 3; version++) {
        char file[512];
        struct arena *arena = arena_create(0);
        struct tensor tensor = { 0 };
        struct bytes bytes =
            make(file, version, row->descr, row->order, row->shape, row->data, row->size);
        struct status status = npy_read(bytes, arena, &tensor);
        check_row(status, &tensor, row->want, row->code, row->error);
        arena_destroy(arena);
    }
}

/* Each prefix has a heap block of its size, so that AddressSanitizer reports reads past it. */
static void every_prefix_is_refused(void **state)
{
    (void)state;
    char file[512];
    struct bytes whole = make(file, 1, "<f4", "False", "1,", "\0\0\x80\x3f", 4);
    for (size_t size = 0; size < whole.size; size++) {
        struct arena *arena = arena_create(0);
        struct tensor tensor = { 0 };
        char *part = xrealloc(NULL, size + (size == 0));
        memcpy(part, file, size);
        struct status status = npy_read((struct bytes){ part, size }, arena, &tensor);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        free(part);
        arena_destroy(arena);
    }
}

static struct tensor texts(const struct bytes *strings)
{
    struct shape shape = shape_of(3, 1);
    return tensor_borrow(DT_STRING, &shape, strings);
}

static void strings_come_back(void **state)
{
    (void)state;
    const struct bytes strings[] = { bytes_of("abc"), { NULL, 0 }, { "a\0b", 3 } };
    struct tensor in = texts(strings), out;
    struct buffer file = { 0 };
    struct arena *arena = arena_create(0);
    assert_int_equal(npy_put_strings(&in, &file).code, STATUS_OK);
    assert_int_equal(file.size, 128 + 3 * 3);
    assert_int_equal(npy_read((struct bytes){ file.data, file.size }, arena, &out).code, STATUS_OK);
    assert_true(shape_equal(&out.shape, &in.shape));
    for (int i = 0; i < 3; i++)
        assert_true(bytes_equal(tensor_strings(&out)[i], strings[i]));
    tensor_release(&out);
    arena_destroy(arena);
    buffer_finish(&file);
}

static void strings_that_numpy_would_change_are_refused(void **state)
{
    (void)state;
    const struct bytes strings[] = { bytes_of("abc"), { "x", 1 }, { "b\0", 2 } };
    struct tensor in = texts(strings);
    struct buffer file = { 0 };
    struct status status = npy_put_strings(&in, &file);
    assert_string_equal(status.message, ".npy: string 2 ends with a NUL byte, which numpy drops");
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    buffer_finish(&file);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(strings_come_back),
        cmocka_unit_test(strings_that_numpy_would_change_are_refused),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads);
    return test_group_run(&group, "npy", NULL, NULL);
}
