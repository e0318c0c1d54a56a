/*
 * pool: pooling of volumes and images; sizes as in conv.h with m = c. The gradient of a maximum of
 * an image goes to the first of equal elements, never to NaN; that of a volume, to each of them. An
 * average counts only elements inside.
 *
 * x and dx have the shape of conv.h's x, and out, y, dy and places that of its out.
 */
#ifndef KERNELS_PLAIN_POOL_H
#define KERNELS_PLAIN_POOL_H

#include "runtime/kernels/plain/conv.h"

void max_pool_f32(const struct conv_size *size, const float *x, float *out);
void max_pool_f64(const struct conv_size *size, const double *x, double *out);
void avg_pool_f32(const struct conv_size *size, const float *x, float *out);
void avg_pool_f64(const struct conv_size *size, const double *x, double *out);
void max_pool_grad_f32(const struct conv_size *size, const float *x, const float *dy, float *dx);
/* For one volume, finds the first element of each window that equals its y; -1: there is none. */
void max_pool_equal_places_f32(const struct conv_size *size, const float *x, const float *y,
                               int64_t *places);
/* To each element that equals its maximum y. */
void max_pool_each_grad_f32(const struct conv_size *size, const float *x, const float *y,
                            const float *dy, float *dx);
void avg_pool_grad_f32(const struct conv_size *size, const float *dy, float *dx);
void avg_pool_grad_f64(const struct conv_size *size, const double *dy, double *dx);

#endif
