/*
 * csr: sparse matrices in compressed rows (CSRSparseMatrix), one or a batch of one size. An element
 * of a variant tensor holds one, as a tensor_box of these parts.
 *
 *     sizes   int64 [rank]                   of the dense tensor: [batch,] rows, columns
 *     starts  int32 [batch + 1]              where the entries of each matrix begin
 *     rows    int32 [batch * (rows + 1)]     where those of each row begin, counted in the matrix
 *     columns int32 [entries]
 *     values  T [entries]
 */
#ifndef KERNELS_CSR_H
#define KERNELS_CSR_H

#include "runtime/kernel.h"

#define CSR_DTYPES (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES_COMPLEX)

enum csr_part { CSR_SIZES, CSR_STARTS, CSR_ROWS, CSR_COLUMNS, CSR_VALUES, CSR_PARTS };

struct csr {
    int rank;
    int64_t batch, rows, columns, entries;
    struct tensor parts[CSR_PARTS];
};

/* The matrices of input `index`. Borrowed. INVALID_ARGUMENT: it holds something else. */
struct status csr_input(const struct kernel_context *k, int index, struct csr *out);

/**
 * Makes room for matrices; the row starts are zeros, everything but the sizes is for the caller to
 * fill.
 *
 * Owner   *out, for csr_output or csr_release; a failure leaves nothing
 * Errors  INVALID_ARGUMENT sizes that do not fit int32; RESOURCE_EXHAUSTED
 */
struct status csr_make(struct kernel_context *k, int rank, const int64_t *sizes, int64_t entries,
                       enum dtype dtype, struct csr *out);
/* Output 0. Takes the matrices over. */
struct status csr_output(struct kernel_context *k, struct csr *csr);
void csr_release(struct csr *csr); /* accepts a zeroed one */

/* The transposed matrices: the entries of each row in ascending order. Owner and errors of
 * csr_make. */
struct status csr_transpose(struct kernel_context *k, const struct csr *from, bool conjugate,
                            struct csr *out);

static inline const int32_t *csr_starts(const struct csr *csr)
{
    return tensor_int32s(&csr->parts[CSR_STARTS]);
}

/* The row starts of one matrix: rows + 1 numbers. */
static inline const int32_t *csr_rows(const struct csr *csr, int64_t matrix)
{
    return tensor_int32s(&csr->parts[CSR_ROWS]) + matrix * (csr->rows + 1);
}

static inline int32_t *csr_rows_mut(struct csr *csr, int64_t matrix)
{
    return tensor_int32s_mut(&csr->parts[CSR_ROWS]) + matrix * (csr->rows + 1);
}

static inline const int64_t *csr_sizes(const struct csr *csr)
{
    return tensor_int64s(&csr->parts[CSR_SIZES]);
}

#endif
