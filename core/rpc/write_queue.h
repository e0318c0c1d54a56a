/*
 * write_queue: the bytes that wait to be written to a connection. Frame heads and small messages
 * are copied together; large messages are written from where they are.
 */
#ifndef RPC_WRITE_QUEUE_H
#define RPC_WRITE_QUEUE_H

#include "rpc/grpc_frame.h"
#include "rpc/transport.h"

#define WRITE_COPY_BYTES (32 << 10)
#define WRITE_COPY_MAX   4096 /* up to this size a copy costs less than a run of its own */

struct write_queue {
    struct iovec *runs;
    struct grpc_frame **owners; /* [runs]; NULL: the run lies in `small` or `copied` */
    int first, count, capacity;
    size_t bytes;      /* in all runs */
    char *small;       /* [WRITE_COPY_BYTES] */
    size_t small_used; /* back to 0 when all is written */
    struct copied *copied;
};

void write_queue_finish(struct write_queue *queue);
void write_queue_trim(struct write_queue *queue); /* frees what an idle connection does not need */
size_t write_queue_copy_room(const struct write_queue *queue);
/* within write_queue_copy_room */
void write_queue_copy(struct write_queue *queue, const void *data, size_t size);
/* Adds a run of `owner`; a short one is copied. */
void write_queue_add(struct write_queue *queue, struct grpc_frame *owner, struct iovec run);
/* Writes what the transport accepts: the number of bytes, or -1 with errno. */
ssize_t write_queue_flush(struct write_queue *queue, struct transport *transport);
/* Copies the queued runs of `owner`, so that its memory is no longer needed. */
void write_queue_detach(struct write_queue *queue, struct grpc_frame *owner);

#endif
