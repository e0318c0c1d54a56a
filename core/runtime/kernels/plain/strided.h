/*
 * strided: copies between a dense array and one with a stride per dimension. Slices, transposes,
 * repetitions and reversals are such copies. Elements are moved by their size: 1, 2, 4, 8 or 16
 * bytes.
 */
#ifndef KERNELS_PLAIN_STRIDED_H
#define KERNELS_PLAIN_STRIDED_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/shape.h"

#define STRIDED_RANK_MAX (2 * SHAPE_RANK_MAX)

/* Strides are in elements and may be 0 or negative. */
struct strided {
    int rank;
    int64_t dims[STRIDED_RANK_MAX];
    int64_t strides[STRIDED_RANK_MAX];
};

static inline void strided_append(struct strided *strided, int64_t dim, int64_t stride)
{
    strided->dims[strided->rank] = dim;
    strided->strides[strided->rank++] = stride;
}

/* The stride of every `steps`th element. It wraps where an array that fits into memory has one such
 * element at most, whose stride does not matter. */
static inline int64_t stride_of_steps(int64_t stride, int64_t steps)
{
    return (int64_t)((uint64_t)stride * (uint64_t)steps);
}

/* Row-major strides of a dense array of that shape. */
void dense_strides(const struct shape *shape, int64_t *strides);

/* out[i…] = src[sum of index · stride]: `out` is dense. */
void strided_read(const struct strided *strided, size_t element_bytes, const void *src, void *out);
/* out[sum of index · stride] = src[i…]: `src` is dense. */
void strided_write(const struct strided *strided, size_t element_bytes, const void *src, void *out);

#endif
