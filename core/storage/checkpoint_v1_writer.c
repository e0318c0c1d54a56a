#include "storage/checkpoint_v1_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "storage/slice.h"
#include "storage/table_writer.h"
#include "tensor/tensor_proto.h"

#define STRINGS_BYTES_MAX ((size_t)1 << 30)

struct checkpoint_v1_writer {
    char *path;
    const struct checkpoint_v1_tensor *tensors;
    size_t count, current;
    struct file_writer file;
    struct table_writer table;
    struct arena *scratch; /* of one slice */
    struct buffer slice;   /* elements buffered until the slice is full */
    int64_t row;           /* start of the slice in the current tensor */
    uint64_t expected;     /* bytes of the current tensor that are still missing */
};

static bool has_type(enum dtype dtype)
{
    static const enum dtype types[] = {
        DT_FLOAT, DT_DOUBLE, DT_HALF, DT_INT8,   DT_INT16,     DT_INT32,      DT_INT64,
        DT_UINT8, DT_UINT16, DT_BOOL, DT_STRING, DT_COMPLEX64, DT_COMPLEX128,
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i] == dtype)
            return true;
    }
    return false;
}

/* ---- slices ---- */

static uint64_t bytes_of_tensor(const struct checkpoint_v1_tensor *tensor)
{
    return (uint64_t)shape_size(&tensor->shape) * dtype_file_size(tensor->dtype);
}

/* Rows in each slice but the last; 0: the tensor is stored whole. */
static int64_t rows_per_slice(const struct checkpoint_v1_tensor *tensor)
{
    uint64_t size = bytes_of_tensor(tensor);
    if (size <= CHECKPOINT_V1_SLICE_BYTES)
        return 0;
    uint64_t row_bytes = size / (uint64_t)tensor->shape.dims[0];
    uint64_t rows = CHECKPOINT_V1_SLICE_BYTES / row_bytes;
    return rows > 0 ? (int64_t)rows : 1;
}

/* The slice that begins at this row. */
static struct tensor_slice slice_at(const struct checkpoint_v1_tensor *tensor, int64_t row)
{
    struct tensor_slice slice = slice_whole(tensor->shape.rank);
    int64_t rows = rows_per_slice(tensor);
    if (rows > 0) {
        int64_t left = tensor->shape.dims[0] - row;
        slice.start[0] = row;
        slice.length[0] = rows < left ? rows : left;
    }
    return slice;
}

static Tensorflow__TensorSliceProto *slice_to_proto(const struct tensor_slice *slice,
                                                    struct arena *arena)
{
    Tensorflow__TensorSliceProto *proto =
        PROTO_NEW(arena, Tensorflow__TensorSliceProto, tensorflow__tensor_slice_proto);
    proto->n_extent = (size_t)slice->rank;
    proto->extent = ARENA_ARRAY(arena, Tensorflow__TensorSliceProto__Extent *, slice->rank);
    for (int i = 0; i < slice->rank; i++) {
        Tensorflow__TensorSliceProto__Extent *extent = PROTO_NEW(
            arena, Tensorflow__TensorSliceProto__Extent, tensorflow__tensor_slice_proto__extent);
        if (slice->length[i] != SLICE_WHOLE) {
            extent->start = slice->start[i];
            extent->has_length_case = TENSORFLOW__TENSOR_SLICE_PROTO__EXTENT__HAS_LENGTH_LENGTH;
            extent->length = slice->length[i];
        }
        proto->extent[i] = extent;
    }
    return proto;
}

/* ---- the table ---- */

static struct status add_message(struct checkpoint_v1_writer *writer, struct bytes key,
                                 const Tensorflow__SavedTensorSlices *message)
{
    struct buffer packed = { 0 };
    proto_pack(message, &packed);
    struct status status =
        table_writer_add(&writer->table, key, (struct bytes){ packed.data, packed.size });
    buffer_finish(&packed);
    return status;
}

static Tensorflow__SavedSliceMeta *tensor_meta(const struct checkpoint_v1_tensor *tensor,
                                               struct arena *arena)
{
    Tensorflow__SavedSliceMeta *meta =
        PROTO_NEW(arena, Tensorflow__SavedSliceMeta, tensorflow__saved_slice_meta);
    int64_t rows = rows_per_slice(tensor);
    size_t slices = rows > 0 ? (size_t)((tensor->shape.dims[0] + rows - 1) / rows) : 1;
    meta->name = (char *)tensor->name;
    meta->shape = shape_to_proto(&tensor->shape, arena);
    meta->type = (Tensorflow__DataType)tensor->dtype;
    meta->slice = ARENA_ARRAY(arena, Tensorflow__TensorSliceProto *, slices);
    for (; meta->n_slice < slices; meta->n_slice++) {
        struct tensor_slice slice = slice_at(tensor, (int64_t)meta->n_slice * rows);
        meta->slice[meta->n_slice] = slice_to_proto(&slice, arena);
    }
    return meta;
}

