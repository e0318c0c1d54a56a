#include <inttypes.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/bundle.h"
#include "storage/bundle_index.h"
#include "tensor/tensor_block.h"
#include "tensor/tensor_values.h"

/* Every slice is compared with every other. TensorFlow's partitioners make far fewer. */
#define SLICES_MAX 16384

static struct status open_shard(const struct bundle *bundle, const struct bundle_piece *piece,
                                struct file_reader *fallback, const struct file_reader **out)
{
    *out = &bundle->shards[piece->shard];
    if ((*out)->path != NULL)
        return status_ok();
    struct arena *scratch = arena_create(0);
    struct status status = file_reader_open(
        bundle_shard_path(scratch, bundle->prefix, piece->shard, bundle->shards_count), fallback);
    arena_destroy(scratch);
    *out = fallback;
    return status;
}

static struct status get(const struct bundle *bundle, const struct bundle_piece *piece,
                         uint64_t offset, void *data, size_t size)
{
    struct file_reader fallback = { 0 };
    const struct file_reader *shard;
    TRY(open_shard(bundle, piece, &fallback, &shard));
    struct status status = file_reader_get(shard, piece->offset + offset, data, size);
    file_reader_close(&fallback);
    return status;
}

/* Refuses a size that the data file does not have, before memory is allocated for it. */
static struct status check_extent(const struct bundle *bundle, const struct bundle_piece *piece)
{
    struct file_reader fallback = { 0 };
    const struct file_reader *shard;
    TRY(open_shard(bundle, piece, &fallback, &shard));
    struct status status = status_ok();
    if (piece->offset > shard->size || piece->size > shard->size - piece->offset)
        status =
            status_error(STATUS_OUT_OF_RANGE,
                         "Read less bytes than requested: '%s' has %" PRIu64
                         " bytes, tensor '%s' lies at %" PRIu64 " and has %" PRIu64,
                         shard->path, shard->size, piece->entry.name, piece->offset, piece->size);
    file_reader_close(&fallback);
    return status;
}

static struct status check_sum(const struct bundle_piece *piece, uint32_t crc)
{
    if (crc == piece->crc)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "Checksum does not match: stored %08" PRIx32
                        " vs. calculated on the restored bytes %08" PRIx32,
                        piece->crc, crc);
}

static void swap_elements(void *data, size_t size, size_t unit)
{
    for (char *at = data, *end = at + size; at < end; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            char byte = at[i];
            at[i] = at[unit - 1 - i];
            at[unit - 1 - i] = byte;
        }
}

/* The unit of byte swapping: half an element of complex types. */
static size_t swap_unit(enum dtype dtype)
{
    size_t size = dtype_file_size(dtype);
    return dtype_is_complex(dtype) ? size / 2 : size;
}

static struct status check_bools(const struct bundle_piece *piece, const struct tensor *tensor)
{
    struct bytes elements = { tensor->data, tensor_bytes(tensor) };
    struct status status = tensor_check_bools(elements, piece->entry.name);
    if (!status_is_ok(status))
        status.code = STATUS_DATA_LOSS;
    return status;
}

/* The checksum reads each piece while it is in the cache. */
#define SUMMED_BYTES ((uint64_t)128 << 10)

static struct status get_summed(const struct bundle *bundle, const struct bundle_piece *piece,
                                char *data, uint64_t size)
{
    uint32_t crc = 0;
    for (uint64_t at = 0; at < size; at += SUMMED_BYTES) {
        size_t count = (size_t)(size - at < SUMMED_BYTES ? size - at : SUMMED_BYTES);
        TRY(get(bundle, piece, at, data + at, count));
        crc = crc32c(crc, data + at, count);
    }
    return check_sum(piece, crc);
}

