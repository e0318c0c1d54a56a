/*
 * matmul: matrix products. matmul_f32 is the plain loop that defines the result; the others are
 * faster. Matrices are dense and row-major.
 */
#ifndef KERNELS_PLAIN_MATMUL_H
#define KERNELS_PLAIN_MATMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matmul_size {
    int64_t m, k, n; /* op(a) [m, k] · op(b) [k, n] -> out [m, n] */
    bool transpose_a, transpose_b;
};

/* Overwrites out. */
void matmul_f32(const struct matmul_size *size, const float *a, const float *b, float *out);

/* out [n] = x [k] · b [k, n]: one row. Reading b limits its speed. */
void vector_matmul_f32(int64_t k, int64_t n, const float *x, const float *b, float *out);

/* See libraries_reserve. */
int matmul_blas_reserve(int threads, size_t others_bytes);
/* The fastest for these sizes: the row kernel for one row, oneDNN for wide results, otherwise
 * OpenBLAS. */
void matmul_best_f32(const struct matmul_size *size, const float *a, const float *b, float *out);

#endif
