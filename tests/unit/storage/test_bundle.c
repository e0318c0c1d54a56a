#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/bundle.h"
#include "storage/bundle_writer.h"
#include "support/directory.h"
#include "support/models.h"

static void add_float(struct bundle_writer *writer, const char *name, float value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_FLOAT, &scalar, &value);
    assert_ok(bundle_writer_add(writer, name, &tensor));
}

/* The index that TensorFlow writes for a = 0.5, b = 2.0, c = 3.0. */
static const unsigned char three_scalars[] = {
    0x00, 0x00, 0x06, 0x08, 0x01, 0x1a, 0x02, 0x08, 0x01, 0x00, 0x01, 0x0b, 0x61, 0x08, 0x01, 0x12,
    0x00, 0x28, 0x04, 0x35, 0x06, 0x38, 0x27, 0x1f, 0x00, 0x01, 0x0d, 0x62, 0x08, 0x01, 0x12, 0x00,
    0x20, 0x04, 0x28, 0x04, 0x35, 0x10, 0xfd, 0x78, 0x4f, 0x00, 0x01, 0x0d, 0x63, 0x08, 0x01, 0x12,
    0x00, 0x20, 0x08, 0x28, 0x04, 0x35, 0xef, 0xd6, 0x82, 0xc3, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x00, 0xe4, 0x15, 0xb6, 0xbc, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0xc0, 0xf2, 0xa1, 0xb0, 0x00, 0x01, 0x02, 0x64, 0x00, 0x42, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x58, 0xb2, 0xe9, 0xf7, 0x47, 0x08, 0x54, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x57,
    0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb,
};

static void three_scalars_are_written_as_tensorflow_writes_them(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    struct buffer index = { 0 }, data = { 0 };
    assert_ok(bundle_writer_open(in("v"), &writer));
    add_float(writer, "a", 0.5f);
    add_float(writer, "b", 2);
    add_float(writer, "c", 3);
    assert_ok(bundle_writer_commit(writer));
    assert_ok(file_read(in("v.index"), 0, &index));
    assert_int_equal(index.size, sizeof three_scalars);
    assert_memory_equal(index.data, three_scalars, index.size);
    assert_ok(file_read(in("v.data-00000-of-00001"), 0, &data));
    assert_int_equal(data.size, 12);
    assert_memory_equal(data.data, "\0\0\0\x3f\0\0\0\x40\0\0\x40\x40", 12);
    buffer_finish(&index);
    buffer_finish(&data);
    struct file_list list;
    assert_ok(file_list(directory, arena, &list));
    assert_int_equal(list.count, 2);
}

/* Reads a tensor chunk by chunk, and compares it with bundle_read's. */
static void check_stream(struct bundle_stream *stream, const struct bundle *bundle,
                         const char *name, int chunks)
{
    struct tensor whole;
    struct bytes chunk;
    size_t at = 0;

    assert_ok(bundle_read(bundle, name, &whole));
    assert_ok(bundle_stream_begin(stream, bundle, name));
    for (;; chunks--) {
        assert_ok(bundle_stream_next(stream, &chunk));
        if (chunk.size == 0)
            break;
        assert_true(at + chunk.size <= tensor_bytes(&whole));
        assert_memory_equal((const char *)whole.data + at, chunk.data, chunk.size);
        at += chunk.size;
    }
    assert_int_equal(at, tensor_bytes(&whole));
    assert_int_equal(chunks, 0);
    tensor_release(&whole);
}

#define MANY_FLOATS 600000 /* more than two chunks */

static void a_large_tensor_is_read_chunk_by_chunk(void **state)
{
    (void)state;
    static float values[MANY_FLOATS];
    const struct shape shape = shape_of(MANY_FLOATS / 2, 2), none = shape_of(0, 2);
    const struct tensor large = tensor_borrow(DT_FLOAT, &shape, values),
                        empty = tensor_borrow(DT_FLOAT, &none, values);
    struct bundle_writer *writer;
    struct bundle_stream stream = { 0 };
    struct bundle *bundle;
    struct bytes chunk;

    for (int i = 0; i < MANY_FLOATS; i++)
        values[i] = (float)i;
    assert_ok(bundle_writer_open(in("v"), &writer));
    assert_ok(bundle_writer_add(writer, "empty", &empty));
    assert_ok(bundle_writer_add(writer, "large", &large));
    add_float(writer, "small", 0.5f);
    assert_ok(bundle_writer_commit(writer));
    assert_ok(bundle_open(in("v"), &bundle));
    check_stream(&stream, bundle, "small", 1);
    check_stream(&stream, bundle, "large", 3);
    check_stream(&stream, bundle, "empty", 0);
    assert_int_equal(bundle_stream_begin(&stream, bundle, "other").code, STATUS_NOT_FOUND);
    bundle_close(bundle);

    FILE *file = fopen(in("v.data-00000-of-00001"), "r+b"); /* damage in the first chunk */
    fseek(file, 100, SEEK_SET);
    fputc('x', file);
    fclose(file);
    assert_ok(bundle_open(in("v"), &bundle));
    assert_ok(bundle_stream_begin(&stream, bundle, "large"));
    assert_ok(bundle_stream_next(&stream, &chunk));
    assert_ok(bundle_stream_next(&stream, &chunk));
    assert_int_equal(bundle_stream_next(&stream, &chunk).code, STATUS_DATA_LOSS);
    bundle_stream_finish(&stream);
    bundle_close(bundle);
}