static struct status read_numbers(const struct bundle *bundle, const struct bundle_piece *piece,
                                  struct tensor *out)
{
    size_t element = dtype_file_size(piece->entry.dtype);
    if (element == 0)
        return status_error(STATUS_UNIMPLEMENTED, "tensors of type %s in checkpoints",
                            dtype_name(piece->entry.dtype));
    uint64_t want;
    if (__builtin_mul_overflow((uint64_t)shape_size(&piece->entry.shape), element, &want) ||
        want != piece->size)
        return status_error(STATUS_DATA_LOSS,
                            "Invalid size in bundle entry: key %s; stored size %" PRIu64
                            "; expected size %" PRIu64,
                            piece->entry.name, piece->size, want);
    TRY(tensor_create_in(bundle->block, piece->entry.dtype, &piece->entry.shape, out));
    TRY(get_summed(bundle, piece, out->data, want));
    if (bundle->big_endian)
        swap_elements(out->data, (size_t)want, swap_unit(out->dtype));
    return out->dtype == DT_BOOL ? check_bools(piece, out) : status_ok();
}

/* Adds a size to the checksum of strings: as 4 bytes, or as 8 if it needs them, in the writer's
 * byte order. */
static uint32_t sum_size(uint32_t crc, uint64_t size, bool big_endian)
{
    char bytes[8];
    size_t count = size > UINT32_MAX ? 8 : 4;
    put_u64le(bytes, size);
    if (big_endian)
        swap_elements(bytes, count, count);
    return crc32c(crc, bytes, count);
}

/* The checksum that is stored at `at`, unmasked. */
static uint32_t stored_sum(const struct bundle *bundle, const char *at)
{
    char stored[4];
    memcpy(stored, at, 4);
    if (bundle->big_endian)
        swap_elements(stored, 4, 4);
    return crc32c_unmask(get_u32le(stored));
}

/* Reads sizes, their checksum and the characters from `raw`. */
static struct status read_strings(const struct bundle *bundle, const struct bundle_piece *piece,
                                  struct bytes raw, struct tensor *out)
{
    int64_t count = shape_size(&piece->entry.shape);
    char *characters;
    if ((uint64_t)count > raw.size) /* each string has at least one byte of size */
        return status_error(STATUS_DATA_LOSS,
                            "%zu bytes for %" PRId64 " strings, which need at least one each",
                            raw.size, count);
    TRY(tensor_create_strings(&piece->entry.shape, raw.size, out, &characters));
    struct bytes *strings = tensor_strings_mut(out);

    const char *at = raw.data, *end = raw.data + raw.size;
    uint32_t crc = 0;
    uint64_t total = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t size;
        if (!varint_get(&at, end, &size) || size > (uint64_t)(end - at))
            return status_error(STATUS_DATA_LOSS,
                                "the size of string %" PRId64 " of %" PRId64
                                " reaches beyond the stored %zu bytes",
                                i, count, raw.size);
        crc = sum_size(crc, size, bundle->big_endian);
        strings[i] = (struct bytes){ characters + total, (size_t)size };
        total += size;
    }
    if (count == 0 && raw.size == 0)
        return status_ok(); /* some writers store nothing for no strings */
    if (end - at < 4 || total != (uint64_t)(end - at) - 4)
        return status_error(STATUS_DATA_LOSS,
                            "Invalid size in bundle entry: key %s; strings of %" PRIu64
                            " bytes do not fill the stored size %zu",
                            piece->entry.name, total, raw.size);
    if (stored_sum(bundle, at) != crc)
        return status_error(STATUS_DATA_LOSS,
                            "The length checksum does not match: expected %08" PRIx32
                            " but actual is %08" PRIx32,
                            stored_sum(bundle, at), crc);
    crc = crc32c(crc, at, (size_t)(end - at));
    memcpy(characters, at + 4, (size_t)total);
    return check_sum(piece, crc);
}

/* Per element: size, serialized value, running checksum over the sizes as 8 bytes, values and
 * stored checksums. */
