#include "runtime/kernels/plain/sparse_product.h"

/* One comparison covers negative numbers. */
static inline bool is_inside(const struct sparse_matrix *a, const int64_t *index)
{
    return (uint64_t)index[0] < (uint64_t)a->rows && (uint64_t)index[1] < (uint64_t)a->columns;
}

/* A width of 1, as of a linear model, needs no inner loop. Nor does it add in memory while the next
 * value belongs to the same row: each sum would wait for the store of the one before. */
#define SPARSE_SUMS(type)                                                                   \
    static int64_t sparse_sums_##type(const struct sparse_matrix *a, const type *values,    \
                                      const type *b, type *out)                             \
    {                                                                                       \
        const int64_t *index = a->indices;                                                  \
        int64_t i = 0;                                                                      \
        while (i < a->count) {                                                              \
            int64_t row = index[0];                                                         \
            if (!is_inside(a, index))                                                       \
                return i;                                                                   \
            type sum = out[row];                                                            \
            for (; i < a->count && index[0] == row && is_inside(a, index); i++, index += 2) \
                sum += values[i] * b[index[1]];                                             \
            out[row] = sum;                                                                 \
        }                                                                                   \
        return SPARSE_PRODUCT_OK;                                                           \
    }

#define SPARSE_PRODUCT(type)                                                                \
    SPARSE_SUMS(type)                                                                       \
    int64_t sparse_product_##type(const struct sparse_matrix *a, const type *values,        \
                                  bool transposed, const type *b, int64_t width, type *out) \
    {                                                                                       \
        const int64_t *index = a->indices;                                                  \
        int to = transposed ? 1 : 0;                                                        \
        if (width == 1 && !transposed)                                                      \
            return sparse_sums_##type(a, values, b, out);                                   \
        for (int64_t i = 0; i < a->count; i++, index += 2) {                                \
            if (!is_inside(a, index))                                                       \
                return i;                                                                   \
            const type *from = b + index[1 - to] * width;                                   \
            type *sum = out + index[to] * width;                                            \
            if (width == 1)                                                                 \
                *sum += values[i] * *from;                                                  \
            else                                                                            \
                for (int64_t k = 0; k < width; k++)                                         \
                    sum[k] += values[i] * from[k];                                          \
        }                                                                                   \
        return SPARSE_PRODUCT_OK;                                                           \
    }

SPARSE_PRODUCT(float)
SPARSE_PRODUCT(double)
