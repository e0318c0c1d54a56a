/*
 * linear: factors matrices and solves with them, by the LAPACK that OpenBLAS contains. Element
 * types are float, double, complex64 and complex128. Matrices are stored by columns, as LAPACK has
 * them, unless a comment says otherwise. Sizes are at least 1 and fit an int. The caller holds one
 * of OpenBLAS's buffers (blas_buffers.h).
 */
#ifndef PLAIN_LINEAR_H
#define PLAIN_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* Replaces the lower triangle of a [n, n], stored by rows, by its Cholesky factor. False: a is not
 * positive definite. */
bool linear_cholesky(enum dtype dtype, int n, void *a);

/* Replaces a [n, n] by its factors L (without its diagonal of ones) and U. Row i was exchanged with
 * row pivots[i], counted from 1. */
void linear_lu(enum dtype dtype, int n, void *a, int *pivots);

/* out [m, n] = x · y, of complex128: x [m, k], and y [k, n] or the adjoint of a y [n, k]; x may be
 * given by its adjoint [k, m], too. */
void linear_multiply(int m, int n, int k, bool adjoint_x, const void *x, bool adjoint_y,
                     const void *y, void *out);

/* Replaces b [n, columns] by the x of a · x = b; a and pivots are from linear_lu. */
void linear_solve(enum dtype dtype, int n, int columns, const void *a, const int *pivots, void *b);

/* Replaces b [n, columns] by the x of a · x = b, or of its adjoint: a [n, n] is triangular. Both
 * are stored by rows. */
void linear_solve_triangular(enum dtype dtype, bool lower, bool adjoint, int n, int columns,
                             const void *a, void *b);

/* Replaces a [m, n] by R in its upper triangle, and reflections below it. `work` has
 * linear_work(m, n) elements. */
void linear_reflect(enum dtype dtype, int m, int n, void *a, void *scales, void *work);

/* Replaces a, from linear_reflect, by the first `columns` columns of Q. `reflections` is the number
 * of scales. */
void linear_reflections_to_q(enum dtype dtype, int m, int columns, int reflections, void *a,
                             const void *scales, void *work);
int64_t linear_work(int m, int n);

#endif
