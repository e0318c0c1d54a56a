/*
 * conv2d: convolutions of images and volumes, and their sizes.
 */
#ifndef KERNELS_CONV2D_H
#define KERNELS_CONV2D_H

#include "runtime/kernels/nn/sliding_window.h"

/* The sizes from the shapes of the image [n, h, w, c] or volume [n, d, h, w, c] and the filter. If
 * `depthwise`, the last dimension of the filter is the multiplier. INVALID_ARGUMENT in TensorFlow's
 * words. */
struct status conv_size_of(const struct window_attrs *attrs, const struct shape *x,
                           const struct shape *filter, bool depthwise, struct conv_size *out);

/* [n, h, w, m], or of rank 5 [n, d, h, w, m] */
struct shape conv_out_shape(const struct window_attrs *attrs, const struct conv_size *size);

/* Output 0 becomes the convolution. */
struct status conv_forward(struct kernel_context *k, const struct window_attrs *attrs,
                           const struct tensor *x, const struct tensor *filter);
/* The same, but the output has the dimensions `batch` instead of the first. */
struct status conv_forward_batch(struct kernel_context *k, const struct window_attrs *attrs,
                                 const struct shape *batch, const struct tensor *x,
                                 const struct tensor *filter);

#endif
