/* image_size: the size of the images that an op makes. */
#ifndef KERNELS_IMAGE_SIZE_H
#define KERNELS_IMAGE_SIZE_H

#include "runtime/kernel.h"

/* The two positive numbers of input 1, in the words of TensorFlow's ops that resize. */
struct status image_out_size(struct kernel_context *k, int64_t *height, int64_t *width);

#endif
