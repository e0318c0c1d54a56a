/*
 * combine: folds numbers into others, element by element, as scatters and segments do with rows
 * that share a place. half and bfloat16 are rounded after each step; sums of integers wrap.
 */
#ifndef KERNELS_COMBINE_H
#define KERNELS_COMBINE_H

#include "tensor/dtype.h"

enum combine {
    COMBINE_ADD,
    COMBINE_SUBTRACT,
    COMBINE_MULTIPLY,
    COMBINE_DIVIDE, /* integers towards 0; x / 0 is 0 */
    COMBINE_MAX,    /* of a number and NaN, the later one, x */
    COMBINE_MIN,
    COMBINE_MAX_FIRST, /* the earlier one */
    COMBINE_MIN_FIRST,
};

/* Types for add, subtract, multiply and divide; max and min have the real ones. */
#define DTYPES_COMBINED (DTYPES_REAL | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))

/* into[i] = into[i] op x[i] */
void combine_elements(enum combine op, enum dtype dtype, const void *x, void *into, int64_t count);
/* The value that changes nothing: 0, 1, or the lowest or highest finite number. */
void combine_start(enum combine op, enum dtype dtype, void *into, int64_t count);

#endif
