/*
 * conv2d_tiles: convolutions of windows on processors with AVX2, in tiles of a few pixels by 16
 * channels of the result, whose sums stay in registers. oneDNN 2.6 has no such loop for images
 * [height, width, channels] on AVX2. Internal to conv2d_onednn.c.
 *
 * Each sum is added up in the order of the filter, from the bias on, wherever its tile begins: the
 * result has the same bits for any number of threads and any batch.
 */
#ifndef KERNELS_CONV2D_TILES_H
#define KERNELS_CONV2D_TILES_H

#include "runtime/kernels/nn/conv2d_onednn.h"

/* Is the convolution one that the processor computes faster in tiles? */
bool conv2d_tiles_suit(const struct conv2d_onednn_spec *spec);

/* A packed filter has as many numbers as the filter. False: some are not finite, and would make NaN
 * of the zeros around an image. */
bool conv2d_tiles_pack(const struct conv2d_onednn_spec *spec, const float *filter, float *packed);
void conv2d_tiles_unpack(const struct conv2d_onednn_spec *spec, const float *packed, float *filter);

/* If the spec adds, `out` holds what is added to. */
void conv2d_tiles_run(const struct conv2d_onednn_spec *spec, const struct conv2d_onednn_size *size,
                      const float *packed, const float *in, float *out);

#endif
