/*
 * kept_blocks: the blocks of rows that were read from a file once and stay in memory, so that later
 * epochs do not read them again. All readers of a file_split share them.
 *
 * A block has `rows` rows, or fewer at the end of the file, and begins at a multiple of that. It
 * never changes, and stays until kept_blocks_finish. Once the blocks take bytes_max, no more are
 * added. Their columns are packed: a row of 39 ids below 2^31 takes 340 bytes in place of 496.
 *
 * Threads: any, between init and finish
 */
#ifndef TRAINER_DATA_KEPT_BLOCKS_H
#define TRAINER_DATA_KEPT_BLOCKS_H

#include <pthread.h>

#include "trainer/records/record_reader.h"

struct kept_block {
    struct columns columns;
    struct record_mark end; /* where the next block begins */
    bool can_go;            /* false: only the number of its first record is known */
    bool is_last;           /* the file ends with it */
};

struct kept_blocks {
    size_t rows;      /* of a block */
    size_t bytes_max; /* 0: nothing is kept */
    pthread_mutex_t lock;
    size_t bytes;
    struct kept_block **list; /* [count]: in the file's order; NULL: not kept */
    size_t count;
};

void kept_blocks_init(struct kept_blocks *blocks, size_t rows, size_t bytes_max);
void kept_blocks_finish(struct kept_blocks *blocks);

/* The block that begins at this record; NULL: it is not kept. */
const struct kept_block *kept_blocks_find(struct kept_blocks *blocks, uint64_t record);

/* Keeps a copy of the block that begins at this record, and returns it. NULL: it is not kept,
 * because there is no room for it or another reader was faster. */
const struct kept_block *kept_blocks_add(struct kept_blocks *blocks, uint64_t record,
                                         const struct kept_block *block);

#endif
