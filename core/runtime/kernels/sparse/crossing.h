/*
 * crossing: all combinations of the features of a row, one of each column, which SparseCross,
 * SparseCrossV2, SparseCrossHashed and RaggedCross share. A combination becomes a text, its
 * features joined by a separator, or a hash of them.
 */
#ifndef KERNELS_CROSSING_H
#define KERNELS_CROSSING_H

#include "runtime/kernels/kernel_tools.h"

/* The features of one input: of row r, values[begin[r]] to values[begin[r + 1] - 1]. */
struct crossing_column {
    const struct tensor *values;
    const int64_t *begin; /* NULL: dense, `width` in each row */
    int64_t width;
};

enum crossing_kind {
    CROSSING_TEXT,  /* joined by `separator` */
    CROSSING_HASH,  /* of the key and of each feature; an integer is its own hash */
    CROSSING_HASHED /* of each feature; see crossing.c for the hashes of integers */
};

struct crossing {
    enum crossing_kind kind;
    struct bytes separator;
    int64_t buckets; /* not positive: none */
    uint64_t key;
    bool strong; /* CROSSING_HASHED: by SipHash with `salt` */
    uint64_t salt[2];
    struct crossing_column *columns;
    int count;
    int64_t rows;
    bool is_empty; /* a column has no features: there are no combinations, in however many rows */
};

/* The number of combinations in a row. RESOURCE_EXHAUSTED: it does not fit int64. */
struct status crossing_count(const struct crossing *crossing, int64_t row, int64_t *out);

/* Writes the `count` combinations of a row to values[at …], an int64 or string tensor; the last
 * column's feature changes fastest. `place` has room for one number for each column. */
struct status crossing_row(struct kernel_context *k, const struct crossing *crossing, int64_t row,
                           int64_t count, int64_t *place, struct tensor *values, int64_t at);

#endif
