/*
 * product: matrix products of any type, cut over the threads, which end when the run must.
 */
#ifndef KERNELS_PRODUCT_H
#define KERNELS_PRODUCT_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/matmul.h"

/* op(a) [m, k] · op(b) [k, n] -> out [m, n]. Rows are `ld…` elements apart. */
struct matrix_product {
    enum dtype dtype; /* float, double, int16, int32, int64, complex64 or complex128 */
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    const void *a;
    int64_t lda;
    const void *b;
    int64_t ldb;
    void *out;
    int64_t ldout;
};

/* The time that one thread takes, roughly. */
double product_ns(const struct matrix_product *product);
/* Errors  DEADLINE_EXCEEDED, or why else the run must end: only within products that take more than
 *         a quarter of a second */
struct status product_compute(struct kernel_context *k, const struct matrix_product *product);
/* The same of dense matrices, by the fastest function for their sizes. */
struct status product_dense(struct kernel_context *k, enum dtype dtype,
                            const struct matmul_size *size, const void *a, const void *b,
                            void *out);

/* Computes products [first, end) of several. */
typedef struct status products_body(void *context, int64_t first, int64_t end);
/* All of `count` products of `each_ns`: many short ones are spread over the threads, others are cut
 * one by one. `in_order`: they share memory. Errors as product_compute. */
struct status products_compute(struct kernel_context *k, int64_t count, double each_ns,
                               bool in_order, products_body *body, void *context);

#endif
