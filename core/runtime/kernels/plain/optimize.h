/*
 * optimize: the updates of TensorFlow's training ops (ApplyAdam, …), as loops over a run of
 * elements of a variable and its slots. trainer/optimizers/optimizer.h has the optimizers of
 * pstrain: they are Keras', in float, and have other settings.
 */
#ifndef KERNELS_PLAIN_OPTIMIZE_H
#define KERNELS_PLAIN_OPTIMIZE_H

#include <complex.h>
#include <stdbool.h>

#include "tensor/dtype.h"

#define OPTIMIZE_VARIABLES_MAX 4
#define OPTIMIZE_SCALARS_MAX   6

struct optimize_step {
    void *variables[OPTIMIZE_VARIABLES_MAX]; /* the variable, then its slots, in the op's order */
    const void *gradient;
    double _Complex scalars[OPTIMIZE_SCALARS_MAX]; /* the other inputs, in the op's order */
    bool flag;                                     /* the attribute that the rule names */
    bool by_rows;                                  /* a gradient of some rows: SparseApply… */
    int64_t count;
};

typedef void optimize_loop(const struct optimize_step *step);

struct optimize_rule {
    const char *name; /* of the op, without Resource, Sparse and Apply */
    int variables_count, scalars_count;
    const char *flag;                  /* "use_nesterov", or NULL */
    optimize_loop *loops[DTYPE_COUNT]; /* half and bfloat16 have none: they go through float */
};

/* The rule of an op such as ResourceSparseApplyFtrl, or NULL. */
const struct optimize_rule *optimize_find(const char *op);

#endif
