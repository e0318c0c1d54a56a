#include "rpc/inflate.h"

#include <zlib.h>

#define WINDOW_BITS (15 + 32) /* the largest; either format, told by its first bytes */
#define FIRST_RATIO 4         /* what numbers and text shrink by */

bool inflate_knows(struct bytes encoding)
{
    return bytes_equal(encoding, bytes_of("identity")) ||
           bytes_equal(encoding, bytes_of("deflate")) || bytes_equal(encoding, bytes_of("gzip"));
}

static struct status too_large(size_t max)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "Received message larger than max (after decompression, max %zu)", max);
}

static struct status no_memory(size_t size)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes", size);
}

/* Twice the room, up to the limit and a byte that shows that it is passed. */
static struct status grow(struct block *block, size_t have, size_t max)
{
    if (have > max)
        return too_large(max);
    size_t size = 2 * have <= max ? 2 * have + 1 : max + 1;
    return block_grow(block, size) ? status_ok() : no_memory(size);
}

static struct status run(z_stream *stream, struct block *block, size_t max, size_t *out_size)
{
    int error = Z_OK;

    while (error == Z_OK) {
        size_t have = stream->total_out;
        if (have == block->capacity)
            TRY(grow(block, have, max));
        size_t room = block->capacity - have;
        stream->next_out = (Bytef *)block->data + have;
        stream->avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
        error = inflate(stream, Z_NO_FLUSH);
    }
    if (error != Z_STREAM_END || stream->avail_in > 0)
        return status_error(STATUS_INTERNAL, "a compressed message is damaged: %s",
                            error == Z_STREAM_END  ? "bytes behind its end"
                            : error == Z_BUF_ERROR ? "it is cut short"
                            : stream->msg != NULL  ? stream->msg
                                                   : zError(error));
    *out_size = stream->total_out;
    return *out_size > max ? too_large(max) : status_ok();
}

struct status inflate_block(struct blocks *blocks, struct bytes compressed, size_t max,
                            struct block **out, size_t *out_size)
{
    size_t first = compressed.size < max / FIRST_RATIO ? FIRST_RATIO * compressed.size : max;
    struct block *block = blocks_take(blocks, first + 1);
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)compressed.data,
                        .avail_in = (uInt)compressed.size };

    if (block == NULL)
        return no_memory(first);
    if (inflateInit2(&stream, WINDOW_BITS) != Z_OK) {
        block_release(block);
        return no_memory(first);
    }
    struct status status = run(&stream, block, max, out_size);
    inflateEnd(&stream);
    if (!status_is_ok(status))
        block_release(block);
    else
        *out = block;
    return status;
}

struct status message_unpack(struct message *message)
{
    struct block *packed = message->owner, *block;
    size_t size;

    if (message->packed_max == 0)
        return status_ok();
    TRY(inflate_block(packed->blocks, message->header, message->packed_max, &block, &size));
    block_count(block, size);
    *message = (struct message){ .header = { block->data, size },
                                 .release = block_release,
                                 .owner = block };
    block_release(packed);
    return status_ok();
}
