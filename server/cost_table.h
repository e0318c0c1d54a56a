/*
 * cost_table: how long the runs of one callable took, by the size of their inputs: by the number of
 * rows and by the shape of a row. Sizes are classes of up to a factor of two. A size class that no
 * run has had costs "unknown", however cheap others were: a stranger chooses the size.
 *
 * Threads: safe. Zero-initialise it.
 */
#ifndef SERVER_COST_TABLE_H
#define SERVER_COST_TABLE_H

#include <stdatomic.h>

#include "tensor/tensor.h"

#define COST_ROWS_COUNT   7  /* 1, 2, 4 … 64 rows */
#define COST_SHAPES_COUNT 32 /* shapes of a row that are kept; the latest replaces an older one */

struct cost_table {
    /* The upper half says which shape the entry belongs to. The lower half is the smoothed cost in
     * ns; 0: not measured. */
    _Atomic uint64_t cells[COST_SHAPES_COUNT][COST_ROWS_COUNT];
};

/* What the cost of a run depends on. */
struct cost_key {
    int64_t rows;   /* at least 1 */
    uint32_t shape; /* of a row: a hash of the classes of its bytes and of each dimension */
};

/* The key of a run of `rows` rows on these inputs, which have `bytes` in all (cost_bytes). */
struct cost_key cost_key_of(const struct tensor *inputs, int count, size_t bytes, int64_t rows);
/* Bytes of all inputs, those of strings' texts included. */
size_t cost_bytes(const struct tensor *inputs, int count);

/* What a run of this size may cost; 0: unknown. */
uint32_t cost_find(const struct cost_table *table, struct cost_key key);
void cost_add(struct cost_table *table, struct cost_key key, int64_t took_ns);

#endif