static void add_zeros(struct bundle_writer *writer, const char *name, int64_t count)
{
    struct shape shape = shape_of(count);
    struct tensor zeros;
    assert_ok(tensor_create(DT_FLOAT, &shape, &zeros));
    memset(zeros.data, 0, tensor_bytes(&zeros));
    assert_ok(bundle_writer_add(writer, name, &zeros));
    tensor_release(&zeros);
}

/* Whether a read of `name` gives a part of a block after these names were expected. */
static bool lies_in_a_block(const char *name, const char *const *expected, int count)
{
    struct bundle *bundle;
    struct tensor tensor;
    assert_ok(bundle_open(in("v"), &bundle));
    bundle_expect(bundle, expected, count);
    assert_ok(bundle_read(bundle, name, &tensor));
    bundle_close(bundle);
    for (int64_t i = 0; i < tensor.size; i++)
        assert_true(tensor_floats(&tensor)[i] == 0);
    bool found = tensor.buffer->block != NULL;
    tensor_release(&tensor);
    return found;
}

static void large_expected_tensors_lie_in_a_block(void **state)
{
    (void)state;
    static const char *const names[] = { "small", "a", "b", "none" };
    struct bundle_writer *writer;
    assert_ok(bundle_writer_open(in("v"), &writer));
    add_zeros(writer, "small", 10);
    add_zeros(writer, "a", 600000);
    add_zeros(writer, "b", 600000);
    assert_ok(bundle_writer_commit(writer));
    assert_true(lies_in_a_block("a", names, 4));
    assert_true(lies_in_a_block("small", names, 4));
    assert_false(lies_in_a_block("a", names, 2)); /* 2.4 MB */
    assert_false(lies_in_a_block("a", names, 0));
}

static void strings_are_written_as_tensorflow_writes_them(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    struct bytes strings[] = { bytes_of("ab"), bytes_of(""), bytes_of("xyz") };
    struct shape shape = shape_of(3), none = shape_of(0);
    struct tensor tensor = tensor_borrow(DT_STRING, &shape, strings);
    struct tensor empty = tensor_borrow(DT_STRING, &none, strings), back;
    struct buffer data = { 0 };
    assert_ok(bundle_writer_open(in("v"), &writer));
    assert_ok(bundle_writer_add(writer, "s", &tensor));
    assert_ok(bundle_writer_add(writer, "empty", &empty));
    assert_ok(bundle_writer_commit(writer));
    assert_ok(file_read(in("v.data-00000-of-00001"), 0, &data));
    assert_int_equal(data.size, 16);
    assert_memory_equal(data.data, "\2\0\3\x1b\x42\x8b\xca\x61\x62\x78\x79\x7a\xd8\xea\x82\xa2",
                        16);
    buffer_finish(&data);

    struct bundle *bundle;
    assert_ok(bundle_open(in("v"), &bundle));
    assert_ok(bundle_read(bundle, "s", &back));
    for (int i = 0; i < 3; i++)
        assert_true(bytes_equal(tensor_strings(&back)[i], strings[i]));
    tensor_release(&back);
    assert_ok(bundle_read(bundle, "empty", &back));
    assert_int_equal(back.size, 0);
    tensor_release(&back);
    bundle_close(bundle);
}

