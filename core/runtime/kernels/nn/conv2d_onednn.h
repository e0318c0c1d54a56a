/*
 * conv2d_onednn: two-dimensional convolutions with a constant filter, by oneDNN; the kernels that
 * use it are in onednn_ops.c. Images stay NHWC. The filter is converted to oneDNN's own
 * layout once; bias and activation are fused. On AVX2, convolutions of windows run in our own loops
 * (conv2d_tiles.h).
 *
 * oneDNN compiles a primitive for each image size. The first CONV2D_ONEDNN_SIZES sizes get one; for
 * any further size conv2d_onednn_run refuses, and the caller computes it with plain loops.
 */
#ifndef KERNELS_CONV2D_ONEDNN_H
#define KERNELS_CONV2D_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define CONV2D_ONEDNN_SIZES 64

enum conv_activation {
    CONV_LINEAR,
    CONV_RELU,
    CONV_RELU6,
    CONV_LEAKY_RELU,
    CONV_ELU,
    CONV_TANH,
    CONV_SIGMOID,
    CONV_SWISH,
    CONV_GELU,
};

struct conv2d_onednn_spec {
    int64_t height, width;     /* of the filter */
    int64_t channels, filters; /* of the images and of the result */
    int64_t groups;            /* as many as channels: depthwise */
    int64_t strides[2], dilations[2];
    const float *filter; /* of a product: [channels, filters], kept by the caller. The filter of a
                            convolution, [height, width, channels / groups, filters], is an argument
                            of each run */
    const float *bias;   /* [filters] or NULL, kept by the caller */
    int64_t adds;        /* 1: adds what `out` holds, before the activation */
    enum conv_activation activation;
    float alpha;
};

struct conv2d_onednn;

/* NULL: oneDNN cannot do it, or Slipway was built without oneDNN. */
struct conv2d_onednn *conv2d_onednn_create(const struct conv2d_onednn_spec *spec);
void conv2d_onednn_destroy(void *conv); /* accepts NULL; void * so that prepare_state can call it */

struct conv2d_onednn_size {
    int64_t batch, height, width; /* of the images */
    int64_t out_height, out_width;
    int64_t before[2], after[2]; /* padding */
};

enum conv_outcome {
    CONV_DONE,
    CONV_REFUSED, /* not computed. If the spec adds, `out` still holds what it would add to */
    CONV_SPOILT,  /* not computed, and `out` was overwritten */
};

/**
 * Shapes  filter as in the spec, or NULL after conv2d_onednn_pack
 *         in [batch, height, width, channels] -> out [batch, out_height, out_width, filters]
 * Threads safe; one at a time compiles a new size
 * Returns anything but CONV_DONE: take the plain loops
 */
enum conv_outcome conv2d_onednn_run(struct conv2d_onednn *conv,
                                    const struct conv2d_onednn_size *size, const float *filter,
                                    const float *in, float *out);

/* Packs the filter for images of this size. The caller then passes NULL to later runs: other
 * sizes that need another layout get it from the packed one. If the packed filter fits into
 * `filter_bytes`, it takes the place of the caller's: *in_place, and the caller keeps that
 * memory until conv2d_onednn_destroy. Otherwise the caller may free it. `scratch` is empty;
 * calls for several filters share its memory. False: oneDNN does not compute this size. To be
 * called before any run. */
bool conv2d_onednn_pack(struct conv2d_onednn *conv, const struct conv2d_onednn_size *size,
                        float *filter, size_t filter_bytes, struct buffer *scratch, bool *in_place);
/* The filter as it was before conv2d_onednn_pack, bit for bit. False: oneDNN failed. */
bool conv2d_onednn_unpack(struct conv2d_onednn *conv, float *filter);

/**
 * A product by the matrix that the filter is: for a spec of height, width, strides, dilations and
 * groups 1. The rows are computed in blocks of a few heights, so that any number of rows takes a
 * handful of compiled sizes.
 *
 * Shapes  in [rows, channels] -> out [rows, filters]
 * Threads safe; one at a time compiles a new size
 * Returns false: not done, take the plain loops
 */
bool conv2d_onednn_multiply(struct conv2d_onednn *conv, int64_t rows, const float *in, float *out);

#endif
