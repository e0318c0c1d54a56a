/* message_inflate: unpacks messages that a client has compressed with gzip or deflate (zlib's
 * format). */
#ifndef RPC_MESSAGE_INFLATE_H
#define RPC_MESSAGE_INFLATE_H

#include "rpc/message.h"
#include "rpc/message_buffers.h"

#define MESSAGE_ENCODINGS "identity,deflate,gzip"

/* Is this a grpc-encoding that we can read? */
bool message_inflate_knows(struct bytes encoding);

/**
 * Inflates a message into a buffer of its own, of which *out_size bytes are the message.
 *
 * Errors  RESOURCE_EXHAUSTED larger than `max`, or no memory; INTERNAL damaged, or bytes after its
 *         end
 */
struct status message_inflate(struct message_buffers *buffers, struct bytes compressed, size_t max,
                              struct message_buffer **out, size_t *out_size);

/* Replaces a compressed message that a METHOD_PACKED received by its content; a plain one stays
 * unchanged. On failure, for the reasons above, the message is unchanged. Any thread. */
struct status message_unpack(struct message *message);

#endif
