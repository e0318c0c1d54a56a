/*
 * message: the data of a call in either direction: a small encoded header, and pieces of payload by
 * reference.
 *
 * On the wire it is one protobuf message: the header's bytes, then field 15 (bytes), which is the
 * pieces joined, or nothing if there are none. The pieces are written by writev from where they
 * are, and the receiver sees one piece. In one process the receiver gets the sender's pieces.
 * Receivers therefore read payload through a payload_cursor, and do not depend on where it is cut.
 *
 * A message is moved. Its last owner releases it once, which frees the memory of its header and
 * pieces.
 */
#ifndef RPC_MESSAGE_H
#define RPC_MESSAGE_H

#include "base/bytes.h"

#define MESSAGE_PAYLOAD_FIELD 15

struct message {
    struct bytes header;
    const struct bytes *pieces;
    int pieces_count;
    size_t packed_max; /* 0: plain; otherwise compressed, and this large at most when unpacked
                          (message_inflate.h) */
    void (*release)(void *owner); /* NULL: its memory outlives it */
    void *owner;
};

/* Clears the message; accepts an empty one. */
void message_release(struct message *message);

/* Passes the message on; *message is empty afterwards. */
struct message message_move(struct message *message);

size_t message_payload_size(const struct message *message);

/* A position in the payload of a message. Set `message`, zero the rest. */
struct payload_cursor {
    const struct message *message;
    int piece;
    size_t offset; /* in that piece */
};

/**
 * The next `size` bytes if they are contiguous; otherwise NULL, and payload_copy is needed. The
 * caller has checked that the payload has as many (message_payload_size).
 */
const void *payload_borrow(struct payload_cursor *payload, size_t size);
void payload_copy(struct payload_cursor *payload, void *out, size_t size);

#endif
