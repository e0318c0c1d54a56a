/*
 * grpc_frame_reader: assembles the messages of one stream from gRPC's frames (drawn in
 * grpc_frame.h).
 *
 * Each message gets a buffer of its own. The rest of a large message is read from the socket
 * straight into it. A message that arrived whole may stay in the socket buffer.
 */
#ifndef RPC_GRPC_FRAME_READER_H
#define RPC_GRPC_FRAME_READER_H

#include "rpc/grpc_frame.h"
#include "rpc/message.h"
#include "rpc/message_buffers.h"

/* Zero-initialise it, then set the fields up to `source`. */
struct grpc_frame_reader {
    struct message_buffers *buffers;
    size_t message_max;
    bool payload;  /* split field 15 off as the message's piece */
    bool encoded;  /* messages may be compressed: message_inflate.h */
    bool packed;   /* compressed messages are passed on as they are */
    bool may_stay; /* messages may stay in their socket buffer */
    /* the buffer of the next bytes, NULL: elsewhere; set before each feed */
    struct socket_buffer *source;
    unsigned char prefix[GRPC_PREFIX_SIZE]; /* of the current message */
    int prefix_size;
    struct message_buffer *buffer; /* NULL: the prefix is not complete */
    char *data;                    /* where the message begins; chosen to align its payload */
    size_t size, have;
    size_t payload_at; /* offset of field 15's bytes, 0: not known yet */
};

/**
 * Takes bytes up to the end of a message. *used: the number taken; *complete: a message is ready
 * for grpc_frame_reader_take; feed the other bytes afterwards.
 *
 * Errors  RESOURCE_EXHAUSTED the message is larger than message_max, or there is no memory;
 *         INTERNAL it is compressed although no header announced that, or damaged
 */
struct status grpc_frame_reader_feed(struct grpc_frame_reader *reader, const char *data,
                                     size_t size, size_t *used, bool *complete);
/* The message belongs to the caller, and counts as held (message_buffers.h) until it is released.
 */
struct message grpc_frame_reader_take(struct grpc_frame_reader *reader);

/* The place for the next bytes of the current message, and its size in *room; NULL: none yet. */
char *grpc_frame_reader_room(struct grpc_frame_reader *reader, size_t *room);

/* of the current message */
size_t grpc_frame_reader_unfinished(const struct grpc_frame_reader *reader);
void grpc_frame_reader_finish(struct grpc_frame_reader *reader);

#endif
