/*
 * outgoing: a message on its way out, as gRPC frames it, cut into runs that lie where they lie:
 *
 *     compressed 0 | size, 4 bytes, big-endian | header … | field 15: tag, varint size | pieces …
 *
 * Counted: the stream that sends it has a reference, and each run of it that waits to be written.
 */
#ifndef RPC_OUTGOING_H
#define RPC_OUTGOING_H

#include <sys/uio.h>

#include "rpc/message.h"

#define GRPC_PREFIX_SIZE 5

struct outgoing {
    struct outgoing *next; /* of its stream */
    struct message message;
    size_t size, left; /* with the prefix; of which not handed out yet */
    int segment;       /* where the next run begins: 0 prefix, 1 header, 2 tag, 3 + i piece i */
    size_t offset;
    int references; /* 0: not in use */
    void (*gone)(struct outgoing *outgoing);
    unsigned char prefix[GRPC_PREFIX_SIZE], tag_size;
    char tag[1 + VARINT_MAX];
};

/* The size of the message on the wire, without the prefix. */
size_t outgoing_message_size(const struct message *message);

struct outgoing *outgoing_create(struct message *message); /* takes it; below 4 GiB */
/* The same in place; `gone`: the last reference is. */
void outgoing_init(struct outgoing *outgoing, struct message *message,
                   void (*gone)(struct outgoing *outgoing));
struct outgoing *outgoing_create_text(const char *text); /* as it is; it outlives the stream */
void outgoing_acquire(struct outgoing *outgoing);
void outgoing_release(struct outgoing *outgoing); /* accepts NULL */

/* The next run, at most `max` bytes, while there is something left. */
struct iovec outgoing_next(struct outgoing *outgoing, size_t max);
void outgoing_rewind(struct outgoing *outgoing); /* from the start, on another connection */

#endif