static struct status write_list(struct checkpoint_v1_writer *writer)
{
    struct arena *scratch = writer->scratch;
    Tensorflow__VersionDef versions = TENSORFLOW__VERSION_DEF__INIT;
    Tensorflow__SavedTensorSliceMeta list = TENSORFLOW__SAVED_TENSOR_SLICE_META__INIT;
    Tensorflow__SavedTensorSlices message = TENSORFLOW__SAVED_TENSOR_SLICES__INIT;

    versions.producer = 1;
    list.versions = &versions;
    list.tensor = ARENA_ARRAY(scratch, Tensorflow__SavedSliceMeta *, writer->count);
    for (; list.n_tensor < writer->count; list.n_tensor++)
        list.tensor[list.n_tensor] = tensor_meta(&writer->tensors[list.n_tensor], scratch);
    message.meta = &list;
    struct status status = add_message(writer, (struct bytes){ "", 0 }, &message);
    arena_reset(scratch);
    return status;
}

/* `values` has the shape of the slice. */
static struct status write_slice(struct checkpoint_v1_writer *writer,
                                 const struct tensor_slice *slice, const struct tensor *values)
{
    const struct checkpoint_v1_tensor *tensor = &writer->tensors[writer->current];
    Tensorflow__SavedSlice saved = TENSORFLOW__SAVED_SLICE__INIT;
    Tensorflow__SavedTensorSlices message = TENSORFLOW__SAVED_TENSOR_SLICES__INIT;
    struct buffer key = { 0 };

    saved.name = (char *)tensor->name;
    saved.slice = slice_to_proto(slice, writer->scratch);
    saved.data = tensor_to_values(values, writer->scratch);
    message.data = &saved;
    slice_key(bytes_of(tensor->name), slice, &key);
    struct status status = add_message(writer, (struct bytes){ key.data, key.size }, &message);
    buffer_finish(&key);
    arena_reset(writer->scratch);
    return status;
}

/* ---- the tensors ---- */

static void begin_tensor(struct checkpoint_v1_writer *writer)
{
    writer->row = 0;
    writer->slice.size = 0;
    if (writer->current < writer->count)
        writer->expected = bytes_of_tensor(&writer->tensors[writer->current]);
}

static size_t slice_bytes(const struct checkpoint_v1_tensor *tensor, struct shape *shape,
                          const struct tensor_slice *slice)
{
    *shape = tensor->shape;
    if (shape->rank > 0 && slice->length[0] != SLICE_WHOLE)
        shape->dims[0] = slice->length[0];
    return (size_t)shape_size(shape) * dtype_file_size(tensor->dtype);
}

static struct status flush_slice(struct checkpoint_v1_writer *writer)
{
    const struct checkpoint_v1_tensor *tensor = &writer->tensors[writer->current];
    struct tensor_slice slice = slice_at(tensor, writer->row);
    struct shape shape;
    slice_bytes(tensor, &shape, &slice);
    struct tensor values = tensor_borrow(tensor->dtype, &shape, writer->slice.data);
    TRY(write_slice(writer, &slice, &values));
    writer->row += rows_per_slice(tensor);
    writer->slice.size = 0;
    return status_ok();
}

struct status checkpoint_v1_writer_append(struct checkpoint_v1_writer *writer, const void *data,
                                          size_t size)
{
    assert(writer->current < writer->count);
    const struct checkpoint_v1_tensor *tensor = &writer->tensors[writer->current];
    assert(tensor->dtype != DT_STRING);
    if (size > writer->expected)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' of type %s and shape %s has %" PRIu64
                            " bytes, %zu more came",
                            tensor->name, dtype_name(tensor->dtype), shape_text(&tensor->shape),
                            bytes_of_tensor(tensor), size - (size_t)writer->expected);
    writer->expected -= size;
    while (size > 0) {
        struct shape shape;
        struct tensor_slice slice = slice_at(tensor, writer->row);
        size_t whole = slice_bytes(tensor, &shape, &slice);
        size_t part = whole - writer->slice.size < size ? whole - writer->slice.size : size;
        buffer_append(&writer->slice, data, part);
        data = (const char *)data + part;
        size -= part;
        if (writer->slice.size == whole)
            TRY(flush_slice(writer));
    }
    return status_ok();
}

struct status checkpoint_v1_writer_end(struct checkpoint_v1_writer *writer)
{
    assert(writer->current < writer->count);
    const struct checkpoint_v1_tensor *tensor = &writer->tensors[writer->current];
    if (writer->expected > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' of type %s and shape %s lacks %" PRIu64 " of its bytes",
                            tensor->name, dtype_name(tensor->dtype), shape_text(&tensor->shape),
                            writer->expected);
    if (bytes_of_tensor(tensor) == 0)
        TRY(flush_slice(writer));
    writer->current++;
    begin_tensor(writer);
    return status_ok();
}

