#include "rpc/grpc_frame_reader.h"

#include <assert.h>

#include "rpc/message_inflate.h"

/* A buffer begins with at most this much, and grows with the bytes that arrive: a false size costs
 * the peer's bytes, not our memory. */
#define FIRST_MAX ((size_t)32 << 20)

/* A smaller message is copied: it is not worth keeping a whole socket buffer for it. */
#define STAY_MIN ((size_t)1024)

enum found { FOUND_PAYLOAD, FOUND_NONE, FOUND_CUT };

static bool get_varint(struct bytes bytes, size_t *at, uint64_t *out)
{
    const char *cursor = bytes.data + *at;
    bool good = varint_get(&cursor, bytes.data + bytes.size, out);

    *at = (size_t)(cursor - bytes.data);
    return good;
}

/* Looks for field 15, which must be the last one, in the first bytes of a message of `size`. *tag:
 * where the field begins; *at: where its bytes begin. */
static enum found find_payload(struct bytes have, size_t size, size_t *tag, size_t *at)
{
    for (size_t i = 0; i < size;) {
        uint64_t key, value;
        *tag = i;
        if (!get_varint(have, &i, &key))
            return FOUND_CUT;
        switch (key & 7) {
        case 0:
            if (!get_varint(have, &i, &value))
                return FOUND_CUT;
            break;
        case 1:
            i += 8;
            break;
        case 2:
            if (!get_varint(have, &i, &value))
                return FOUND_CUT;
            *at = i;
            if (key >> 3 == MESSAGE_PAYLOAD_FIELD)
                return value == size - i ? FOUND_PAYLOAD : FOUND_NONE;
            if (value > size - i)
                return FOUND_NONE;
            i += value;
            break;
        case 5:
            i += 4;
            break;
        default:
            return FOUND_NONE;
        }
        if (i > have.size)
            return i >= size ? FOUND_NONE : FOUND_CUT;
    }
    return FOUND_NONE;
}

static struct status check_prefix(struct grpc_frame_reader *reader)
{
    const unsigned char *p = reader->prefix;

    reader->size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] > 1)
        return status_error(STATUS_INTERNAL, "the compressed flag of a message is %u, want 0 or 1",
                            p[0]);
    if (p[0] == 1 && !reader->encoded)
        return status_error(STATUS_INTERNAL,
                            "a message is compressed, but there is no grpc-encoding header");
    if (reader->size > reader->message_max)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "Received message larger than max (%zu vs. %zu)", reader->size,
                            reader->message_max);
    return status_ok();
}

/* Leaves a message that is complete where it was read: nothing is copied. False: it cannot stay. */
static bool stay(struct grpc_frame_reader *reader, const char *data, size_t size)
{
    if (!reader->may_stay || reader->payload || reader->prefix[0] != 0 || size < reader->size ||
        reader->size < STAY_MIN || !socket_buffer_holds(reader->source, data))
        return false;
    if (!socket_buffer_keep(reader->source))
        return false;
    struct message_buffer *buffer = message_buffers_take(reader->buffers, 0);
    if (buffer == NULL) {
        socket_buffer_release(reader->source);
        return false;
    }
    buffer->borrowed = reader->source;
    reader->buffer = buffer;
    reader->data = (char *)(uintptr_t)data;
    reader->have = reader->size;
    return true;
}

/* Takes a buffer for the message; `first`: the bytes that are here. */
static struct status begin(struct grpc_frame_reader *reader, struct bytes first)
{
    size_t tag, at, shift = 0;

    reader->payload_at = 0;
    if (reader->payload && reader->prefix[0] == 0 &&
        find_payload(first, reader->size, &tag, &at) == FOUND_PAYLOAD) {
        reader->payload_at = at;
        shift = -at & (MESSAGE_BUFFER_ALIGNMENT - 1);
    }
    size_t size = reader->size < FIRST_MAX ? reader->size : FIRST_MAX;
    reader->buffer = message_buffers_take_promised(reader->buffers, size + MESSAGE_BUFFER_ALIGNMENT,
                                                   first.size + MESSAGE_BUFFER_ALIGNMENT);
    if (reader->buffer == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes",
                            reader->size);
    reader->data = reader->buffer->data + shift;
    reader->have = 0;
    return status_ok();
}

/* Ensures that at least one more byte fits. */
static struct status make_room(struct grpc_frame_reader *reader)
{
    struct message_buffer *buffer = reader->buffer;
    size_t shift = (size_t)(reader->data - buffer->data);

    if (shift + reader->have < buffer->capacity)
        return status_ok();
    size_t size = 2 * reader->have < reader->size ? 2 * reader->have : reader->size;
    if (!message_buffer_grow(buffer, size + MESSAGE_BUFFER_ALIGNMENT))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes",
                            reader->size);
    reader->data = buffer->data + shift;
    return status_ok();
}

