/*
 * grpc_frame: an outgoing message in gRPC's framing. It is sent in runs that point to where the
 * bytes are:
 *
 *     compressed 0 | size, 4 bytes, big-endian | header … | field 15: tag, varint size | pieces …
 *
 * Counted: the stream that sends it holds a reference, and so does each run in the write queue.
 */
#ifndef RPC_GRPC_FRAME_H
#define RPC_GRPC_FRAME_H

#include <sys/uio.h>

#include "rpc/message.h"

#define GRPC_PREFIX_SIZE 5

struct grpc_frame {
    struct grpc_frame *next; /* in its stream's queue */
    struct message message;
    size_t size, left; /* both with the prefix; left: not returned yet */
    int segment;       /* of the next run: 0 prefix, 1 header, 2 tag, 3 + i piece i */
    size_t offset;
    int references; /* 0: free for grpc_frame_init */
    void (*gone)(struct grpc_frame *frame);
    unsigned char prefix[GRPC_PREFIX_SIZE], tag_size;
    char tag[1 + VARINT_MAX];
};

/* The size of the message on the wire, without the prefix. */
size_t grpc_frame_message_size(const struct message *message);

/* Takes *message, which is below 4 GiB. */
struct grpc_frame *grpc_frame_create(struct message *message);
/* The same in place; `gone` is called when the last reference is dropped. */
void grpc_frame_init(struct grpc_frame *frame, struct message *message,
                     void (*gone)(struct grpc_frame *frame));
/* The bytes of `text`, which outlives the stream, without a prefix. */
struct grpc_frame *grpc_frame_create_unframed(const char *text);
void grpc_frame_acquire(struct grpc_frame *frame);
void grpc_frame_release(struct grpc_frame *frame); /* accepts NULL */

/* The next run of at most `max` bytes. At least one byte must be left. */
struct iovec grpc_frame_next_run(struct grpc_frame *frame, size_t max);
void grpc_frame_rewind(struct grpc_frame *frame); /* starts over, for another connection */

#endif
