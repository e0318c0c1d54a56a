/*
 * matrices: what the ops of linear algebra have in common. All work on the last two dimensions of
 * tensors of float, double, complex64 or complex128.
 */
#ifndef KERNELS_MATRICES_H
#define KERNELS_MATRICES_H

#include <complex.h>

#include "runtime/kernel.h"

#define DTYPES_LINEAR (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES_COMPLEX)

struct matrices {
    int64_t count, rows, columns;
};

/* The matrices of an input. INVALID_ARGUMENT in TensorFlow's words if they must be square and are
 * not, or if a size does not fit an int. */
struct status matrices_find(const struct kernel_context *k, int input, bool square,
                            struct matrices *out);

/* INVALID_ARGUMENT in TensorFlow's words unless input 1 has right sides with this number of rows
 * for the matrices of input 0. */
struct status matrices_check_right_sides(const struct kernel_context *k, int64_t rows);

/* Stand around the work on each matrix. matrices_begin checks the deadline and takes one of
 * OpenBLAS's buffers, which matrices_end returns; if it fails, it has taken none. */
struct status matrices_begin(const struct kernel_context *k);
void matrices_end(void);

/* out [columns, rows] from x [rows, columns], both by rows. Also from rows to columns and back. */
void matrix_transpose(enum dtype dtype, int64_t rows, int64_t columns, const void *x, void *out);
double complex matrix_element(enum dtype dtype, const void *x, int64_t i);
void matrix_set(enum dtype dtype, void *x, int64_t i, double complex value);
void matrix_set_identity(enum dtype dtype, int64_t n, void *out);

#endif
