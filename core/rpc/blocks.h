/*
 * blocks: the memory that the messages received on one connection lie in. Kept for the next message
 * (fresh pages cost more than the bytes that fill them), and counted while their receivers hold
 * them: a connection whose messages are not given back is read no further.
 *
 * Threads: a block may be given back by any thread, also when the connection is gone.
 */
#ifndef RPC_BLOCKS_H
#define RPC_BLOCKS_H

#include "base/budget.h"
#include "base/bytes.h"
#include "rpc/mailbox.h"
#include "rpc/reading.h"

#define BLOCK_ALIGNMENT 64 /* of a block's data */

struct blocks;

struct block {
    struct block *next;
    struct blocks *blocks;
    char *memory; /* what was allocated; data lies in it */
    char *data;
    size_t capacity, counted, charged; /* charged: to the budget */
    struct bytes piece;                /* a message's one piece of payload */
    struct reading_piece *reading;     /* the message lies there and not in the block; NULL */
};

/* eased: called in the loop's thread, once after blocks_watch, when the count has fallen. */
struct blocks *blocks_create(struct mailbox *mailbox, void (*eased)(void *context), void *context);
void blocks_close(
    struct blocks *blocks); /* in the loop's thread; lives on until the last is back */

/* From the first block on: blocks are charged to it, also while they are kept, and kept ones are
 * freed when it is short. */
void blocks_charge(struct blocks *blocks, struct budget *budget);

struct block *blocks_take(struct blocks *blocks, size_t size); /* NULL: no memory */
/* For a message of which there is only a word yet that it will have `size`: with a budget, a new
 * block has room for `sure` bytes alone, or is a small one. */
struct block *blocks_take_some(struct blocks *blocks, size_t size, size_t sure);
bool block_grow(struct block *block, size_t size); /* keeps the content */
void block_release(void *block);                   /* a message's release */

/* From now on `size` bytes of it count as held, until it is released. */
void block_count(struct block *block, size_t size);
size_t blocks_held(struct blocks *blocks);
/* True: more than `limit` is held, and `eased` comes when it is not any more. */
bool blocks_watch(struct blocks *blocks, size_t limit);
void blocks_trim(struct blocks *blocks); /* frees what is kept for later */

#endif
