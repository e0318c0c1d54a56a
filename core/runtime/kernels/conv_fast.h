/*
 * conv_fast: two-dimensional convolutions with a filter that never changes, by oneDNN. The images
 * stay NHWC; the filter is put into the library's own layout once, bias and activation ride along.
 * The only file pair that knows the library's convolutions.
 *
 * The library compiles a primitive for each size of the images. Up to CONV_FAST_SIZES of them are
 * kept, the first come; another size is refused (false), and the caller takes the plain loops.
 */
#ifndef KERNELS_CONV_FAST_H
#define KERNELS_CONV_FAST_H

#include <stdbool.h>
#include <stdint.h>

#define CONV_FAST_SIZES 64

enum conv_activation {
    CONV_LINEAR,
    CONV_RELU,
    CONV_RELU6,
    CONV_LEAKY_RELU,
    CONV_ELU,
    CONV_TANH,
    CONV_SIGMOID,
};

struct conv_fast_spec {
    int64_t height, width;     /* of the filter */
    int64_t channels, filters; /* of the images and of the result */
    int64_t groups;            /* 1; or channels, for depthwise */
    int64_t strides[2], dilations[2];
    const float *filter; /* [height, width, channels / groups, filters], kept by the caller */
    const float *bias;   /* [filters] or NULL, kept by the caller */
    enum conv_activation activation;
    float alpha;
};

struct conv_fast;

/* NULL where the library cannot do it, or Slipway was built without it. */
struct conv_fast *conv_fast_create(const struct conv_fast_spec *spec);
void conv_fast_destroy(void *conv); /* accepts NULL; void * so that prepare_state can call it */

struct conv_fast_size {
    int64_t batch, height, width; /* of the images */
    int64_t out_height, out_width;
    int64_t before[2], after[2]; /* padding */
};

/**
 * Shapes  in [batch, height, width, channels] -> out [batch, out_height, out_width, filters]
 * Threads safe; one at a time compiles a new size
 * Returns false: not done, take the plain loops
 */
bool conv_fast_run(struct conv_fast *conv, const struct conv_fast_size *size, const float *in,
                   float *out);

#endif
