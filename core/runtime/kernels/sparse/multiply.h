/*
 * multiply: a sparse matrix times a dense one (plain/sparse_product.h), in parts between which the
 * deadline is checked: a request of n bytes can ask for n² multiplications.
 */
#ifndef KERNELS_SPARSE_MULTIPLY_H
#define KERNELS_SPARSE_MULTIPLY_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/sparse_product.h"

/**
 * out += a · b, or aᵀ · b if `transposed`, of numbers of `dtype` that C computes in.
 *
 * Returns *wrong: as sparse_product does
 * Errors  those of kernel_check
 */
struct status sparse_multiply(const struct kernel_context *k, const struct sparse_matrix *a,
                              enum dtype dtype, const void *values, bool transposed, const void *b,
                              int64_t width, void *out, int64_t *wrong);

#endif