/* Strings are one slice, which must stay below protobuf's limit. */
static struct status check_characters(const char *name, const struct tensor *tensor)
{
    size_t total = 0;
    for (int64_t i = 0; i < tensor->size; i++)
        total += tensor_strings(tensor)[i].size + VARINT_MAX;
    if (total <= STRINGS_BYTES_MAX)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "tensor '%s': its strings have %zu bytes, a checkpoint of format V1 holds "
                        "at most %zu of a tensor",
                        name, total, (size_t)STRINGS_BYTES_MAX);
}

struct status checkpoint_v1_writer_add(struct checkpoint_v1_writer *writer,
                                       const struct tensor *tensor)
{
    assert(writer->current < writer->count);
    const struct checkpoint_v1_tensor *declared = &writer->tensors[writer->current];
    if (tensor->dtype != declared->dtype || !shape_equal(&tensor->shape, &declared->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' was declared %s %s, its value is %s %s", declared->name,
                            dtype_name(declared->dtype), shape_text(&declared->shape),
                            dtype_name(tensor->dtype), shape_text(&tensor->shape));
    if (tensor->dtype != DT_STRING) {
        TRY(checkpoint_v1_writer_append(writer, tensor->data, tensor_bytes(tensor)));
        return checkpoint_v1_writer_end(writer);
    }
    struct tensor_slice whole = slice_whole(tensor->shape.rank);
    TRY(check_characters(declared->name, tensor));
    TRY(write_slice(writer, &whole, tensor));
    writer->current++;
    begin_tensor(writer);
    return status_ok();
}

/* ---- opening and closing ---- */

static struct status check_tensors(const struct checkpoint_v1_tensor *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct checkpoint_v1_tensor *tensor = &tensors[i];
        if (tensor->name[0] == '\0')
            return status_error(STATUS_INVALID_ARGUMENT, "a tensor of a checkpoint needs a name");
        if (i > 0 && strcmp(tensors[i - 1].name, tensor->name) >= 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "tensor '%s' comes after '%s': each name once, in order of names",
                                tensor->name, tensors[i - 1].name);
        if (!has_type(tensor->dtype))
            return status_error(STATUS_UNIMPLEMENTED,
                                "tensor '%s' of type %s: checkpoints of format V1 have no such "
                                "type",
                                tensor->name, dtype_name(tensor->dtype));
        if (rows_per_slice(tensor) == 1 &&
            bytes_of_tensor(tensor) / (uint64_t)tensor->shape.dims[0] > CHECKPOINT_V1_ROW_BYTES)
            return status_error(STATUS_UNIMPLEMENTED,
                                "tensor '%s' of shape %s: a row has more than %zu bytes, which a "
                                "checkpoint of format V1 cannot hold",
                                tensor->name, shape_text(&tensor->shape),
                                (size_t)CHECKPOINT_V1_ROW_BYTES);
    }
    return status_ok();
}

struct status checkpoint_v1_writer_open(const char *path,
                                        const struct checkpoint_v1_tensor *tensors, size_t count,
                                        struct checkpoint_v1_writer **out)
{
    struct file_writer file;
    TRY(check_tensors(tensors, count));
    struct arena *scratch = arena_create(0);
    struct status status = file_writer_open(file_beside(scratch, path), &file);
    if (!status_is_ok(status)) {
        arena_destroy(scratch);
        return status;
    }
    arena_reset(scratch);
    struct checkpoint_v1_writer *writer = zalloc(sizeof *writer);
    writer->path = xstrdup(path);
    writer->tensors = tensors;
    writer->count = count;
    writer->file = file;
    writer->scratch = scratch;
    table_writer_init(&writer->table, &writer->file);
    begin_tensor(writer);
    status = write_list(writer);
    if (!status_is_ok(status)) {
        checkpoint_v1_writer_abandon(writer);
        return status;
    }
    *out = writer;
    return status_ok();
}

static struct status finish(struct checkpoint_v1_writer *writer)
{
    if (writer->current < writer->count)
        return status_error(STATUS_INVALID_ARGUMENT, "tensor '%s' is missing",
                            writer->tensors[writer->current].name);
    TRY(table_writer_end(&writer->table));
    char *beside = arena_strdup(writer->scratch, writer->file.path);
    TRY(file_writer_finish(&writer->file));
    struct status status = file_rename(beside, writer->path);
    if (!status_is_ok(status))
        unlink(beside);
    return status;
}

struct status checkpoint_v1_writer_commit(struct checkpoint_v1_writer *writer)
{
    struct status status = finish(writer);
    checkpoint_v1_writer_abandon(writer);
    return status;
}

void checkpoint_v1_writer_abandon(struct checkpoint_v1_writer *writer)
{
    if (writer == NULL)
        return;
    table_writer_finish(&writer->table);
    file_writer_abandon(&writer->file);
    buffer_finish(&writer->slice);
    arena_destroy(writer->scratch);
    free(writer->path);
    free(writer);
}