static void numbers_come_back_in_any_order_of_writing(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    struct bundle *bundle;
    struct tensor back;
    float values[6] = { 1, 2, 3, 4, 5, 6 };
    struct shape shape = shape_of(2, 3);
    assert_ok(bundle_writer_open(in("v"), &writer));
    assert_ok(bundle_writer_begin(writer, "z", DT_FLOAT, &shape));
    assert_ok(bundle_writer_append(writer, values, 10));
    assert_ok(bundle_writer_append(writer, (char *)values + 10, 14));
    assert_ok(bundle_writer_end(writer));
    add_float(writer, "a", 7);
    assert_ok(bundle_writer_commit(writer));

    assert_ok(bundle_open(in("v"), &bundle));
    assert_int_equal(bundle_count(bundle), 2);
    assert_string_equal(bundle_at(bundle, 0)->name, "a");
    assert_true(shape_equal(&bundle_find(bundle, "z")->shape, &shape));
    assert_null(bundle_find(bundle, ""));
    assert_ok(bundle_read(bundle, "z", &back));
    assert_memory_equal(tensor_floats(&back), values, sizeof values);
    tensor_release(&back);
    bundle_close(bundle);
}

static void a_piece_too_many_or_too_few_is_refused(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    struct shape shape = shape_of(2);
    assert_ok(bundle_writer_open(in("v"), &writer));
    assert_ok(bundle_writer_begin(writer, "a", DT_FLOAT, &shape));
    assert_fails_naming(bundle_writer_append(writer, "123456789", 9), STATUS_INVALID_ARGUMENT,
                        "9 came");
    assert_ok(bundle_writer_append(writer, "1234567", 7));
    assert_fails_naming(bundle_writer_end(writer), STATUS_INVALID_ARGUMENT, "only 7 came");
    bundle_writer_abandon(writer);
    struct file_list list;
    assert_ok(file_list(directory, arena, &list));
    assert_int_equal(list.count, 0);
}

static void a_name_twice_is_refused_and_leaves_nothing(void **state)
{
    (void)state;
    struct bundle_writer *writer;
    assert_ok(bundle_writer_open(in("v"), &writer));
    add_float(writer, "a", 1);
    add_float(writer, "a", 2);
    assert_fails_naming(bundle_writer_commit(writer), STATUS_INVALID_ARGUMENT,
                        "'a' was written twice");
    struct file_list list;
    assert_ok(file_list(directory, arena, &list));
    assert_int_equal(list.count, 0);
}

static struct bundle *two_scalars(void)
{
    struct bundle_writer *writer;
    struct bundle *bundle;
    assert_ok(bundle_writer_open(in("v"), &writer));
    add_float(writer, "a", 1);
    add_float(writer, "b", 2);
    assert_ok(bundle_writer_commit(writer));
    assert_ok(bundle_open(in("v"), &bundle));
    return bundle;
}

static void restoring_checks_name_type_and_shape(void **state)
{
    (void)state;
    struct bundle *bundle = two_scalars();
    struct tensor tensor;
    assert_fails_naming(bundle_restore(bundle, "x", "", DT_FLOAT, &tensor), STATUS_NOT_FOUND,
                        "Key x not found in checkpoint");
    assert_fails_naming(
        bundle_restore(bundle, "a", "", DT_INT32, &tensor), STATUS_INVALID_ARGUMENT,
        "tensor_name = a; expected dtype int32 does not equal original dtype float");
    assert_fails_naming(
        bundle_restore(bundle, "a", "3 -", DT_FLOAT, &tensor), STATUS_INVALID_ARGUMENT,
        "tensor_name = a; shape in shape_and_slice spec [3] does not match the shape "
        "stored in checkpoint: []");
    bundle_close(bundle);
}

static void damage_is_found_per_tensor(void **state)
{
    (void)state;
    bundle_close(two_scalars());
    FILE *file = fopen(in("v.data-00000-of-00001"), "r+b");
    fseek(file, 5, SEEK_SET);
    fputc(1, file);
    fclose(file);
    struct bundle *bundle;
    struct tensor tensor;
    assert_ok(bundle_open(in("v"), &bundle));
    assert_fails_naming(bundle_read(bundle, "b", &tensor), STATUS_DATA_LOSS,
                        "4 bytes at offset 4 of data file 1 of 1: Checksum does not match");
    assert_ok(bundle_read(bundle, "a", &tensor));
    tensor_release(&tensor);
    bundle_close(bundle);

    assert_int_equal(truncate(in("v.data-00000-of-00001"), 7), 0);
    assert_ok(bundle_open(in("v"), &bundle));
    assert_fails_naming(bundle_read(bundle, "b", &tensor), STATUS_OUT_OF_RANGE,
                        "Read less bytes than requested");
    assert_ok(bundle_read(bundle, "a", &tensor));
    tensor_release(&tensor);
    bundle_close(bundle);

    assert_int_equal(unlink(in("v.data-00000-of-00001")), 0);
    assert_ok(bundle_open(in("v"), &bundle));
    assert_fails_naming(bundle_read(bundle, "a", &tensor), STATUS_NOT_FOUND,
                        "v.data-00000-of-00001");
    bundle_close(bundle);
}

