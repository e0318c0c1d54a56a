/*
 * cost_table: the measured durations of the runs of one callable, by the number of rows and by the
 * shape of a row, both in classes that span a factor of two. Without a run in a class, its cost is
 * unknown, however cheap the others were, because clients choose the size.
 *
 * Threads: safe. Zero-initialise it.
 */
#ifndef SERVER_MODELS_COST_TABLE_H
#define SERVER_MODELS_COST_TABLE_H

#include <stdatomic.h>

#include "tensor/tensor.h"

#define COST_ROWS_COUNT   7 /* 1, 2, 4 … 64 rows */
/* number of row shapes in the table; a new one replaces an old one */
#define COST_SHAPES_COUNT 32

/* 18 minutes; costs above it count as this */
#define COST_MAX_NS (((int64_t)1 << 40) - 1)

struct cost_table {
    /* The upper 22 bits are those of the shape of the row; 2 count the last runs that were slow
     * (cost_table.c). The lower 40 bits are the smoothed cost in ns of a run with the class's own
     * number of rows, from which others are scaled; 0: not measured. */
    _Atomic uint64_t cells[COST_SHAPES_COUNT][COST_ROWS_COUNT];
};

/* Describes a run by everything that affects its cost. */
struct cost_key {
    int64_t rows;   /* at least 1 */
    uint32_t shape; /* a hash of the size classes of a row's bytes and of each dimension */
};

/* The key of a run of `rows` rows on these inputs, which have `bytes` bytes (cost_bytes). */
struct cost_key cost_key_of(const struct tensor *inputs, int count, size_t bytes, int64_t rows);
/* The bytes of all inputs, including the texts of strings. */
size_t cost_bytes(const struct tensor *inputs, int count);

/* The estimated cost of a run in ns; 0: unknown. */
int64_t cost_find(const struct cost_table *table, struct cost_key key);
/* The same, but 0 if no run of this class was measured. */
int64_t cost_measured(const struct cost_table *table, struct cost_key key);
void cost_add(struct cost_table *table, struct cost_key key, int64_t took_ns);

#endif