static struct status read_variants(const struct bundle *bundle, const struct bundle_piece *piece,
                                   struct bytes raw, struct tensor *out)
{
    int64_t count = shape_size(&piece->entry.shape);
    char *characters;
    if ((uint64_t)count > raw.size / 5)
        return status_error(STATUS_DATA_LOSS,
                            "%zu bytes for %" PRId64 " variants, which need at least 5 each",
                            raw.size, count);
    TRY(tensor_create_strings(&piece->entry.shape, raw.size, out, &characters));
    const char *at = raw.data, *end = raw.data + raw.size;
    uint32_t crc = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t size;
        char bytes[8];
        if (!varint_get(&at, end, &size) || (uint64_t)(end - at) < 4 ||
            size > (uint64_t)(end - at) - 4)
            return status_error(STATUS_DATA_LOSS,
                                "variant %" PRId64 " of %" PRId64
                                " reaches beyond the stored %zu bytes",
                                i, count, raw.size);
        put_u64le(bytes, size);
        if (bundle->big_endian)
            swap_elements(bytes, 8, 8);
        crc = crc32c(crc32c(crc, bytes, 8), at, (size_t)size);
        memcpy(characters, at, (size_t)size);
        tensor_strings_mut(out)[i] = (struct bytes){ characters, (size_t)size };
        characters += size;
        at += size;

        if (stored_sum(bundle, at) != crc)
            return status_error(STATUS_DATA_LOSS,
                                "the checksum of variant %" PRId64
                                " does not match: stored %08" PRIx32 ", computed %08" PRIx32,
                                i, stored_sum(bundle, at), crc);
        crc = crc32c(crc, at, 4);
        at += 4;
    }
    if (at != end)
        return status_error(STATUS_DATA_LOSS,
                            "%zu of the stored %zu bytes are left after %" PRId64 " variants",
                            (size_t)(end - at), raw.size, count);
    return check_sum(piece, crc);
}

static struct status read_characters(const struct bundle *bundle, const struct bundle_piece *piece,
                                     struct tensor *out)
{
    struct tensor raw; /* a tensor, because tensor_create fails if there is no memory */
    struct shape shape = shape_of((int64_t)piece->size);
    TRY(tensor_create(DT_UINT8, &shape, &raw));
    struct status status = get(bundle, piece, 0, raw.data, (size_t)piece->size);
    struct bytes bytes = { raw.data, (size_t)piece->size };
    if (status_is_ok(status))
        status = piece->entry.dtype == DT_STRING ? read_strings(bundle, piece, bytes, out)
                                                 : read_variants(bundle, piece, bytes, out);
    tensor_release(&raw);
    return status;
}

static struct status read_piece(const struct bundle *bundle, const struct bundle_piece *piece,
                                struct tensor *out)
{
    TRY(check_extent(bundle, piece));
    bool characters = piece->entry.dtype == DT_STRING || piece->entry.dtype == DT_VARIANT;
    struct tensor tensor = { 0 };
    struct status status =
        characters ? read_characters(bundle, piece, &tensor) : read_numbers(bundle, piece, &tensor);
    if (!status_is_ok(status)) {
        tensor_release(&tensor);
        return status_in(status, "%" PRIu64 " bytes at offset %" PRIu64 " of data file %d of %d",
                         piece->size, piece->offset, piece->shard + 1, bundle->shards_count);
    }
    *out = tensor;
    return status_ok();
}

static struct status read_slice(const struct bundle *bundle, const struct bundle_piece *piece,
                                size_t index, const struct tensor_slice *resolved,
                                struct tensor *out)
{
    if (bundle->tables != NULL) {
        TRY(checkpoint_v1_read_slice(bundle, piece, index, out));
    } else {
        struct buffer key = { 0 };
        slice_key(bytes_of(piece->entry.name), &piece->slices[index], &key);
        const struct bundle_piece *part =
            map_get(&bundle->by_key, (struct bytes){ key.data, key.size });
        buffer_finish(&key);
        if (part == NULL)
            return status_error(STATUS_DATA_LOSS,
                                "slice %s is listed, and has no entry in the index",
                                slice_text(&piece->slices[index]));
        TRY(read_piece(bundle, part, out));
    }
    struct shape shape = slice_shape(resolved);
    if (out->dtype == piece->entry.dtype && shape_equal(&out->shape, &shape))
        return status_ok();
    struct status status =
        status_error(STATUS_DATA_LOSS, "slice %s has type %s and shape %s, must have %s and %s",
                     slice_text(&piece->slices[index]), dtype_name(out->dtype),
                     shape_text(&out->shape), dtype_name(piece->entry.dtype), shape_text(&shape));
    tensor_release(out);
    return status;
}

