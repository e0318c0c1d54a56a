/*
 * message_buffers: the memory of the messages that one connection receives.
 *
 * Buffers are kept for the next message, because fresh pages cost more than the bytes that fill
 * them. Bytes count as held until their receiver releases them; the connection stops reading while
 * too many are held.
 *
 * Threads: any thread may release a buffer, even after the connection is gone.
 */
#ifndef RPC_MESSAGE_BUFFERS_H
#define RPC_MESSAGE_BUFFERS_H

#include "base/budget.h"
#include "base/bytes.h"
#include "rpc/mailbox.h"
#include "rpc/socket_buffers.h"

#define MESSAGE_BUFFER_ALIGNMENT 64 /* of a buffer's data */

struct message_buffers;

struct message_buffer {
    struct message_buffer *next;
    struct message_buffers *buffers;
    char *memory; /* the allocation; `data` is its aligned part */
    char *data;
    size_t capacity, counted, charged; /* counted: as held; charged: to the budget */
    struct bytes piece;                /* the payload of a message, which is one piece */
    struct socket_buffer *borrowed;    /* NULL, or the socket buffer that the message stayed in */
};

/* `eased` is called in the loop's thread, once after each message_buffers_watch that returned true.
 */
struct message_buffers *message_buffers_create(struct mailbox *mailbox,
                                               void (*eased)(void *context), void *context);
/* in the loop's thread; freed with the last buffer */
void message_buffers_close(struct message_buffers *buffers);

/* Charges all buffers to the budget, including those kept for later; these are freed when the
 * budget runs short. Call it before the first message_buffers_take. */
void message_buffers_charge(struct message_buffers *buffers, struct budget *budget);

/* NULL: no memory */
struct message_buffer *message_buffers_take(struct message_buffers *buffers, size_t size);
/* For a message that claims to have `size` bytes, of which `sure` have arrived. With a budget, a
 * new buffer is small or has room only for `sure`, so a false claim costs nothing. */
struct message_buffer *message_buffers_take_promised(struct message_buffers *buffers, size_t size,
                                                     size_t sure);
/* keeps the content; false: no memory */
bool message_buffer_grow(struct message_buffer *buffer, size_t size);
void message_buffer_release(void *buffer); /* fits `release` of struct message */

/* Counts `size` bytes of the buffer as held until its release. */
void message_buffer_count_held(struct message_buffer *buffer, size_t size);
size_t message_buffers_held(struct message_buffers *buffers);
/* Returns true if more than `limit` bytes are held; `eased` is then called when they no longer
 * are. */
bool message_buffers_watch(struct message_buffers *buffers, size_t limit);
void message_buffers_trim(struct message_buffers *buffers); /* frees the buffers kept for later */

#endif
