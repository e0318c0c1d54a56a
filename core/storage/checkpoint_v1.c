/*
 * Checkpoints of format V1: one table per file, which contains the values.
 *
 *     key ""         SavedTensorSlices {meta}: each tensor's shape and type, and the slices that
 *                    this file contains
 *     key of slice   SavedTensorSlices {data}: name, slice, values in the list of their type
 */
#include <glob.h>
#include <stdlib.h>

#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "storage/bundle_index.h"
#include "storage/table.h"
#include "tensor/tensor_proto.h"

#define FILES_MAX 100000

static struct status not_found(const char *prefix)
{
    return status_error(STATUS_NOT_FOUND,
                        "Unsuccessful TensorSliceReader constructor: Failed to find any matching "
                        "files for %s",
                        prefix);
}

/* Reads the value of exactly this key as a message. */
static struct status get_saved(const struct table *table, struct bytes key, struct arena *arena,
                               Tensorflow__SavedTensorSlices **out)
{
    struct table_cursor cursor;
    bool found;
    table_cursor_init(&cursor, table);
    struct status status = table_cursor_seek(&cursor, key, &found);
    if (status_is_ok(status) && (!found || !bytes_equal(table_cursor_key(&cursor), key)))
        status = status_error(STATUS_DATA_LOSS, "%s is missing",
                              key.size == 0 ? "its header" : "a slice that its header lists");
    if (status_is_ok(status))
        status = proto_unpack(&tensorflow__saved_tensor_slices__descriptor,
                              table_cursor_value(&cursor), arena, out);
    table_cursor_finish(&cursor);
    return status.code == STATUS_INTERNAL ? status_error(STATUS_DATA_LOSS, "%s", status.message)
                                          : status;
}

static struct status get(const struct table *table, struct bytes key, struct arena *arena,
                         Tensorflow__SavedTensorSlices **out)
{
    return status_in(get_saved(table, key, arena, out), "checkpoint file '%s'", table_path(table));
}

static struct bundle_piece *piece_of(struct bundle *bundle, const char *name)
{
    struct bundle_piece *piece = map_get_text(&bundle->by_key, name);
    if (piece != NULL)
        return piece;
    piece = ARENA_NEW(bundle->arena, struct bundle_piece);
    piece->entry.name = arena_strdup(bundle->arena, name);
    piece->entry.dtype = DT_INVALID;
    map_put_text(&bundle->by_key, piece->entry.name, piece);
    return piece;
}

/* Adds one tensor of a file's meta; other files may have other slices of it. */
static struct status merge(struct bundle *bundle, const Tensorflow__SavedSliceMeta *meta, int file)
{
    struct shape shape = shape_scalar();
    enum dtype dtype = dtype_base((int)meta->type);
    if (meta->shape != NULL)
        TRY(shape_from_proto(meta->shape, &shape));
    if (dtype == DT_INVALID || !shape_is_known(&shape) || meta->name[0] == '\0')
        return status_error(STATUS_DATA_LOSS,
                            "type %d and shape %s: both must be known, and the name not empty",
                            (int)meta->type, shape_text(&shape));
    TRY(shape_check(shape.rank, shape.dims, &shape));

    struct bundle_piece *piece = piece_of(bundle, meta->name);
    if (piece->entry.dtype == DT_INVALID) {
        piece->entry.dtype = dtype;
        piece->entry.shape = shape;
    } else if (piece->entry.dtype != dtype || !shape_equal(&piece->entry.shape, &shape)) {
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s of shape %s here, %s of shape %s in an earlier file",
                            dtype_name(dtype), shape_text(&shape), dtype_name(piece->entry.dtype),
                            shape_text(&piece->entry.shape));
    }
    size_t count = piece->slices_count + meta->n_slice;
    struct tensor_slice *slices = ARENA_ARRAY(bundle->arena, struct tensor_slice, count);
    int *shards = ARENA_ARRAY(bundle->arena, int, count);
    for (size_t i = 0; i < piece->slices_count; i++) {
        slices[i] = piece->slices[i];
        shards[i] = piece->slices_shards[i];
    }
    for (size_t i = piece->slices_count; i < count; i++) {
        struct tensor_slice resolved;
        TRY(slice_from_proto(meta->slice[i - piece->slices_count], &slices[i]));
        TRY(slice_resolve(&slices[i], &shape, &resolved));
        shards[i] = file;
    }
    piece->slices = slices;
    piece->slices_shards = shards;
    piece->slices_count = count;
    return status_ok();
}

