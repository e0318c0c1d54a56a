/*
 * softmax: of rows of n logits, and losses of them. `x` is [rows, n].
 */
#ifndef KERNELS_PLAIN_SOFTMAX_H
#define KERNELS_PLAIN_SOFTMAX_H

#include <stdint.h>

/* out [rows, n], which may be x. */
void softmax_f32(const float *x, float *out, int64_t rows, int64_t n);
void softmax_f64(const double *x, double *out, int64_t rows, int64_t n);
void log_softmax_f32(const float *x, float *out, int64_t rows, int64_t n);
void log_softmax_f64(const double *x, double *out, int64_t rows, int64_t n);

/* The steps of a row, x [n]. */
/* The maximum, which keeps exp from overflowing; NaN if there is one. */
float softmax_greatest(const float *x, int64_t n);
/* out [n] = exp(x - most); returns the sum. out may be x. */
float softmax_exp(const float *x, float most, float *out, int64_t n);

/* labels [rows, n]: loss [rows] = -sum labels · log softmax(x); backprop [rows, n] = softmax(x) -
 * labels. */
void cross_entropy_f32(const float *x, const float *labels, float *loss, float *backprop,
                       int64_t rows, int64_t n);
void cross_entropy_f64(const double *x, const double *labels, double *loss, double *backprop,
                       int64_t rows, int64_t n);
/* The same for one row, whose labels are 1 at `label`, in [0, n), and 0 elsewhere: x [n], loss [1],
 * backprop [n]. */
void sparse_cross_entropy_f32(const float *x, int64_t label, float *loss, float *backprop,
                              int64_t n);
void sparse_cross_entropy_f64(const double *x, int64_t label, double *loss, double *backprop,
                              int64_t n);

#endif
