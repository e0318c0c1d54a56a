/*
 * message: what a call carries, in either direction: a small encoded header and pieces of payload
 * by reference.
 *
 * On a wire it is one protobuf message: the header's bytes, then the field 15, of type bytes, that
 * the pieces joined make (nothing when there is none); they are written by writev straight from
 * where they are, and the other side sees one piece. In one process the receiver gets the very
 * pieces. Receivers therefore read payload through a `payload` cursor and do not depend on where it
 * is cut.
 *
 * A message is moved: whoever takes one releases it once, which gives back what header and pieces
 * lie in.
 */
#ifndef RPC_MESSAGE_H
#define RPC_MESSAGE_H

#include "base/bytes.h"

#define MESSAGE_PAYLOAD_FIELD 15

struct message {
    struct bytes header;
    const struct bytes *pieces;
    int pieces_count;
    size_t packed_max; /* 0: plain. Else it is compressed and may have so many bytes when it is
                          unpacked (inflate.h) */
    void (*release)(void *owner); /* NULL: what it points to outlives it */
    void *owner;
};

/* Accepts an empty message; clears it. */
void message_release(struct message *message);

/* The same message to its new owner; *message is empty afterwards. */
struct message message_move(struct message *message);

size_t message_payload_size(const struct message *message);

/* A place in a message's payload. Starts zeroed but for `message`. */
struct payload {
    const struct message *message;
    int piece;
    size_t offset; /* in that piece */
};

/**
 * The next `size` bytes in one run, or NULL where a cut lies within them: then payload_copy gets
 * them. The caller has checked that the payload has as many (message_payload_size).
 */
const void *payload_borrow(struct payload *payload, size_t size);
void payload_copy(struct payload *payload, void *out, size_t size);

#endif
