/*
 * prefetch: a batch_source that makes a few batches in advance, in a thread of its own, while
 * earlier batches are in use.
 *
 *     struct prefetch_options options = { .rows = 100, .batches_max = 4 };
 *     source = prefetch_source(source, columns_count, &options);
 *
 * The batches have the same order and the same rows as without the thread, and an error is returned
 * after the rows before it. Bad records are reported when the thread reads them, up to batches_max
 * batches before they are used. The thread starts at the first `next`, and again if `next` is
 * called after a batch without rows.
 *
 * Memory   that of the batches, which belong to the inner source: up to batches_max + 2. A source
 *          that keeps fewer than three (keep_max) is returned as it is
 * Threads  `next`, `seek` and `destroy` belong to one thread, as with any source
 */
#ifndef TRAINER_DATA_PREFETCH_H
#define TRAINER_DATA_PREFETCH_H

#include "trainer/data/batch_source.h"

#define PREFETCH_BYTES ((size_t)256 << 20)
#define PREFETCH_HELD  2 /* batches that stay valid for the caller */

struct prefetch_options {
    int64_t rows;     /* of every batch: rows_max of each `next` */
    int batches_max;  /* in advance */
    size_t bytes_max; /* of all batches; at least one is prefetched. 0: PREFETCH_BYTES */
};

/* Takes ownership of `inner`. Its batches stay valid for two calls of `next`. */
struct batch_source *prefetch_source(struct batch_source *inner, int columns_count,
                                     const struct prefetch_options *options);

#endif
