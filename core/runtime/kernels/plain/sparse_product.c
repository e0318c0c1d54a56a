#include "runtime/kernels/plain/sparse_product.h"

#include <complex.h>

/* One comparison covers negative numbers. */
static inline bool is_inside(const struct sparse_matrix *a, int64_t row, int64_t column)
{
    return (uint64_t)row < (uint64_t)a->rows && (uint64_t)column < (uint64_t)a->columns;
}

/* A width of 1, as of a linear model, needs no inner loop. Its sums do not add in memory while the
 * next value belongs to the same row: each would wait for the store of the one before. Its
 * transposed product is a loop of its own as well, without a choice between rows and columns for
 * each entry. */
#define SPARSE_SUMS(name, type)                                                            \
    static int64_t sparse_sums_##name(const struct sparse_matrix *a, const type *values,   \
                                      const type *b, type *out)                            \
    {                                                                                      \
        const int64_t *row_of = a->row_of, *column_of = a->column_of;                      \
        int64_t step = a->step, i = 0;                                                     \
        while (i < a->count) {                                                             \
            int64_t row = *row_of;                                                         \
            if (!is_inside(a, row, *column_of))                                            \
                return i;                                                                  \
            type sum = out[row];                                                           \
            for (; i < a->count && *row_of == row && is_inside(a, row, *column_of);        \
                 i++, row_of += step, column_of += step)                                   \
                sum += values[i] * b[*column_of];                                          \
            out[row] = sum;                                                                \
        }                                                                                  \
        return SPARSE_PRODUCT_OK;                                                          \
    }                                                                                      \
    static int64_t sparse_shares_##name(const struct sparse_matrix *a, const type *values, \
                                        const type *b, type *out)                          \
    {                                                                                      \
        const int64_t *row_of = a->row_of, *column_of = a->column_of;                      \
        int64_t step = a->step;                                                            \
        for (int64_t i = 0; i < a->count; i++, row_of += step, column_of += step) {        \
            if (!is_inside(a, *row_of, *column_of))                                        \
                return i;                                                                  \
            out[*column_of] += values[i] * b[*row_of];                                     \
        }                                                                                  \
        return SPARSE_PRODUCT_OK;                                                          \
    }

#define SPARSE_PRODUCT(name, type)                                                            \
    SPARSE_SUMS(name, type)                                                                   \
    int64_t sparse_product_##name(const struct sparse_matrix *a, const void *values_,         \
                                  bool transposed, const void *b_, int64_t width, void *out_) \
    {                                                                                         \
        const type *values = values_, *b = b_;                                                \
        type *out = out_;                                                                     \
        const int64_t *row_of = a->row_of, *column_of = a->column_of;                         \
        if (width == 1)                                                                       \
            return transposed ? sparse_shares_##name(a, values, b, out)                       \
                              : sparse_sums_##name(a, values, b, out);                        \
        for (int64_t i = 0; i < a->count; i++, row_of += a->step, column_of += a->step) {     \
            if (!is_inside(a, *row_of, *column_of))                                           \
                return i;                                                                     \
            const type *from = b + (transposed ? *row_of : *column_of) * width;               \
            type *sum = out + (transposed ? *column_of : *row_of) * width;                    \
            for (int64_t k = 0; k < width; k++)                                               \
                sum[k] += values[i] * from[k];                                                \
        }                                                                                     \
        return SPARSE_PRODUCT_OK;                                                             \
    }

SPARSE_PRODUCT(f32, float)
SPARSE_PRODUCT(f64, double)
SPARSE_PRODUCT(u32, uint32_t)
SPARSE_PRODUCT(c64, float complex)
SPARSE_PRODUCT(c128, double complex)

sparse_product *sparse_product_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_DOUBLE:
        return sparse_product_f64;
    case DT_INT32:
        return sparse_product_u32;
    case DT_COMPLEX64:
        return sparse_product_c64;
    case DT_COMPLEX128:
        return sparse_product_c128;
    default:
        return sparse_product_f32;
    }
}
