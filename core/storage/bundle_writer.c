#include "storage/bundle_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "storage/bundle_index.h"
#include "storage/table_writer.h"
#include "tensor/tensor_proto.h"

struct written {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    uint64_t offset, size, expected; /* expected: UINT64_MAX for strings */
    uint32_t crc;
};

struct bundle_writer {
    struct arena *arena;
    char *prefix, *data_path;
    struct file_writer data;
    struct written *entries;
    size_t count, capacity;
    bool in_tensor; /* between begin and end of the last entry */
};

struct status bundle_writer_open(const char *prefix, struct bundle_writer **out)
{
    struct arena *arena = arena_create(0);
    char *data_path = bundle_shard_path(arena, prefix, 0, 1);
    struct file_writer data;
    struct status status = file_writer_open(file_beside(arena, data_path), &data);
    if (!status_is_ok(status)) {
        arena_destroy(arena);
        return status;
    }
    struct bundle_writer *writer = zalloc(sizeof *writer);
    writer->arena = arena;
    writer->prefix = arena_strdup(arena, prefix);
    writer->data_path = data_path;
    writer->data = data;
    *out = writer;
    return status_ok();
}

void bundle_writer_bypass_cache(struct bundle_writer *writer)
{
    file_writer_bypass_cache(&writer->data);
}

static struct status begin(struct bundle_writer *writer, const char *name, enum dtype dtype,
                           const struct shape *shape, uint64_t expected)
{
    assert(!writer->in_tensor);
    if (name[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "a tensor of a checkpoint needs a name");
    if (writer->count == writer->capacity) {
        writer->capacity = writer->capacity ? 2 * writer->capacity : 32;
        writer->entries = xrealloc(writer->entries, writer->capacity * sizeof *writer->entries);
    }
    writer->entries[writer->count++] = (struct written){ .name = arena_strdup(writer->arena, name),
                                                         .dtype = dtype,
                                                         .shape = *shape,
                                                         .offset = writer->data.offset,
                                                         .expected = expected };
    writer->in_tensor = true;
    return status_ok();
}

struct status bundle_writer_begin(struct bundle_writer *writer, const char *name, enum dtype dtype,
                                  const struct shape *shape)
{
    size_t element = dtype_file_size(dtype);
    if (element == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' of type %s cannot be written in pieces", name,
                            dtype_name(dtype));
    uint64_t expected;
    if (__builtin_mul_overflow((uint64_t)shape_size(shape), element, &expected))
        return status_error(STATUS_INVALID_ARGUMENT, "tensor '%s' of shape %s is too large", name,
                            shape_text(shape));
    return begin(writer, name, dtype, shape, expected);
}

struct status bundle_writer_append(struct bundle_writer *writer, const void *data, size_t size)
{
    assert(writer->in_tensor);
    struct written *entry = &writer->entries[writer->count - 1];
    if (size > entry->expected - entry->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' of type %s and shape %s has %" PRIu64 " bytes, %" PRIu64
                            " came",
                            entry->name, dtype_name(entry->dtype), shape_text(&entry->shape),
                            entry->expected, entry->size + size);
    entry->crc = crc32c(entry->crc, data, size);
    entry->size += size;
    return file_writer_append(&writer->data, data, size);
}

struct status bundle_writer_end(struct bundle_writer *writer)
{
    assert(writer->in_tensor);
    struct written *entry = &writer->entries[writer->count - 1];
    writer->in_tensor = false;
    if (entry->expected != UINT64_MAX && entry->size != entry->expected)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor '%s' of type %s and shape %s has %" PRIu64
                            " bytes, only %" PRIu64 " came",
                            entry->name, dtype_name(entry->dtype), shape_text(&entry->shape),
                            entry->expected, entry->size);
    return status_ok();
}

/* The checksum is over the sizes as fixed integers, not over the varints that are written
 * (bundle.h). */
static struct status append_strings(struct bundle_writer *writer, const struct tensor *tensor)
{
    const struct bytes *strings = tensor_strings(tensor);
    struct written *entry = &writer->entries[writer->count - 1];
    char bytes[VARINT_MAX];
    uint32_t crc = 0;
    for (int64_t i = 0; i < tensor->size; i++) {
        TRY(file_writer_append(&writer->data, bytes, varint_put(bytes, strings[i].size)));
        put_u64le(bytes, strings[i].size);
        crc = crc32c(crc, bytes, strings[i].size > UINT32_MAX ? 8 : 4);
    }
    put_u32le(bytes, crc32c_mask(crc));
    crc = crc32c(crc, bytes, 4);
    TRY(file_writer_append(&writer->data, bytes, 4));
    for (int64_t i = 0; i < tensor->size; i++) {
        crc = crc32c(crc, strings[i].data, strings[i].size);
        TRY(file_writer_append(&writer->data, strings[i].data, strings[i].size));
    }
    entry->crc = crc;
    entry->size = writer->data.offset - entry->offset;
    return status_ok();
}

