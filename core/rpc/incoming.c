#include "rpc/incoming.h"

#include <assert.h>

#include "rpc/inflate.h"

/* A block is made as large as the message says only up to here, and grows with what comes: a
 * stranger's word costs nothing. */
#define FIRST_MAX ((size_t)32 << 20)

/* A smaller message is not worth keeping all that was read with it. */
#define STAY_MIN ((size_t)1024)

enum found { FOUND_PAYLOAD, FOUND_NONE, FOUND_CUT };

static bool get_varint(struct bytes bytes, size_t *at, uint64_t *out)
{
    const char *cursor = bytes.data + *at;
    bool good = varint_get(&cursor, bytes.data + bytes.size, out);

    *at = (size_t)(cursor - bytes.data);
    return good;
}

/* Looks for field 15 in the first bytes of a message of `size`: it must be the last field. `tag`:
 * where it begins; `at`: its bytes. */
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

static struct status check_prefix(struct incoming *incoming)
{
    const unsigned char *p = incoming->prefix;

    incoming->size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] > 1)
        return status_error(STATUS_INTERNAL,
                            "a message begins with %u, neither plain nor "
                            "compressed",
                            p[0]);
    if (p[0] == 1 && !incoming->encoded)
        return status_error(STATUS_INTERNAL,
                            "a message is compressed, and grpc-encoding does not say how");
    if (incoming->size > incoming->message_max)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "Received message larger than max (%zu vs. %zu)", incoming->size,
                            incoming->message_max);
    return status_ok();
}

/* Is all of the message there, where it may stay? Then nothing is copied. */
static bool stay(struct incoming *incoming, const char *data, size_t size)
{
    if (!incoming->may_stay || incoming->payload || incoming->prefix[0] != 0 ||
        size < incoming->size || incoming->size < STAY_MIN ||
        !reading_holds(incoming->reading, data))
        return false;
    if (!reading_keep(incoming->reading))
        return false;
    struct block *block = blocks_take(incoming->blocks, 0);
    if (block == NULL) {
        reading_release(incoming->reading);
        return false;
    }
    block->reading = incoming->reading;
    incoming->block = block;
    incoming->data = (char *)(uintptr_t)data;
    incoming->have = incoming->size;
    return true;
}

/* Makes room for the message; `first`: what there is of it. */
static struct status begin(struct incoming *incoming, struct bytes first)
{
    size_t tag, at, shift = 0;

    incoming->payload_at = 0;
    if (incoming->payload && incoming->prefix[0] == 0 &&
        find_payload(first, incoming->size, &tag, &at) == FOUND_PAYLOAD) {
        incoming->payload_at = at;
        shift = -at & (BLOCK_ALIGNMENT - 1);
    }
    size_t size = incoming->size < FIRST_MAX ? incoming->size : FIRST_MAX;
    incoming->block =
        blocks_take_some(incoming->blocks, size + BLOCK_ALIGNMENT, first.size + BLOCK_ALIGNMENT);
    if (incoming->block == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes",
                            incoming->size);
    incoming->data = incoming->block->data + shift;
    incoming->have = 0;
    return status_ok();
}

/* Room behind what there is: at least one byte. */
static struct status make_room(struct incoming *incoming)
{
    struct block *block = incoming->block;
    size_t shift = (size_t)(incoming->data - block->data);

    if (shift + incoming->have < block->capacity)
        return status_ok();
    size_t size = 2 * incoming->have < incoming->size ? 2 * incoming->have : incoming->size;
    if (!block_grow(block, size + BLOCK_ALIGNMENT))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a message of %zu bytes",
                            incoming->size);
    incoming->data = block->data + shift;
    return status_ok();
}

static size_t room(const struct incoming *incoming)
{
    size_t shift = (size_t)(incoming->data - incoming->block->data);
    size_t left = incoming->size - incoming->have;
    size_t free = incoming->block->capacity - shift - incoming->have;

    return left < free ? left : free;
}

