/*
 * reduce: the leaf loops of reductions. `row` folds `count` elements into sums[0]. `columns` folds
 * `rows` rows of `count` elements into sums[0 .. count), row after row. `start` writes the start
 * values.
 * `finish` (may be NULL) turns sums into results, such as means.
 */
#ifndef KERNELS_PLAIN_REDUCE_H
#define KERNELS_PLAIN_REDUCE_H

#include "tensor/dtype.h"

struct fold_rows {
    void (*start)(void *sums, int64_t count);
    void (*row)(const void *x, void *sums, int64_t count);
    void (*columns)(const void *x, void *sums, int64_t rows, int64_t count);
    void (*finish)(const void *sums, void *out, int64_t count, int64_t folded);
    enum dtype wide; /* the dtype of `sums` if it is not that of x and out, else DT_INVALID */
};

struct fold_op {
    const char *name;
    struct fold_rows rows[DTYPE_COUNT];
};
const struct fold_op *fold_op_find(const char *name);

/* The index of the greatest (or least) of x[0], x[step], …; of equals, the first. 0 if no
 * element is greater than the lowest finite number (or less than the highest), from which
 * TensorFlow starts. */
typedef int64_t arg_row(const void *x, int64_t count, int64_t step);
arg_row *arg_row_find(enum dtype dtype, bool minimum); /* NULL: no such type */

#endif