static size_t room(const struct grpc_frame_reader *reader)
{
    assert(reader->have <= reader->size);
    size_t shift = (size_t)(reader->data - reader->buffer->data);
    size_t left = reader->size - reader->have;
    size_t free = reader->buffer->capacity - shift - reader->have;

    return left < free ? left : free;
}

char *grpc_frame_reader_room(struct grpc_frame_reader *reader, size_t *out)
{
    if (reader->buffer == NULL || reader->have == reader->size)
        return NULL;
    if (!status_is_ok(make_room(reader))) /* grpc_frame_reader_feed will say so */
        return NULL;
    *out = room(reader);
    return reader->data + reader->have;
}

/* Replaces a complete compressed message by its content. */
static struct status unpack(struct grpc_frame_reader *reader)
{
    struct message_buffer *buffer;
    size_t size;

    TRY(message_inflate(reader->buffers, (struct bytes){ reader->data, reader->size },
                        reader->message_max, &buffer, &size));
    message_buffer_release(reader->buffer);
    reader->buffer = buffer;
    reader->data = buffer->data;
    reader->size = reader->have = size;
    reader->payload_at = 0;
    return status_ok();
}

struct status grpc_frame_reader_feed(struct grpc_frame_reader *reader, const char *data,
                                     size_t size, size_t *used, bool *complete)
{
    size_t at = 0;

    *complete = false;
    if (reader->buffer == NULL) {
        while (reader->prefix_size < GRPC_PREFIX_SIZE && at < size)
            reader->prefix[reader->prefix_size++] = (unsigned char)data[at++];
        *used = at;
        if (reader->prefix_size < GRPC_PREFIX_SIZE)
            return status_ok();
        TRY(check_prefix(reader));
        *complete = reader->size == 0;
        if (at == size || *complete)
            return status_ok(); /* the first bytes of the message decide its alignment */
        if (stay(reader, data + at, size - at)) {
            *used = at + reader->size;
            *complete = true;
            return status_ok();
        }
        TRY(begin(reader, (struct bytes){ data + at, size - at }));
    }
    while (at < size && reader->have < reader->size) {
        TRY(make_room(reader));
        size_t part = room(reader), rest = size - at;
        if (part > rest)
            part = rest;
        char *to = reader->data + reader->have;
        if (to != data + at) /* otherwise it was read in place */
            memcpy(to, data + at, part);
        reader->have += part;
        at += part;
    }
    *used = at;
    *complete = reader->have == reader->size;
    return *complete && reader->prefix[0] == 1 && !reader->packed ? unpack(reader) : status_ok();
}

/* Aligns a payload that find_payload could not see in the first bytes. */
static void align(struct grpc_frame_reader *reader, size_t at)
{
    struct message_buffer *buffer = reader->buffer;
    size_t shift = (size_t)(reader->data - buffer->data);

    if ((shift + at) % MESSAGE_BUFFER_ALIGNMENT != 0 && reader->payload_at == 0) {
        size_t to = -at & (MESSAGE_BUFFER_ALIGNMENT - 1);
        if (to + reader->size <= buffer->capacity)
            reader->data = memmove(buffer->data + to, reader->data, reader->size);
    }
    buffer->piece = (struct bytes){ reader->data + at, reader->size - at };
}

struct message grpc_frame_reader_take(struct grpc_frame_reader *reader)
{
    struct message_buffer *buffer = reader->buffer;
    size_t tag, at;

    reader->prefix_size = 0;
    if (reader->size == 0)
        return (struct message){ 0 };
    assert(buffer != NULL && reader->have == reader->size);
    struct bytes all = { reader->data, reader->size };
    struct message message = { .release = message_buffer_release, .owner = buffer };
    if (reader->packed && reader->prefix[0] == 1)
        message.packed_max = reader->message_max;
    if (reader->payload && find_payload(all, reader->size, &tag, &at) == FOUND_PAYLOAD) {
        align(reader, at);
        message.pieces = &buffer->piece;
        message.pieces_count = buffer->piece.size > 0;
        all = (struct bytes){ reader->data, tag };
    }
    message.header = all;
    message_buffer_count_held(buffer, reader->size);
    reader->buffer = NULL;
    reader->have = 0;
    return message;
}

size_t grpc_frame_reader_unfinished(const struct grpc_frame_reader *reader)
{
    return reader->buffer == NULL ? 0 : reader->have;
}

void grpc_frame_reader_finish(struct grpc_frame_reader *reader)
{
    if (reader->buffer != NULL)
        message_buffer_release(reader->buffer);
    reader->buffer = NULL;
}
