/*
 * cubic: the four positions that ResizeBicubic weighs in one dimension, and their weights.
 */
#ifndef KERNELS_PLAIN_CUBIC_H
#define KERNELS_PLAIN_CUBIC_H

#include <stdbool.h>
#include <stdint.h>

struct cubic {
    int64_t at[4];
    float weight[4];
};

/* Position i of the output, in a dimension of `in` positions; `scale` is resize_scale. With
 * half_pixel_centers, positions outside the image have no weight. */
void cubic_at(int64_t in, float scale, bool half_pixel_centers, int64_t i, struct cubic *out);

#endif
