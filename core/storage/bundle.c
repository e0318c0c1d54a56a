#include "storage/bundle.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "storage/bundle_index.h"
#include "storage/table.h"
#include "tensor/tensor_block.h"
#include "tensor/tensor_proto.h"

#define VERSION_SUPPORTED 1
#define SHARDS_MAX        1000000 /* file names have five digits: a larger number is damage */

char *bundle_shard_path(struct arena *arena, const char *prefix, int shard, int shards_count)
{
    return arena_printf(arena, "%s.data-%05d-of-%05d", prefix, shard, shards_count);
}

static struct status check_version(const Tensorflow__VersionDef *version)
{
    if (version == NULL)
        return status_ok();
    if (version->min_consumer > VERSION_SUPPORTED)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Checkpoint version %d needs a reader of version %d, this one has %d",
                            version->producer, version->min_consumer, VERSION_SUPPORTED);
    for (size_t i = 0; i < version->n_bad_consumers; i++)
        if (version->bad_consumers[i] == VERSION_SUPPORTED)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Checkpoint version %d disallows readers of version %d",
                                version->producer, VERSION_SUPPORTED);
    return status_ok();
}

static struct status read_header(struct bundle *bundle, struct bytes value, struct arena *scratch)
{
    Tensorflow__BundleHeaderProto *header;
    if (!status_is_ok(
            proto_unpack(&tensorflow__bundle_header_proto__descriptor, value, scratch, &header)))
        return status_error(STATUS_DATA_LOSS, "the header, of %zu bytes, is no BundleHeaderProto",
                            value.size);
    TRY(check_version(header->version));
    if (header->num_shards < 1 || header->num_shards > SHARDS_MAX)
        return status_error(STATUS_DATA_LOSS, "the header says %d shards, must be 1 to %d",
                            header->num_shards, SHARDS_MAX);
    bundle->shards_count = header->num_shards;
    bundle->big_endian = header->endianness == TENSORFLOW__BUNDLE_HEADER_PROTO__ENDIANNESS__BIG;
    return status_ok();
}

static struct status read_slices(struct bundle *bundle, const Tensorflow__BundleEntryProto *proto,
                                 struct bundle_piece *piece)
{
    piece->slices_count = proto->n_slices;
    if (proto->n_slices == 0)
        return status_ok();
    piece->slices = ARENA_ARRAY(bundle->arena, struct tensor_slice, proto->n_slices);
    for (size_t i = 0; i < proto->n_slices; i++) {
        struct tensor_slice resolved;
        TRY(slice_from_proto(proto->slices[i], &piece->slices[i]));
        TRY(slice_resolve(&piece->slices[i], &piece->entry.shape, &resolved));
    }
    return status_ok();
}

static struct status fill_piece(struct bundle *bundle, const Tensorflow__BundleEntryProto *proto,
                                struct bundle_piece *piece)
{
    struct bundle_entry *entry = &piece->entry;
    entry->dtype = dtype_base((int)proto->dtype);
    if (entry->dtype == DT_INVALID || (int)proto->dtype > DT_REF)
        return status_error(STATUS_DATA_LOSS, "type %d is none of TensorFlow's", (int)proto->dtype);
    entry->shape = shape_scalar();
    if (proto->shape != NULL)
        TRY(shape_from_proto(proto->shape, &entry->shape));
    if (!shape_is_known(&entry->shape))
        return status_error(STATUS_DATA_LOSS, "shape %s must be known", shape_text(&entry->shape));
    TRY(shape_check(entry->shape.rank, entry->shape.dims, &entry->shape));
    if (proto->shard_id < 0 || proto->shard_id >= bundle->shards_count || proto->offset < 0 ||
        proto->size < 0)
        return status_error(STATUS_DATA_LOSS,
                            "shard %d, must be below %d; offset %" PRId64 " and size %" PRId64
                            " must not be negative",
                            proto->shard_id, bundle->shards_count, proto->offset, proto->size);
    piece->shard = proto->shard_id;
    piece->offset = (uint64_t)proto->offset;
    piece->size = (uint64_t)proto->size;
    piece->crc = crc32c_unmask(proto->crc32c);
    return read_slices(bundle, proto, piece);
}

static struct status read_entry(struct bundle *bundle, struct bytes key, struct bytes value,
                                struct arena *scratch)
{
    Tensorflow__BundleEntryProto *proto;
    struct bundle_piece *piece = ARENA_NEW(bundle->arena, struct bundle_piece);
    struct bytes name = { arena_memdup(bundle->arena, key.data, key.size), key.size };
    piece->entry.name = name.data;
    arena_reset(scratch);
    struct status status =
        proto_unpack(&tensorflow__bundle_entry_proto__descriptor, value, scratch, &proto);
    if (status_is_ok(status))
        status = fill_piece(bundle, proto, piece);
    if (status.code == STATUS_UNIMPLEMENTED)
        return status_in(status, "entry '%s'", name.data);
    if (!status_is_ok(status))
        return status_error(STATUS_DATA_LOSS, "entry '%s': %s", name.data, status.message);

