/*
 * conv2d: what the plain and the fast kernels of convolutions share.
 */
#ifndef KERNELS_CONV2D_H
#define KERNELS_CONV2D_H

#include "runtime/kernels/window.h"

/* The sizes from the shapes of the image [n, h, w, c] and the filter; `depthwise` has the
 * multiplier as its last dimension. INVALID_ARGUMENT in TensorFlow's words. */
struct status conv2d_size(const struct window_attrs *attrs, const struct shape *x,
                          const struct shape *filter, bool depthwise, struct conv_size *out);

/* [n, h, w, m] */
struct shape conv2d_out_shape(const struct conv_size *size);

#endif
