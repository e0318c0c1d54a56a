#include "rpc/message.h"

#include <assert.h>

void message_release(struct message *message)
{
    void (*release)(void *) = message->release;
    void *owner = message->owner;

    *message = (struct message){ 0 };
    if (release != NULL)
        release(owner);
}

struct message message_move(struct message *message)
{
    struct message moved = *message;

    *message = (struct message){ 0 };
    return moved;
}

size_t message_payload_size(const struct message *message)
{
    size_t size = 0;

    for (int i = 0; i < message->pieces_count; i++)
        size += message->pieces[i].size;
    return size;
}

/* The current piece, which has bytes left. */
static const struct bytes *payload_piece(struct payload_cursor *payload)
{
    const struct message *message = payload->message;

    while (payload->piece < message->pieces_count &&
           payload->offset == message->pieces[payload->piece].size) {
        payload->piece++;
        payload->offset = 0;
    }
    assert(payload->piece < message->pieces_count);
    return &message->pieces[payload->piece];
}

const void *payload_borrow(struct payload_cursor *payload, size_t size)
{
    if (size == 0)
        return "";
    const struct bytes *piece = payload_piece(payload);
    if (piece->size - payload->offset < size)
        return NULL;
    const void *at = piece->data + payload->offset;
    payload->offset += size;
    return at;
}

void payload_copy(struct payload_cursor *payload, void *out, size_t size)
{
    char *to = out;

    while (size > 0) {
        const struct bytes *piece = payload_piece(payload);
        size_t left = piece->size - payload->offset, part = left < size ? left : size;
        memcpy(to, piece->data + payload->offset, part);
        payload->offset += part;
        to += part;
        size -= part;
    }
}
