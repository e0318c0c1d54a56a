/* image_tools: what the ops on images share. */
#ifndef KERNELS_IMAGE_TOOLS_H
#define KERNELS_IMAGE_TOOLS_H

#include "runtime/kernel.h"

/* The elements of a tensor of any real type as floats: the tensor itself if it has floats.
 * The caller releases it. */
struct status image_floats(struct kernel_context *k, const struct tensor *x, struct tensor *out);

/* Zeroed floats that add up to `out`, a tensor of a floating type: `out` itself if it has floats.
 * image_sums_end stores and releases them. */
struct status image_sums_begin(struct kernel_context *k, struct tensor *out, struct tensor *sums);
void image_sums_end(struct tensor *sums, struct tensor *out);

/* The two positive numbers of input `index`, in the words of TensorFlow's ops that resize. */
struct status image_out_size(struct kernel_context *k, int index, int64_t *height, int64_t *width);

/* An input that must be a scalar; `name` is for the error. */
struct status image_scalar(struct kernel_context *k, int index, const char *name,
                           const struct tensor **out);

#endif
