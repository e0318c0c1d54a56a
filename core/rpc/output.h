/*
 * output: bytes that wait to be written to a connection: frame headers and small messages, copied
 * together, and runs of large messages where they lie.
 */
#ifndef RPC_OUTPUT_H
#define RPC_OUTPUT_H

#include "rpc/outgoing.h"
#include "rpc/transport.h"

#define OUTPUT_SMALL_BYTES (32 << 10)
#define OUTPUT_COPY_MAX    4096 /* a shorter run is copied: cheaper than a run of its own */

struct output {
    struct iovec *runs;
    struct outgoing **owners; /* [runs]; NULL: in `small` */
    int first, count, capacity;
    size_t bytes;      /* in all runs */
    char *small;       /* [OUTPUT_SMALL_BYTES] */
    size_t small_used; /* 0 again when everything is written */
    struct copied *copied;
};

void output_finish(struct output *output);
void output_trim(struct output *output); /* frees what an idle connection needs not */
size_t output_small_room(const struct output *output);
void output_copy(struct output *output, const void *data, size_t size); /* within the room */
/* A run of the message; a small one is copied. */
void output_run(struct output *output, struct outgoing *owner, struct iovec run);
/* Writes what it can: bytes written, or -1 with errno. */
ssize_t output_write(struct output *output, struct transport *transport);
/* Copies what waits of this message, so that its memory is not needed any more. */
void output_let_go(struct output *output, struct outgoing *owner);

#endif
