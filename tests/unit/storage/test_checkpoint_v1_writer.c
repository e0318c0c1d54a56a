/* The bytes of the golden file are TensorFlow's: tests/golden/bundle/make_bundles.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "proto/tensor.pb-c.h"
#include "storage/bundle.h"
#include "storage/checkpoint_v1_writer.h"
#include "storage/slice.h"
#include "storage/table_writer.h"
#include "support/directory.h"
#include "tensor/tensor_proto.h"

#define GOLDEN "tests/golden/bundle/v1_types"

static void every_type_has_tensorflows_bytes(void **state)
{
    (void)state;
    struct bundle *bundle;
    struct checkpoint_v1_writer *writer;
    assert_ok(bundle_open(GOLDEN, &bundle));
    size_t count = bundle_count(bundle);
    assert_int_equal(count, 27);
    struct checkpoint_v1_tensor *tensors = ARENA_ARRAY(arena, struct checkpoint_v1_tensor, count);
    for (size_t i = 0; i < count; i++) {
        const struct bundle_entry *entry = bundle_at(bundle, i);
        tensors[i] = (struct checkpoint_v1_tensor){ entry->name, entry->dtype, entry->shape };
    }
    assert_ok(checkpoint_v1_writer_open(in("types"), tensors, count, &writer));
    for (size_t i = 0; i < count; i++) {
        struct tensor tensor;
        assert_ok(bundle_read(bundle, tensors[i].name, &tensor));
        assert_ok(checkpoint_v1_writer_add(writer, &tensor));
        tensor_release(&tensor);
    }
    assert_ok(checkpoint_v1_writer_commit(writer));
    bundle_close(bundle);
    assert_same_file(in("types"), GOLDEN);
}

/* 70 MiB and a little: two slices, in chunks that do not end where the slices do. */
static void a_large_tensor_is_cut_by_rows(void **state)
{
    (void)state;
    enum { COLUMNS = 1031, ROWS = 17800, CHUNK = 999999 };
    const struct checkpoint_v1_tensor tensors[] = {
        { "large", DT_FLOAT, shape_of(ROWS, COLUMNS) },
        { "small", DT_FLOAT, shape_scalar() },
    };
    struct shape shape = shape_of(ROWS, COLUMNS);
    struct checkpoint_v1_writer *writer;
    struct bundle *bundle;
    struct tensor value, read;
    assert_ok(tensor_create(DT_FLOAT, &shape, &value));
    for (int64_t i = 0; i < value.size; i++)
        tensor_floats_mut(&value)[i] = (float)i;
    assert_true(tensor_bytes(&value) > CHECKPOINT_V1_SLICE_BYTES);

    assert_ok(checkpoint_v1_writer_open(in("large"), tensors, 2, &writer));
    for (size_t at = 0; at < tensor_bytes(&value); at += CHUNK) {
        size_t left = tensor_bytes(&value) - at;
        assert_ok(checkpoint_v1_writer_append(writer, (char *)value.data + at,
                                              left < CHUNK ? left : CHUNK));
    }
    assert_ok(checkpoint_v1_writer_end(writer));
    assert_ok(checkpoint_v1_writer_append(writer, &(float){ 7 }, sizeof(float)));
    assert_ok(checkpoint_v1_writer_end(writer));
    assert_ok(checkpoint_v1_writer_commit(writer));

    assert_ok(bundle_open(in("large"), &bundle));
    assert_ok(bundle_read(bundle, "large", &read));
    assert_memory_equal(read.data, value.data, tensor_bytes(&value));
    tensor_release(&read);
    assert_ok(bundle_read(bundle, "small", &read));
    assert_true(tensor_floats(&read)[0] == 7);
    tensor_release(&read);
    tensor_release(&value);
    bundle_close(bundle);
}

