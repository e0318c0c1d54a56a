/* float_values: tensors of real types as floats, for kernels that compute in float alone. */
#ifndef KERNELS_FLOAT_VALUES_H
#define KERNELS_FLOAT_VALUES_H

#include "runtime/kernel.h"

/* The elements of a tensor of any real type as floats: the tensor itself if it has floats.
 * The caller releases it. */
struct status float_values(struct kernel_context *k, const struct tensor *x, struct tensor *out);

/* For kernels that compute half and bfloat16 in float, and other types unchanged. widened: the
 * elements of x as floats, or x itself. widened_output: room for the results, or `out` itself.
 * widened_store rounds the results. The caller releases both tensors. */
struct status widened(struct kernel_context *k, const struct tensor *x, struct tensor *out);
struct status widened_output(struct kernel_context *k, struct tensor *out, struct tensor *wide);
void widened_store(const struct tensor *wide, struct tensor *out);

/* Zeroed floats that add up to `out`, a tensor of a floating type: `out` itself if it has floats.
 * float_sums_end stores and releases them. */
struct status float_sums_begin(struct kernel_context *k, struct tensor *out, struct tensor *sums);
void float_sums_end(struct tensor *sums, struct tensor *out);

#endif
