/*
 * padding: XLA's padding of a tensor: elements before each dimension, after it, and between its
 * elements. Negative numbers before and after cut.
 */
#ifndef KERNELS_XLA_PADDING_H
#define KERNELS_XLA_PADDING_H

#include "runtime/kernel.h"

struct xla_padding {
    int64_t low[SHAPE_RANK_MAX], high[SHAPE_RANK_MAX], interior[SHAPE_RANK_MAX];
};

/**
 * Reads `count` pairs of what comes before and after a dimension from an input [count, 2].
 *
 * Errors  INVALID_ARGUMENT another shape, or a number of 2^31 or more in size
 */
struct status padding_pairs(const struct kernel_context *k, int input, int count, int64_t *low,
                            int64_t *high);

/* Does it change a tensor of that rank? */
bool padding_changes(const struct xla_padding *padding, int rank);

/**
 * Errors  INVALID_ARGUMENT a negative dimension, or more than 2^63 elements
 * The numbers of `padding` are below 2^31 in size.
 */
struct status padding_shape(const struct kernel_context *k, const struct shape *shape,
                            const struct xla_padding *padding, struct shape *out);

/* Fills `out`, which has the padded shape, from x and one value of its type. */
void padding_apply(const struct tensor *x, const void *value, const struct xla_padding *padding,
                   struct tensor *out);

#endif
