/*
 * constraint: one of Keras' constraints on a variable's values, applied after each update: MaxNorm,
 * MinMaxNorm, UnitNorm, NonNeg.
 */
#ifndef TENSOR_CONSTRAINT_H
#define TENSOR_CONSTRAINT_H

#include "tensor/tensor.h"

enum constraint_kind {
    CONSTRAINT_NONE,
    CONSTRAINT_NON_NEGATIVE, /* negative values become 0 */
    CONSTRAINT_NORM,         /* the norms along some axes are scaled into a range */
};

struct constraint {
    enum constraint_kind kind;
    /* CONSTRAINT_NORM: a norm n becomes rate · clip(n, low, high) + (1 - rate) · n. */
    float low, high, rate;
    uint32_t axes; /* bit d: a norm is taken along axis d */
};

/* Does a value depend on values in other rows (indices of axis 0)? */
bool constraint_joins_rows(const struct constraint *constraint);

/**
 * Applies the constraint to the values of a variable, in place.
 *
 * Shapes  values: float, shape_size(shape); the axes are below the shape's rank
 * Source  keras/src/constraints/constraints.py
 */
void constraint_apply(const struct constraint *constraint, const struct shape *shape,
                      float *values);

#endif
