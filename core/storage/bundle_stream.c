/* bundle_stream: a tensor of a bundle, chunk by chunk. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/bundle.h"
#include "storage/bundle_index.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Does the tensor lie in the file as it is in memory? */
static bool is_plain(const struct bundle *bundle, const struct bundle_piece *piece)
{
    enum dtype dtype = piece->entry.dtype;
    uint64_t bytes;

    return bundle->tables == NULL && !bundle->big_endian && piece->slices_count == 0 &&
           dtype != DT_STRING && dtype != DT_VARIANT && dtype != DT_BOOL &&
           dtype_file_size(dtype) > 0 && bundle->shards[piece->shard].path != NULL &&
           !__builtin_mul_overflow((uint64_t)shape_size(&piece->entry.shape),
                                   dtype_file_size(dtype), &bytes) &&
           bytes == piece->size;
}

struct status bundle_stream_begin(struct bundle_stream *stream, const struct bundle *bundle,
                                  const char *name)
{
    const struct bundle_piece *piece = name[0] != '\0' ? map_get_text(&bundle->by_key, name) : NULL;

    tensor_release(&stream->tensor);
    stream->bundle = bundle;
    stream->piece = NULL;
    stream->offset = 0;
    stream->crc = 0;
    if (piece == NULL || !is_plain(bundle, piece)) /* bundle_read reports the error */
        return bundle_read(bundle, name, &stream->tensor);
    stream->piece = piece;
    if (stream->room == NULL)
        stream->room = zalloc(CHUNK_BYTES);
    return status_ok();
}

static struct status read_chunk(struct bundle_stream *stream, struct bytes *chunk)
{
    const struct bundle_piece *piece = stream->piece;
    uint64_t rest = piece->size - stream->offset;
    size_t size = rest < CHUNK_BYTES ? (size_t)rest : CHUNK_BYTES;

    TRY(file_reader_get(&stream->bundle->shards[piece->shard], piece->offset + stream->offset,
                        stream->room, size));
    stream->crc = crc32c(stream->crc, stream->room, size);
    stream->offset += size;
    *chunk = (struct bytes){ stream->room, size };
    if (stream->offset < piece->size || stream->crc == piece->crc)
        return status_ok();
    return status_error(STATUS_DATA_LOSS,
                        "Checksum does not match: stored %08" PRIx32
                        " vs. calculated on the restored bytes %08" PRIx32,
                        piece->crc, stream->crc);
}

struct status bundle_stream_next(struct bundle_stream *stream, struct bytes *chunk)
{
    const struct bundle_piece *piece = stream->piece;

    *chunk = (struct bytes){ 0 };
    if (piece == NULL) {
        if (stream->offset == 0 && stream->tensor.size > 0)
            *chunk = (struct bytes){ stream->tensor.data, tensor_bytes(&stream->tensor) };
        stream->offset += chunk->size;
        return status_ok();
    }
    if (stream->offset == piece->size)
        return status_ok();
    return status_in(read_chunk(stream, chunk), "tensor '%s' of checkpoint '%s'", piece->entry.name,
                     stream->bundle->prefix);
}

void bundle_stream_finish(struct bundle_stream *stream)
{
    tensor_release(&stream->tensor);
    free(stream->room);
    *stream = (struct bundle_stream){ 0 };
}
