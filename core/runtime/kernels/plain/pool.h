/*
 * pool: pooling of images, NHWC; sizes as in conv.h with m = c. A maximum's gradient goes to the
 * first of equal elements, and NaN is never one; an average counts only what lies inside of the
 * image.
 */
#ifndef KERNELS_PLAIN_POOL_H
#define KERNELS_PLAIN_POOL_H

#include "runtime/kernels/plain/conv.h"

void max_pool_f32(const struct conv_size *size, const float *x, float *out);
void max_pool_f64(const struct conv_size *size, const double *x, double *out);
void avg_pool_f32(const struct conv_size *size, const float *x, float *out);
void avg_pool_f64(const struct conv_size *size, const double *x, double *out);
void max_pool_grad_f32(const struct conv_size *size, const float *x, const float *dy, float *dx);
void avg_pool_grad_f32(const struct conv_size *size, const float *dy, float *dx);

#endif
