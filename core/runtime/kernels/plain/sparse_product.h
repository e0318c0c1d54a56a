/*
 * sparse_product: a sparse matrix, as rows and columns with a value each, times a dense one.
 */
#ifndef PLAIN_SPARSE_PRODUCT_H
#define PLAIN_SPARSE_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

#define SPARSE_PRODUCT_OK (-1)

/* A matrix of `rows` by `columns`. Entry i is in row row_of[i * step] and column
 * column_of[i * step]: the step of two lists is 1, that of pairs 2. */
struct sparse_matrix {
    const int64_t *row_of, *column_of;
    int64_t step, count, rows, columns;
};

/* pairs: [count][2] */
static inline struct sparse_matrix sparse_matrix_of_pairs(const int64_t *pairs, int64_t count,
                                                          int64_t rows, int64_t columns)
{
    return (struct sparse_matrix){ pairs, pairs + 1, 2, count, rows, columns };
}

/**
 * out += a · b, or aᵀ · b if `transposed`: the entries are added in their order, so that equal
 * inputs give equal bits.
 *
 * Shapes  values [count], b [columns, width] -> out [rows, width]; transposed: rows and columns
 *         change places
 * Returns SPARSE_PRODUCT_OK, or the first entry that is outside the matrix; later ones were not
 *         added
 */
typedef int64_t sparse_product(const struct sparse_matrix *a, const void *values, bool transposed,
                               const void *b, int64_t width, void *out);
sparse_product sparse_product_f32, sparse_product_f64;
sparse_product sparse_product_u32; /* of int32 as well: the sums wrap */
sparse_product sparse_product_c64, sparse_product_c128;
sparse_product *sparse_product_of(enum dtype dtype);

#endif