static void what_does_not_fit_is_refused_by_name(void **state)
{
    (void)state;
    const struct {
        struct checkpoint_v1_tensor tensors[2];
        enum status_code code;
        const char *text;
    } rows[] = {
        { { { "", DT_FLOAT, shape_scalar() }, { "b", DT_FLOAT, shape_scalar() } },
          STATUS_INVALID_ARGUMENT,
          "needs a name" },
        { { { "b", DT_FLOAT, shape_scalar() }, { "a", DT_FLOAT, shape_scalar() } },
          STATUS_INVALID_ARGUMENT,
          "'a' comes after 'b'" },
        { { { "a", DT_FLOAT, shape_scalar() }, { "a", DT_FLOAT, shape_scalar() } },
          STATUS_INVALID_ARGUMENT,
          "each name once" },
        { { { "a", DT_FLOAT, shape_scalar() }, { "b", DT_BFLOAT16, shape_scalar() } },
          STATUS_UNIMPLEMENTED,
          "'b' of type bfloat16" },
        { { { "a", DT_UINT64, shape_scalar() }, { "b", DT_FLOAT, shape_scalar() } },
          STATUS_UNIMPLEMENTED,
          "'a' of type uint64" },
        { { { "a", DT_DOUBLE, shape_of(3, 1 << 25) }, { "b", DT_FLOAT, shape_scalar() } },
          STATUS_UNIMPLEMENTED,
          "a row has more than" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct checkpoint_v1_writer *writer;
        assert_fails_naming(checkpoint_v1_writer_open(in("refused"), rows[i].tensors, 2, &writer),
                            rows[i].code, rows[i].text);
        assert_false(file_exists(in("refused")));
    }
}

static void wrong_sizes_leave_no_file(void **state)
{
    (void)state;
    const struct checkpoint_v1_tensor tensors[] = { { "a", DT_INT32, shape_of(2) },
                                                    { "b", DT_STRING, shape_scalar() } };
    const int32_t three[3] = { 1, 2, 3 };
    struct checkpoint_v1_writer *writer;
    const struct shape scalar = shape_scalar();
    struct tensor number = tensor_borrow(DT_INT32, &scalar, three);
    assert_ok(checkpoint_v1_writer_open(in("sizes"), tensors, 2, &writer));
    assert_fails_naming(checkpoint_v1_writer_append(writer, three, 12), STATUS_INVALID_ARGUMENT,
                        "tensor 'a' of type int32 and shape [2] has 8 bytes, 4 more came");
    assert_ok(checkpoint_v1_writer_append(writer, three, 4));
    assert_fails_naming(checkpoint_v1_writer_end(writer), STATUS_INVALID_ARGUMENT, "lacks 4");
    assert_ok(checkpoint_v1_writer_append(writer, three, 4));
    assert_ok(checkpoint_v1_writer_end(writer));
    assert_fails_naming(checkpoint_v1_writer_add(writer, &number), STATUS_INVALID_ARGUMENT,
                        "tensor 'b' was declared string []");
    assert_fails_naming(checkpoint_v1_writer_commit(writer), STATUS_INVALID_ARGUMENT,
                        "tensor 'b' is missing");
    struct file_list files;
    assert_ok(file_list(directory, arena, &files));
    assert_int_equal(files.count, 0);
}

static void put_message(struct table_writer *table, struct bytes key,
                        const Tensorflow__SavedTensorSlices *message)
{
    struct buffer packed = { 0 };
    proto_pack(message, &packed);
    assert_ok(table_writer_add(table, key, (struct bytes){ packed.data, packed.size }));
    buffer_finish(&packed);
}

/* Writes "w" of shape [4], whose slice holds `count` values. */
static void write_short_slice(const char *path, size_t count)
{
    float values[4] = { 1, 2, 3, 4 };
    const struct shape four = shape_of(4);
    const struct tensor_slice whole = slice_whole(1);
    Tensorflow__TensorSliceProto__Extent extent = TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__INIT;
    Tensorflow__TensorSliceProto slice = TENSORFLOW__TENSOR_SLICE_PROTO__INIT, *slices = &slice;
    Tensorflow__SavedSliceMeta meta = TENSORFLOW__SAVED_SLICE_META__INIT, *metas = &meta;
    Tensorflow__SavedTensorSliceMeta list = TENSORFLOW__SAVED_TENSOR_SLICE_META__INIT;
    Tensorflow__TensorProto data = TENSORFLOW__TENSOR_PROTO__INIT;
    Tensorflow__SavedSlice saved = TENSORFLOW__SAVED_SLICE__INIT;
    Tensorflow__SavedTensorSlices first = TENSORFLOW__SAVED_TENSOR_SLICES__INIT, second = first;
    struct table_writer table;
    struct file_writer file;
    struct buffer key = { 0 };

    slice.n_extent = 1;
    slice.extent = (Tensorflow__TensorSliceProto__Extent *[]){ &extent };
    meta.name = saved.name = (char *)"w";
    meta.shape = shape_to_proto(&four, arena);
    meta.type = TENSORFLOW__DATA_TYPE__DT_FLOAT;
    meta.n_slice = 1;
    meta.slice = &slices;
    list.n_tensor = 1;
    list.tensor = &metas;
    first.meta = &list;
    data.n_float_val = count;
    data.float_val = values;
    saved.slice = &slice;
    saved.data = &data;
    second.data = &saved;
    slice_key(bytes_of("w"), &whole, &key);
    assert_ok(file_writer_open(path, &file));
    table_writer_init(&table, &file);
    put_message(&table, (struct bytes){ "", 0 }, &first);
    put_message(&table, (struct bytes){ key.data, key.size }, &second);
    assert_ok(table_writer_end(&table));
    assert_ok(file_writer_finish(&file));
    file_writer_abandon(&file);
    table_writer_finish(&table);
    buffer_finish(&key);
}

/* A constant may be shorter than its shape: its last value repeats. A slice may not. */
static void a_slice_with_too_few_values_is_data_loss(void **state)
{
    (void)state;
    struct bundle *bundle;
    struct tensor tensor;
    write_short_slice(in("whole"), 4);
    assert_ok(bundle_open(in("whole"), &bundle));
    assert_ok(bundle_read(bundle, "w", &tensor));
    tensor_release(&tensor);
    bundle_close(bundle);
    for (size_t count = 0; count < 4; count++) {
        const char *path = in(arena_printf(arena, "short%zu", count));
        write_short_slice(path, count);
        assert_ok(bundle_open(path, &bundle));
        assert_fails_naming(bundle_read(bundle, "w", &tensor), STATUS_DATA_LOSS,
                            "a slice of type float and shape [4] with");
        bundle_close(bundle);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(every_type_has_tensorflows_bytes),
        TEST_IN_DIRECTORY(a_large_tensor_is_cut_by_rows),
        TEST_IN_DIRECTORY(what_does_not_fit_is_refused_by_name),
        TEST_IN_DIRECTORY(wrong_sizes_leave_no_file),
        TEST_IN_DIRECTORY(a_slice_with_too_few_values_is_data_loss),
    };
    return cmocka_run_group_tests_name("checkpoint_v1_writer", tests, NULL, NULL);
}