static void a_bool_of_value_2_is_data_loss(void **state)
{
    (void)state;
    struct shape shape = shape_of(2);
    const struct tensor tensor = tensor_borrow(DT_BOOL, &shape, "\1\2");
    struct bundle_writer *writer;
    struct bundle *bundle;
    struct tensor read;
    assert_ok(bundle_writer_open(in("v"), &writer));
    assert_ok(bundle_writer_add(writer, "b", &tensor));
    assert_ok(bundle_writer_commit(writer));
    assert_ok(bundle_open(in("v"), &bundle));
    assert_fails_naming(bundle_read(bundle, "b", &read), STATUS_DATA_LOSS,
                        "b has a bool of value 2 at element 1");
    bundle_close(bundle);
}

static void every_prefix_of_the_index_is_data_loss(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof three_scalars; size++) {
        struct bundle *bundle;
        assert_ok(file_write(in("v.index"), (struct bytes){ (const char *)three_scalars, size }));
        assert_int_equal(bundle_open(in("v"), &bundle).code, STATUS_DATA_LOSS);
    }
}

static void every_flipped_byte_of_the_index_is_noticed_or_harmless(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof three_scalars; at++) {
        struct bundle *bundle;
        unsigned char damaged[sizeof three_scalars];
        memcpy(damaged, three_scalars, sizeof damaged);
        damaged[at] ^= 0x41;
        assert_ok(file_write(in("v.index"), (struct bytes){ (char *)damaged, sizeof damaged }));
        struct status status = bundle_open(in("v"), &bundle);
        bool unread = (at >= 71 && at < 84) || (at >= 103 && at < 143);
        if (!unread) /* not the metaindex, its handle or the footer's padding */
            assert_int_equal(status.code, STATUS_DATA_LOSS);
        if (status_is_ok(status))
            bundle_close(bundle);
    }
}

static void no_checkpoint_at_all_is_not_found(void **state)
{
    (void)state;
    struct bundle *bundle;
    assert_fails_naming(
        bundle_open(in("none"), &bundle), STATUS_NOT_FOUND,
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for");
}

static void real_bundles_are_read_and_verified(void **state)
{
    (void)state;
    const char *models = models_directory();
    if (models == NULL)
        skip();
    glob_t found = { 0 };
    for (int depth = 0; depth < 6; depth++) {
        char pattern[4096];
        snprintf(pattern, sizeof pattern, "%s/%.*svariables.index", models, 2 * depth,
                 "*/*/*/*/*/*/");
        glob(pattern, depth ? GLOB_APPEND : 0, NULL, &found);
    }
    assert_true(found.gl_pathc >= 60);
    size_t tensors = 0, bytes = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *prefix = arena_strdup(arena, found.gl_pathv[i]);
        prefix[strlen(prefix) - strlen(".index")] = '\0';
        struct bundle *bundle;
        assert_ok(bundle_open(prefix, &bundle));
        for (size_t k = 0; k < bundle_count(bundle); k++) {
            struct tensor tensor;
            assert_ok(bundle_read(bundle, bundle_at(bundle, k)->name, &tensor));
            bytes += tensor_bytes(&tensor);
            tensors++;
            tensor_release(&tensor);
        }
        bundle_close(bundle);
    }
    print_message("%zu bundles, %zu tensors, %zu bytes\n", (size_t)found.gl_pathc, tensors, bytes);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(three_scalars_are_written_as_tensorflow_writes_them),
        TEST_IN_DIRECTORY(a_large_tensor_is_read_chunk_by_chunk),
        TEST_IN_DIRECTORY(large_expected_tensors_lie_in_a_block),
        TEST_IN_DIRECTORY(strings_are_written_as_tensorflow_writes_them),
        TEST_IN_DIRECTORY(numbers_come_back_in_any_order_of_writing),
        TEST_IN_DIRECTORY(a_piece_too_many_or_too_few_is_refused),
        TEST_IN_DIRECTORY(a_name_twice_is_refused_and_leaves_nothing),
        TEST_IN_DIRECTORY(restoring_checks_name_type_and_shape),
        TEST_IN_DIRECTORY(damage_is_found_per_tensor),
        TEST_IN_DIRECTORY(a_bool_of_value_2_is_data_loss),
        TEST_IN_DIRECTORY(every_prefix_of_the_index_is_data_loss),
        TEST_IN_DIRECTORY(every_flipped_byte_of_the_index_is_noticed_or_harmless),
        TEST_IN_DIRECTORY(no_checkpoint_at_all_is_not_found),
        TEST_IN_DIRECTORY(real_bundles_are_read_and_verified),
    };
    return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
