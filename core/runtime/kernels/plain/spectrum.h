/*
 * spectrum: singular values and eigenvalues of one matrix, by the LAPACK that OpenBLAS contains.
 * Matrices are stored by columns, as LAPACK has them. Types and sizes are those of linear.h, and
 * the caller holds one of OpenBLAS's buffers (blas_buffers.h). `work` has spectrum_work(…) bytes.
 */
#ifndef PLAIN_SPECTRUM_H
#define PLAIN_SPECTRUM_H

#include <stdbool.h>
#include <stddef.h>

#include "tensor/dtype.h"

enum vectors { VECTORS_NONE, VECTORS_SOME, VECTORS_ALL };

/* Bytes of work for a matrix of up to n rows and columns. */
size_t spectrum_work(enum dtype dtype, int n);

/* a [m, n] = u · diag(values) · v^H, with p = min(m, n) real values, the greatest first. SOME: u
 * [m, p], v_adjoint [p, n]; ALL: u [m, m], v_adjoint [n, n]. Overwrites a. False: no convergence.
 */
bool spectrum_singular(enum dtype dtype, enum vectors vectors, int m, int n, void *a, void *values,
                       void *u, void *v_adjoint, void *work);

/* The real eigenvalues of a Hermitian a [n, n], the least first; only the upper or the lower
 * triangle is read. Replaces a by the eigenvectors if `vectors`. False: no convergence. */
bool spectrum_hermitian(enum dtype dtype, bool vectors, bool upper, int n, void *a, void *values,
                        void *work);

/* The eigenvalues [n] of any a [n, n] of a complex type, and its eigenvectors [n, n] unless that is
 * NULL. Overwrites a. False: no convergence. */
bool spectrum_general(enum dtype dtype, int n, void *a, void *values, void *vectors, void *work);

/* The Schur form of any a [n, n] of complex128: a = u · t · u^H, where t is upper triangular and
 * replaces a. `values` has room for n. False: no convergence. */
bool spectrum_schur(int n, void *a, void *u, void *values, void *work);

/* Replaces b by the x [n, columns] of least norm among those with the least |a · x - b|, for a
 * [m, n] of complex128, which is overwritten. b has max(m, n) rows. Singular values below rcond
 * times the greatest count as 0. `order` has n elements; `work` is of
 * spectrum_work(DT_COMPLEX128, max(m, n, columns)). */
void spectrum_least_squares(int m, int n, int columns, double rcond, void *a, void *b, int *order,
                            void *work);

#endif
