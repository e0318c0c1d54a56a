/*
 * matmul: matrix products. matmul_f32 is the plain loop that defines the result; the others are
 * faster. Matrices are dense and row-major.
 */
#ifndef KERNELS_PLAIN_MATMUL_H
#define KERNELS_PLAIN_MATMUL_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matmul_size {
    int64_t m, k, n; /* op(a) [m, k] · op(b) [k, n] -> out [m, n] */
    bool transpose_a, transpose_b;
};

/* Overwrites out. */
void matmul_f32(const struct matmul_size *size, const float *a, const float *b, float *out);
void matmul_f64(const struct matmul_size *size, const double *a, const double *b, double *out);
void matmul_i16(const struct matmul_size *size, const int16_t *a, const int16_t *b, int16_t *out);
void matmul_i32(const struct matmul_size *size, const int32_t *a, const int32_t *b, int32_t *out);
void matmul_i64(const struct matmul_size *size, const int64_t *a, const int64_t *b, int64_t *out);
void matmul_c64(const struct matmul_size *size, const float complex *a, const float complex *b,
                float complex *out);
void matmul_c128(const struct matmul_size *size, const double complex *a, const double complex *b,
                 double complex *out);

/* out [n] = x [k] · b [k, n]: one row. Reading b limits its speed. */
void vector_matmul_f32(int64_t k, int64_t n, const float *x, const float *b, float *out);

/* The same by OpenBLAS: matmul_blas.c, the only file that knows it. */
void matmul_blas_f64(const struct matmul_size *size, const double *a, const double *b, double *out);
/* See libraries_reserve. */
int matmul_blas_reserve(int threads, size_t others_bytes);
/* The fastest for these sizes: the row kernel for one row, oneDNN for wide results, otherwise
 * OpenBLAS. */
void matmul_best_f32(const struct matmul_size *size, const float *a, const float *b, float *out);

#endif
