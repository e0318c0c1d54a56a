#include "runtime/kernels/sparse/multiply.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct status sparse_multiply(const struct kernel_context *k, const struct sparse_matrix *a,
                              enum dtype dtype, const void *values, bool transposed, const void *b,
                              int64_t width, void *out, int64_t *wrong)
{
    int64_t entries = width < WORK_PER_CHECK ? WORK_PER_CHECK / (width + 1) + 1 : 1;
    *wrong = SPARSE_PRODUCT_OK;
    for (int64_t at = 0; at < a->count && *wrong == SPARSE_PRODUCT_OK; at += entries) {
        struct sparse_matrix part = *a;
        part.row_of += at * a->step;
        part.column_of += at * a->step;
        part.count = a->count - at < entries ? a->count - at : entries;
        if (at > 0)
            TRY(kernel_check(k));
        *wrong = sparse_product_of(dtype)(&part, at_bytes_const(values, at, dtype_size(dtype)),
                                          transposed, b, width, out);
        if (*wrong != SPARSE_PRODUCT_OK)
            *wrong += at;
    }
    return status_ok();
}
