/*
 * einsum: the plain loop that defines what a product over axes is. Matrix products go faster
 * through gemm.h: see kernels/math/einsum.c.
 */
#ifndef KERNELS_PLAIN_EINSUM_H
#define KERNELS_PLAIN_EINSUM_H

#include "runtime/kernels/plain/strided.h"
#include "tensor/dtype.h"

#define NEST_RANK_MAX STRIDED_RANK_MAX

/* Nested loops over three arrays at once, outermost first. Strides are in elements. */
struct nest {
    int rank;
    int64_t dims[NEST_RANK_MAX];
    int64_t strides[NEST_RANK_MAX][3];
};
void nest_append(struct nest *nest, int64_t dim, int64_t a, int64_t b, int64_t out);

/* The position of the loops. Zero-initialise, then
 *     do { … walk.offsets[0] … } while (nest_next(&nest, &walk)); */
struct nest_walk {
    int64_t offsets[3];
    int64_t at[NEST_RANK_MAX];
};
bool nest_next(const struct nest *nest, struct nest_walk *walk);
/* After `steps` steps. */
struct nest_walk nest_at(const struct nest *nest, int64_t steps);

/**
 * For each index of `kept`: out = Σ over `summed` of a · b. No dimension may be 0.
 *
 * Types   float, double, int32, int64 (which wrap), complex64, complex128
 */
void einsum_plain(enum dtype dtype, const struct nest *kept, const struct nest *summed,
                  const void *a, const void *b, void *out);

#endif
