/*
 * reduce: the leaf loops of reductions. `row` folds count elements into out[0]; `columns` folds
 * x[0 .. count) into out[0 .. count), element by element; `start` writes what folding starts from;
 * `finish` (may be NULL) turns a sum into a mean.
 */
#ifndef KERNELS_PLAIN_REDUCE_H
#define KERNELS_PLAIN_REDUCE_H

#include "tensor/dtype.h"

struct fold_rows {
    void (*start)(void *out, int64_t count);
    void (*row)(const void *x, void *out, int64_t count);
    void (*columns)(const void *x, void *out, int64_t count);
    void (*finish)(void *out, int64_t count, int64_t folded);
};

struct fold_op {
    const char *name;
    struct fold_rows rows[DTYPE_COUNT];
};
const struct fold_op *fold_op_find(const char *name);

/* The index of the greatest (or least) of x[0], x[step], …; the first of equals. */
typedef int64_t arg_row(const void *x, int64_t count, int64_t step);
arg_row *arg_row_find(enum dtype dtype, bool minimum); /* NULL: no such type */

#endif