/* The slices do not overlap, so they cover `wanted` if they have as many of its elements. */
static struct status check_cover(const struct bundle_piece *piece,
                                 const struct tensor_slice *wanted, struct tensor_slice *resolved,
                                 const char *spec)
{
    int64_t covered = 0;
    struct tensor_slice common;
    if (piece->slices_count > SLICES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%zu slices, at most %d are read",
                            piece->slices_count, SLICES_MAX);
    for (size_t i = 0; i < piece->slices_count; i++) {
        TRY(slice_resolve(&piece->slices[i], &piece->entry.shape, &resolved[i]));
        for (size_t j = 0; j < i; j++)
            if (slice_intersect(&resolved[i], &resolved[j], &common))
                return status_error(STATUS_INTERNAL,
                                    "Overlapping slices: slices %zu and %zu have %s in common", j,
                                    i, slice_text(&common));
        if (slice_intersect(&resolved[i], wanted, &common)) {
            struct shape shape = slice_shape(&common);
            covered += shape_size(&shape);
        }
    }
    struct shape shape = slice_shape(wanted);
    if (covered == shape_size(&shape))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Does not have sufficient slices for partitioned tensor %s to restore in "
                        "slice_spec: %s",
                        piece->entry.name, spec);
}

static struct status copy_slices(const struct bundle *bundle, const struct bundle_piece *piece,
                                 const struct tensor_slice *wanted,
                                 const struct tensor_slice *resolved, struct tensor *parts,
                                 struct tensor *out)
{
    struct tensor_slice common;
    for (size_t i = 0; i < piece->slices_count; i++) {
        if (!slice_intersect(&resolved[i], wanted, &common))
            continue;
        TRY(read_slice(bundle, piece, i, &resolved[i], &parts[i]));
        slice_copy(&common, &resolved[i], parts[i].data, wanted, out->data, dtype_size(out->dtype));
        if (out->dtype != DT_STRING) /* its characters are needed until all slices are copied */
            tensor_release(&parts[i]);
    }
    return status_ok();
}

static struct status assemble(const struct bundle *bundle, const struct bundle_piece *piece,
                              const struct tensor_slice *wanted, struct tensor *out)
{
    struct tensor_slice listed = *wanted;
    for (int i = 0; i < listed.rank; i++)
        if (listed.length[i] == piece->entry.shape.dims[i])
            listed.length[i] = SLICE_WHOLE;
    if (piece->entry.dtype == DT_VARIANT)
        return status_error(STATUS_UNIMPLEMENTED, "reading variants that are stored in slices");

    struct tensor_slice *resolved = zalloc((piece->slices_count + 1) * sizeof *resolved);
    struct tensor *parts = zalloc((piece->slices_count + 1) * sizeof *parts);
    struct tensor whole = { 0 };
    struct shape shape = slice_shape(wanted);
    struct status status = check_cover(piece, wanted, resolved, slice_text(&listed));
    if (status_is_ok(status))
        status = tensor_create(piece->entry.dtype, &shape, &whole);
    if (status_is_ok(status))
        status = copy_slices(bundle, piece, wanted, resolved, parts, &whole);
    if (status_is_ok(status) && whole.dtype == DT_STRING)
        status = tensor_copy_deep(&whole, out);
    else if (status_is_ok(status))
        *out = tensor_acquire(&whole);
    tensor_release(&whole);
    tensors_release((int64_t)piece->slices_count, parts);
    free(parts);
    free(resolved);
    return status;
}

static bool is_whole(const struct tensor_slice *resolved, const struct shape *shape)
{
    for (int i = 0; i < resolved->rank; i++)
        if (resolved->length[i] != shape->dims[i])
            return false;
    return true;
}

