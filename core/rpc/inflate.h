/*
 * inflate: messages that a client has compressed, by gzip or deflate (zlib's format).
 */
#ifndef RPC_INFLATE_H
#define RPC_INFLATE_H

#include "rpc/blocks.h"
#include "rpc/message.h"

#define INFLATE_ENCODINGS "identity,deflate,gzip"

/* A grpc-encoding that a message may come in. */
bool inflate_knows(struct bytes encoding);

/**
 * Inflates a message into a block of its own, of which *out_size bytes are the message.
 *
 * Errors  RESOURCE_EXHAUSTED larger than `max`, or no memory; INTERNAL damaged, or bytes behind its
 *         end
 */
struct status inflate_block(struct blocks *blocks, struct bytes compressed, size_t max,
                            struct block **out, size_t *out_size);

/* Inflates a message that a METHOD_PACKED got, in its place; a plain one stays as it is.
 * Errors as above, and then it is unchanged. Any thread. */
struct status message_unpack(struct message *message);

#endif