static struct status open_file(struct bundle *bundle, const char *path, int file)
{
    struct arena *scratch = arena_create(0);
    Tensorflow__SavedTensorSlices *header;
    struct status status;
    TRY_OR(done, status_in(table_open(path, &bundle->tables[file]), "checkpoint file '%s'", path));
    TRY_OR(done, get(bundle->tables[file], (struct bytes){ "", 0 }, scratch, &header));
    for (size_t i = 0; header->meta != NULL && i < header->meta->n_tensor; i++)
        TRY_OR(done,
               status_in(merge(bundle, header->meta->tensor[i], file),
                         "checkpoint file '%s': tensor '%s'", path, header->meta->tensor[i]->name));
done:
    arena_destroy(scratch);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct bundle_piece *const *x = a, *const *y = b;
    return bytes_compare(bytes_of((*x)->entry.name), bytes_of((*y)->entry.name));
}

static struct status open_files(struct bundle *bundle, const glob_t *found)
{
    bundle->shards_count = (int)found->gl_pathc;
    bundle->tables = ARENA_ARRAY(bundle->arena, struct table *, found->gl_pathc);
    for (int i = 0; i < bundle->shards_count; i++)
        TRY(open_file(bundle, found->gl_pathv[i], i));
    bundle->count = bundle->by_key.count;
    bundle->pieces = zalloc((bundle->count + 1) * sizeof *bundle->pieces);
    for (size_t i = 0; i < bundle->count; i++)
        bundle->pieces[i] = bundle->by_key.entries[i].value;
    qsort(bundle->pieces, bundle->count, sizeof *bundle->pieces, by_name);
    return status_ok();
}

/* Only the last component of a prefix is a pattern; the directory is literal. */
static char *pattern_of(struct arena *arena, const char *prefix)
{
    const char *name = strrchr(prefix, '/');
    size_t directory = name == NULL ? 0 : (size_t)(name + 1 - prefix), at = 0;
    char *pattern = arena_alloc(arena, 2 * strlen(prefix) + 1);
    for (size_t i = 0; prefix[i] != '\0'; i++) {
        if (i < directory && strchr("*?[\\", prefix[i]) != NULL)
            pattern[at++] = '\\';
        pattern[at++] = prefix[i];
    }
    return pattern;
}

struct status checkpoint_v1_open(struct bundle *bundle)
{
    glob_t found = { 0 };
    if (glob(pattern_of(bundle->arena, bundle->prefix), 0, NULL, &found) != 0 ||
        found.gl_pathc == 0 || file_is_directory(found.gl_pathv[0])) {
        globfree(&found);
        return not_found(bundle->prefix);
    }
    struct status status = found.gl_pathc > FILES_MAX
                               ? status_error(STATUS_RESOURCE_EXHAUSTED, "'%s' names %zu files",
                                              bundle->prefix, (size_t)found.gl_pathc)
                               : open_files(bundle, &found);
    globfree(&found);
    return status;
}

/* A constant of a graph may be shorter than its shape: its last value then repeats. A slice of a
 * checkpoint may not. */
static struct status check_values(const Tensorflow__TensorProto *values, enum dtype dtype,
                                  const struct shape *shape)
{
    size_t count = tensor_values_count(values, dtype);
    if (values->tensor_content.len == 0 && count == (size_t)shape_size(shape))
        return status_ok();
    return status_error(STATUS_DATA_LOSS, "a slice of type %s and shape %s with %zu values",
                        dtype_name(dtype), shape_text(shape), count);
}

struct status checkpoint_v1_read_slice(const struct bundle *bundle,
                                       const struct bundle_piece *piece, size_t slice_index,
                                       struct tensor *out)
{
    struct arena *scratch = arena_create(0);
    struct buffer key = { 0 };
    Tensorflow__SavedTensorSlices *saved;
    struct tensor_slice resolved;
    struct tensor borrowed = { 0 };
    struct status status;
    slice_key(bytes_of(piece->entry.name), &piece->slices[slice_index], &key);
    TRY_OR(done, get(bundle->tables[piece->slices_shards[slice_index]],
                     (struct bytes){ key.data, key.size }, scratch, &saved));
    if (saved->data == NULL || saved->data->data == NULL) {
        status = status_error(STATUS_DATA_LOSS, "checkpoint file '%s': slice %s has no values",
                              table_path(bundle->tables[piece->slices_shards[slice_index]]),
                              slice_text(&piece->slices[slice_index]));
        goto done;
    }
    /* The values have neither type nor shape; the meta has them. */
    TRY_OR(done, slice_resolve(&piece->slices[slice_index], &piece->entry.shape, &resolved));
    struct shape shape = slice_shape(&resolved);
    TRY_OR(done, check_values(saved->data->data, piece->entry.dtype, &shape));
    saved->data->data->dtype = (Tensorflow__DataType)piece->entry.dtype;
    saved->data->data->tensor_shape = shape_to_proto(&shape, scratch);
    TRY_OR(done, tensor_from_proto(saved->data->data, scratch, &borrowed));
    if (borrowed.dtype == DT_STRING)
        status = tensor_copy_deep(&borrowed, out);
    else
        *out = tensor_acquire(&borrowed);
done:
    tensor_release(&borrowed);
    buffer_finish(&key);
    arena_destroy(scratch);
    return status;
}