char *incoming_room(struct incoming *incoming, size_t *out)
{
    if (incoming->block == NULL || incoming->have == incoming->size)
        return NULL;
    if (!status_is_ok(make_room(incoming))) /* incoming_feed will say so */
        return NULL;
    *out = room(incoming);
    return incoming->data + incoming->have;
}

/* A compressed message is all there: what it says takes its place. */
static struct status unpack(struct incoming *incoming)
{
    struct block *block;
    size_t size;

    TRY(inflate_block(incoming->blocks, (struct bytes){ incoming->data, incoming->size },
                      incoming->message_max, &block, &size));
    block_release(incoming->block);
    incoming->block = block;
    incoming->data = block->data;
    incoming->size = incoming->have = size;
    incoming->payload_at = 0;
    return status_ok();
}

struct status incoming_feed(struct incoming *incoming, const char *data, size_t size, size_t *used,
                            bool *complete)
{
    size_t at = 0;

    *complete = false;
    if (incoming->block == NULL) {
        while (incoming->prefix_size < GRPC_PREFIX_SIZE && at < size)
            incoming->prefix[incoming->prefix_size++] = (unsigned char)data[at++];
        *used = at;
        if (incoming->prefix_size < GRPC_PREFIX_SIZE)
            return status_ok();
        TRY(check_prefix(incoming));
        *complete = incoming->size == 0;
        if (at == size || *complete)
            return status_ok(); /* the first bytes decide where it begins */
        if (stay(incoming, data + at, size - at)) {
            *used = at + incoming->size;
            *complete = true;
            return status_ok();
        }
        TRY(begin(incoming, (struct bytes){ data + at, size - at }));
    }
    while (at < size && incoming->have < incoming->size) {
        TRY(make_room(incoming));
        size_t part = room(incoming), rest = size - at;
        if (part > rest)
            part = rest;
        char *to = incoming->data + incoming->have;
        if (to != data + at) /* else it was read to where it belongs */
            memcpy(to, data + at, part);
        incoming->have += part;
        at += part;
    }
    *used = at;
    *complete = incoming->have == incoming->size;
    return *complete && incoming->prefix[0] == 1 && !incoming->packed ? unpack(incoming)
                                                                      : status_ok();
}

/* The payload, found only now, where it can be used in place. */
static void align(struct incoming *incoming, size_t at)
{
    struct block *block = incoming->block;
    size_t shift = (size_t)(incoming->data - block->data);

    if ((shift + at) % BLOCK_ALIGNMENT != 0 && incoming->payload_at == 0) {
        size_t to = -at & (BLOCK_ALIGNMENT - 1);
        if (to + incoming->size <= block->capacity)
            incoming->data = memmove(block->data + to, incoming->data, incoming->size);
    }
    block->piece = (struct bytes){ incoming->data + at, incoming->size - at };
}

struct message incoming_take(struct incoming *incoming)
{
    struct block *block = incoming->block;
    size_t tag, at;

    incoming->prefix_size = 0;
    if (incoming->size == 0)
        return (struct message){ 0 };
    assert(block != NULL && incoming->have == incoming->size);
    struct bytes all = { incoming->data, incoming->size };
    struct message message = { .release = block_release, .owner = block };
    if (incoming->packed && incoming->prefix[0] == 1)
        message.packed_max = incoming->message_max;
    if (incoming->payload && find_payload(all, incoming->size, &tag, &at) == FOUND_PAYLOAD) {
        align(incoming, at);
        message.pieces = &block->piece;
        message.pieces_count = block->piece.size > 0;
        all = (struct bytes){ incoming->data, tag };
    }
    message.header = all;
    block_count(block, incoming->size);
    incoming->block = NULL;
    incoming->have = 0;
    return message;
}

size_t incoming_unfinished(const struct incoming *incoming)
{
    return incoming->block == NULL ? 0 : incoming->have;
}

void incoming_finish(struct incoming *incoming)
{
    if (incoming->block != NULL)
        block_release(incoming->block);
    incoming->block = NULL;
}
