/*
 * incoming: puts together the messages of one stream, as gRPC frames them (outgoing.h draws it),
 * each in a block of its own. Large ones are read from the socket straight into it; some that came
 * whole stay where they were read to.
 */
#ifndef RPC_INCOMING_H
#define RPC_INCOMING_H

#include "rpc/blocks.h"
#include "rpc/message.h"
#include "rpc/outgoing.h"

/* Zero-initialise it and set the first five. */
struct incoming {
    struct blocks *blocks;
    size_t message_max;
    bool payload;                           /* split off field 15 */
    bool encoded;                           /* they may be compressed: inflate.h */
    bool packed;                            /* such a one is handed on as it is */
    bool may_stay;                          /* they may be left where they were read to, */
    struct reading_piece *reading;          /* which is in here, or NULL: set before each feed */
    unsigned char prefix[GRPC_PREFIX_SIZE]; /* of the message under way */
    int prefix_size;
    struct block *block; /* NULL: the size is not known yet */
    char *data;          /* where in the block it begins: its payload is aligned, if it was found */
    size_t size, have;
    size_t
        payload_at; /* where field 15's bytes begin, if it is known from the first bytes; 0: not */
};

/**
 * Takes bytes, up to the end of a message: *used says how many; *complete: a message is there
 * (incoming_take), and the rest of the bytes comes next.
 *
 * Errors  RESOURCE_EXHAUSTED larger than message_max, or no memory; INTERNAL compressed without a
 *         word in the headers, or badly
 */
struct status incoming_feed(struct incoming *incoming, const char *data, size_t size, size_t *used,
                            bool *complete);
/* The message is the caller's, and counts as held (blocks.h) until it is released. */
struct message incoming_take(struct incoming *incoming);

/* Where bytes of the message under way can be read to directly, *room of them; NULL: nowhere now.
 */
char *incoming_room(struct incoming *incoming, size_t *room);

size_t incoming_unfinished(const struct incoming *incoming); /* bytes of the message under way */
void incoming_finish(struct incoming *incoming);

#endif