static struct status read_wanted(const struct bundle *bundle, const struct bundle_piece *piece,
                                 const struct tensor_slice *wanted, struct tensor *out)
{
    if (piece->slices_count > 0 || bundle->tables != NULL) /* V1 stores only slices */
        return assemble(bundle, piece, wanted, out);
    if (is_whole(wanted, &piece->entry.shape))
        return read_piece(bundle, piece, out);

    struct tensor_slice whole = slice_whole(piece->entry.shape.rank), resolved;
    struct tensor all, part;
    struct shape shape = slice_shape(wanted);
    TRY(slice_resolve(&whole, &piece->entry.shape, &resolved));
    TRY(read_piece(bundle, piece, &all));
    struct status status = tensor_create(all.dtype, &shape, &part);
    if (status_is_ok(status)) {
        if (part.size > 0)
            slice_copy(wanted, &resolved, all.data, wanted, part.data, dtype_size(part.dtype));
        if (part.dtype == DT_STRING) {
            status = tensor_copy_deep(&part, out);
            tensor_release(&part);
        } else {
            *out = part;
        }
    }
    tensor_release(&all);
    return status;
}

static struct status find_piece(const struct bundle *bundle, const char *name,
                                const struct bundle_piece **out)
{
    *out = name[0] == '\0' ? NULL : map_get_text(&bundle->by_key, name);
    if (*out == NULL)
        return status_error(STATUS_NOT_FOUND, "Key %s not found in checkpoint", name);
    return status_ok();
}

/* The bytes of a block for numbers that are stored whole; 0: read_numbers does not read them. */
static size_t room_of(const struct bundle *bundle, const char *name)
{
    const struct bundle_piece *piece;
    if (!status_is_ok(find_piece(bundle, name, &piece)) || piece->slices_count > 0 ||
        bundle->tables != NULL || dtype_file_size(piece->entry.dtype) == 0 ||
        !status_is_ok(check_extent(bundle, piece)))
        return 0;
    return tensor_block_room((size_t)piece->size);
}

void bundle_expect(struct bundle *bundle, const char *const *names, int count)
{
    size_t size = 0;
    assert(bundle->block == NULL);
    for (int i = 0; i < count; i++) {
        size_t room = room_of(bundle, names[i]);
        size = room < SIZE_MAX - size ? size + room : SIZE_MAX;
    }
    if (size >= TENSOR_BLOCK_BYTES_MIN)
        bundle->block = tensor_block_create(size);
}

struct status bundle_read(const struct bundle *bundle, const char *name, struct tensor *out)
{
    const struct bundle_piece *piece;
    struct tensor_slice wanted;
    TRY(find_piece(bundle, name, &piece));
    struct tensor_slice whole = slice_whole(piece->entry.shape.rank);
    TRY(slice_resolve(&whole, &piece->entry.shape, &wanted));
    return status_in(read_wanted(bundle, piece, &wanted, out), "tensor '%s' of checkpoint '%s'",
                     name, bundle->prefix);
}

struct status bundle_restore(const struct bundle *bundle, const char *name, const char *spec,
                             enum dtype dtype, struct tensor *out)
{
    const struct bundle_piece *piece;
    TRY(find_piece(bundle, name, &piece));
    if (piece->entry.dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_name = %s; expected dtype %s does not equal original dtype %s",
                            name, dtype_name(dtype), dtype_name(piece->entry.dtype));
    if (spec[0] == '\0')
        return bundle_read(bundle, name, out);

    struct shape full;
    struct tensor_slice slice, wanted;
    TRY(slice_parse(spec, &full, &slice));
    if (!shape_equal(&full, &piece->entry.shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_name = %s; shape in shape_and_slice spec %s does not match the "
                            "shape stored in checkpoint: %s",
                            name, shape_text(&full), shape_text(&piece->entry.shape));
    TRY(status_in(slice_resolve(&slice, &full, &wanted), "tensor_name = %s", name));
    return status_in(read_wanted(bundle, piece, &wanted, out), "tensor '%s' of checkpoint '%s'",
                     name, bundle->prefix);
}
