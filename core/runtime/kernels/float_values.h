/* float_values: tensors of real types as floats, for kernels that compute in float alone. */
#ifndef KERNELS_FLOAT_VALUES_H
#define KERNELS_FLOAT_VALUES_H

#include "runtime/kernel.h"

/* The elements of a tensor of any real type as floats: the tensor itself if it has floats.
 * The caller releases it. */
struct status float_values(struct kernel_context *k, const struct tensor *x, struct tensor *out);

/* Zeroed floats that add up to `out`, a tensor of a floating type: `out` itself if it has floats.
 * float_sums_end stores and releases them. */
struct status float_sums_begin(struct kernel_context *k, struct tensor *out, struct tensor *sums);
void float_sums_end(struct tensor *sums, struct tensor *out);

#endif