    map_put(&bundle->by_key, name, piece);
    if (name.data[0] == '\0')
        return status_ok();                         /* a slice of a tensor */
    if ((bundle->count & (bundle->count + 1)) == 0) /* 0, 1, 3, 7 …: full */
        bundle->pieces = xrealloc(bundle->pieces, (2 * bundle->count + 1) * sizeof *bundle->pieces);
    bundle->pieces[bundle->count++] = piece;
    return status_ok();
}

static struct status read_index(struct bundle *bundle, const struct table *table)
{
    struct arena *scratch = arena_create(0);
    struct table_cursor cursor;
    struct status status;
    bool found;
    table_cursor_init(&cursor, table);
    TRY_OR(done, table_cursor_next(&cursor, &found));
    if (!found || table_cursor_key(&cursor).size != 0) {
        status =
            status_error(STATUS_DATA_LOSS, "the first key is not the header's, which is empty");
        goto done;
    }
    TRY_OR(done, read_header(bundle, table_cursor_value(&cursor), scratch));
    for (;;) {
        TRY_OR(done, table_cursor_next(&cursor, &found));
        if (!found)
            break;
        TRY_OR(done,
               read_entry(bundle, table_cursor_key(&cursor), table_cursor_value(&cursor), scratch));
    }
done:
    table_cursor_finish(&cursor);
    arena_destroy(scratch);
    return status;
}

/* A file that cannot be opened is an error only for the tensors in it. */
static void open_shards(struct bundle *bundle)
{
    bundle->shards = ARENA_ARRAY(bundle->arena, struct file_reader, bundle->shards_count);
    for (size_t i = 0; i < bundle->by_key.count; i++) {
        const struct bundle_piece *piece = bundle->by_key.entries[i].value;
        struct file_reader *shard = &bundle->shards[piece->shard];
        if (shard->path == NULL && piece->slices_count == 0)
            status_ignore(file_reader_open(bundle_shard_path(bundle->arena, bundle->prefix,
                                                             piece->shard, bundle->shards_count),
                                           shard));
    }
}

struct status bundle_open(const char *prefix, struct bundle **out)
{
    struct bundle *bundle = zalloc(sizeof *bundle);
    bundle->arena = arena_create(0);
    bundle->prefix = arena_strdup(bundle->arena, prefix);
    struct table *table = NULL;
    char *index_path = arena_printf(bundle->arena, "%s.index", prefix);

    struct status status = table_open(index_path, &table);
    if (status.code == STATUS_NOT_FOUND) {
        TRY_OR(fail, checkpoint_v1_open(bundle));
        *out = bundle;
        return status_ok();
    }
    if (status_is_ok(status))
        status = read_index(bundle, table);
    table_close(table);
    if (!status_is_ok(status)) {
        status = status_in(status, "checkpoint index '%s'", index_path);
        goto fail;
    }
    open_shards(bundle);
    *out = bundle;
    return status_ok();

fail:
    bundle_close(bundle);
    return status;
}

void bundle_close(struct bundle *bundle)
{
    if (bundle == NULL)
        return;
    for (int i = 0; bundle->shards != NULL && i < bundle->shards_count; i++)
        file_reader_close(&bundle->shards[i]);
    for (int i = 0; bundle->tables != NULL && i < bundle->shards_count; i++)
        table_close(bundle->tables[i]);
    tensor_block_release(bundle->block);
    free(bundle->pieces);
    map_finish(&bundle->by_key);
    arena_destroy(bundle->arena);
    free(bundle);
}

size_t bundle_count(const struct bundle *bundle)
{
    return bundle->count;
}

const struct bundle_entry *bundle_at(const struct bundle *bundle, size_t index)
{
    assert(index < bundle->count);
    return &bundle->pieces[index]->entry;
}

const struct bundle_entry *bundle_find(const struct bundle *bundle, const char *name)
{
    const struct bundle_piece *piece = map_get_text(&bundle->by_key, name);
    return piece == NULL ? NULL : &piece->entry;
}

bool bundle_is_same_value(const struct bundle *bundle, const char *a, const char *b)
{
    const struct bundle_piece *first = map_get_text(&bundle->by_key, a),
                              *second = map_get_text(&bundle->by_key, b);

    return bundle->tables == NULL && first != NULL && second != NULL && first->slices_count == 0 &&
           second->slices_count == 0 && first->entry.dtype == second->entry.dtype &&
           shape_equal(&first->entry.shape, &second->entry.shape) && first->size == second->size &&
           first->crc == second->crc;
}
