/*
 * conv: convolution of NHWC images: plain loops, which define the result, and im2col with a matrix
 * product.
 */
#ifndef KERNELS_PLAIN_CONV_H
#define KERNELS_PLAIN_CONV_H

#include <stdbool.h>
#include <stdint.h>

/* One spatial dimension of a convolution or pooling window. */
struct window {
    int64_t in, kernel, stride, dilation, before, out; /* before: elements of padding in front */
};

/* x [n, rows.in, columns.in, c], filter [kh, kw, c / groups, m], out [n, rows.out, columns.out, m]
 */
struct conv_size {
    int64_t n, c, m, groups;
    struct window rows, columns;
};

/* Six nested loops: the definition. */
void conv2d_direct_f32(const struct conv_size *size, const float *x, const float *filter,
                       float *out);
void conv2d_direct_f64(const struct conv_size *size, const double *x, const double *filter,
                       double *out);

/* Floats of scratch that the next three functions need. */
int64_t conv2d_scratch_size(const struct conv_size *size);
void conv2d_f32(const struct conv_size *size, const float *x, const float *filter, float *scratch,
                float *out);
/* dx: the gradient of the input, which is also the transposed convolution. Overwrites. */
void conv2d_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                           float *scratch, float *dx);
void conv2d_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                            float *scratch, float *dfilter);

/* Each channel separately: filter [kh, kw, c, multiplier], out [.., c · multiplier]; m in `size`
 * is c · multiplier. */
void depthwise_f32(const struct conv_size *size, const float *x, const float *filter, float *out);
void depthwise_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                              float *dx);
void depthwise_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                               float *dfilter);

#endif
