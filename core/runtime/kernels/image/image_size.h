/* image_size: the size of the images that an op makes, and what else the ops that resize share. */
#ifndef KERNELS_IMAGE_SIZE_H
#define KERNELS_IMAGE_SIZE_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/resize.h"

/* The two positive numbers of input 1, in the words of TensorFlow's ops that resize. */
struct status image_out_size(struct kernel_context *k, int64_t *height, int64_t *width);

/* The kernel state of an op with the attributes align_corners and half_pixel_centers. */
struct resize_attrs {
    bool align_corners, half_pixel_centers;
};
/* INVALID_ARGUMENT: both are true */
struct status resize_prepare(struct prepare_context *p);
/* The same for ops that may have both. */
struct status resize_prepare_any(struct prepare_context *p);

/* The sizes of input 0, images [n, h, w, c], and of output 0, which is made. The kernel's state is
 * struct resize_attrs. */
struct status resize_begin(struct kernel_context *k, struct resize_size *size, struct tensor **out);

#endif