struct status bundle_writer_add(struct bundle_writer *writer, const char *name,
                                const struct tensor *tensor)
{
    if (tensor->dtype == DT_RESOURCE || tensor->dtype == DT_VARIANT)
        return status_error(STATUS_UNIMPLEMENTED, "tensor '%s' of type %s in a checkpoint", name,
                            dtype_name(tensor->dtype));
    if (tensor->dtype == DT_STRING) {
        TRY(begin(writer, name, DT_STRING, &tensor->shape, UINT64_MAX));
        TRY(append_strings(writer, tensor));
    } else {
        TRY(bundle_writer_begin(writer, name, tensor->dtype, &tensor->shape));
        TRY(bundle_writer_append(writer, tensor->data, tensor_bytes(tensor)));
    }
    return bundle_writer_end(writer);
}

static int by_name(const void *a, const void *b)
{
    const struct written *x = a, *y = b;
    return bytes_compare(bytes_of(x->name), bytes_of(y->name));
}

static struct status add_message(struct table_writer *table, const char *key, const void *message)
{
    struct buffer buffer = { 0 };
    proto_pack(message, &buffer);
    struct status status =
        table_writer_add(table, bytes_of(key), (struct bytes){ buffer.data, buffer.size });
    buffer_finish(&buffer);
    return status;
}

static struct status add_entry(struct table_writer *table, const struct written *entry,
                               struct arena *scratch)
{
    Tensorflow__BundleEntryProto message = TENSORFLOW__BUNDLE_ENTRY_PROTO__INIT;
    message.dtype = (Tensorflow__DataType)entry->dtype;
    message.shape = shape_to_proto(&entry->shape, scratch);
    message.offset = (int64_t)entry->offset;
    message.size = (int64_t)entry->size;
    message.crc32c = crc32c_mask(entry->crc);
    return add_message(table, entry->name, &message);
}

static struct status add_entries(struct bundle_writer *writer, struct table_writer *table)
{
    Tensorflow__VersionDef version = TENSORFLOW__VERSION_DEF__INIT;
    Tensorflow__BundleHeaderProto header = TENSORFLOW__BUNDLE_HEADER_PROTO__INIT;
    version.producer = 1;
    header.num_shards = 1;
    header.version = &version;
    TRY(add_message(table, "", &header));

    qsort(writer->entries, writer->count, sizeof *writer->entries, by_name);
    struct arena *scratch = arena_create(0);
    struct status status = status_ok();
    for (size_t i = 0; i < writer->count && status_is_ok(status); i++) {
        const struct written *entry = &writer->entries[i];
        if (i > 0 && strcmp(entry[-1].name, entry->name) == 0)
            status =
                status_error(STATUS_INVALID_ARGUMENT, "tensor '%s' was written twice", entry->name);
        else
            status = add_entry(table, entry, scratch);
        arena_reset(scratch);
    }
    arena_destroy(scratch);
    return status_is_ok(status) ? table_writer_end(table) : status;
}

static struct status write_index(struct bundle_writer *writer, const char *path)
{
    struct file_writer file;
    struct table_writer table;
    TRY(file_writer_open(path, &file));
    table_writer_init(&table, &file);
    struct status status = add_entries(writer, &table);
    table_writer_finish(&table);
    if (status_is_ok(status))
        status = file_writer_finish(&file);
    file_writer_abandon(&file);
    return status;
}

struct status bundle_writer_commit(struct bundle_writer *writer)
{
    assert(!writer->in_tensor);
    char *index_path = arena_printf(writer->arena, "%s.index", writer->prefix);
    char *index_beside = file_beside(writer->arena, index_path);
    char *data_beside = arena_strdup(writer->arena, writer->data.path);
    bool index_written = false;
    struct status status;
    TRY_OR(fail, write_index(writer, index_beside));
    index_written = true;
    TRY_OR(fail, file_writer_finish(&writer->data));
    status = file_rename(data_beside, writer->data_path);
    if (!status_is_ok(status)) {
        unlink(data_beside);
        goto fail;
    }
    status = file_rename(index_beside, index_path);
    if (!status_is_ok(status))
        unlink(writer->data_path); /* the data file is useless without its index */
fail:
    if (!status_is_ok(status) && index_written)
        unlink(index_beside);
    bundle_writer_abandon(writer);
    return status;
}

void bundle_writer_abandon(struct bundle_writer *writer)
{
    if (writer == NULL)
        return;
    file_writer_abandon(&writer->data);
    free(writer->entries);
    arena_destroy(writer->arena);
    free(writer);
}
