#include "rpc/message_inflate.h"

#include "base/container.h"
#include "base/inflate.h"

#define FIRST_RATIO 4 /* the usual ratio for numbers and text */

bool message_inflate_knows(struct bytes encoding)
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

struct message_unpacking {
    struct inflate_output output;
    struct message_buffer *buffer;
};

/* Doubles the room, up to the limit and the byte that shows that it is exceeded. */
static struct status grow(struct inflate_output *output)
{
    struct message_unpacking *unpacking = CONTAINER_OF(output, struct message_unpacking, output);
    size_t have = output->size, max = output->limit;
    size_t size = 2 * have <= max ? 2 * have + 1 : max + 1;

    if (!message_buffer_grow(unpacking->buffer, size))
        return no_memory(size);
    output->data = unpacking->buffer->data;
    output->capacity = unpacking->buffer->capacity;
    return status_ok();
}

static struct status damaged(const char *how)
{
    return status_error(STATUS_INTERNAL, "a compressed message is damaged: %s", how);
}

static struct status unpack(struct message_unpacking *unpacking, struct bytes compressed)
{
    enum inflate_result result;

    TRY(inflate_stream(INFLATE_EITHER, &compressed, &unpacking->output, &result));
    switch (result) {
    case INFLATE_END:
        return compressed.size == 0 ? status_ok() : damaged("bytes after its end");
    case INFLATE_CUT_SHORT:
        return damaged("it is cut short");
    case INFLATE_TOO_LARGE:
        return too_large(unpacking->output.limit);
    case INFLATE_NO_MEMORY:
        return no_memory(unpacking->output.capacity);
    case INFLATE_DAMAGED:
        break;
    }
    return damaged(unpacking->output.damage);
}

struct status message_inflate(struct message_buffers *buffers, struct bytes compressed, size_t max,
                              struct message_buffer **out, size_t *out_size)
{
    size_t first = compressed.size < max / FIRST_RATIO ? FIRST_RATIO * compressed.size : max;
    struct message_buffer *buffer = message_buffers_take(buffers, first + 1);

    if (buffer == NULL)
        return no_memory(first);
    struct message_unpacking unpacking = {
        .buffer = buffer,
        .output = { .data = buffer->data, .capacity = buffer->capacity, .limit = max, .grow = grow }
    };
    struct status status = unpack(&unpacking, compressed);
    if (!status_is_ok(status)) {
        message_buffer_release(buffer);
        return status;
    }
    *out = buffer;
    *out_size = unpacking.output.size;
    return status_ok();
}

struct status message_unpack(struct message *message)
{
    struct message_buffer *packed = message->owner, *buffer;
    size_t size;

    if (message->packed_max == 0)
        return status_ok();
    TRY(message_inflate(packed->buffers, message->header, message->packed_max, &buffer, &size));
    message_buffer_count_held(buffer, size);
    *message = (struct message){ .header = { buffer->data, size },
                                 .release = message_buffer_release,
                                 .owner = buffer };
    message_buffer_release(packed);
    return status_ok();
}
