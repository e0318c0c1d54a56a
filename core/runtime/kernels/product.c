#include "runtime/kernels/product.h"

#include <assert.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/gemm.h"

/* Multiplications per nanosecond of one thread. */
static double speed_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
        return 16;
    case DT_COMPLEX64:
        return 8;
    case DT_COMPLEX128:
        return 4;
    default:
        return 1;
    }
}

static double row_ns(const struct matrix_product *p)
{
    return (double)p->n * (double)p->k / speed_of(p->dtype);
}

double product_ns(const struct matrix_product *p)
{
    return (double)p->m * row_ns(p);
}

/* Between two checks of the deadline: a quarter of a second's rows. BLAS packs the whole other
 * matrix for each part, so a part of a few rows would take twice as long. */
#define PART_NS    250e6
#define ROWS_LEAST 512

static int64_t rows_per_check(const struct matrix_product *p)
{
    int64_t least = dtype_is_integer(p->dtype) ? 1 : ROWS_LEAST;
    if (product_ns(p) < PART_NS)
        return p->m;
    int64_t rows = (int64_t)(PART_NS / row_ns(p));
    return rows < least ? least : rows;
}

struct some_rows {
    const struct matrix_product *product;
    int64_t from;
};

static void multiply_rows(void *context, int64_t first, int64_t end)
{
    static gemm_blas *const fast[DTYPE_COUNT] = { [DT_DOUBLE] = gemm_blas_f64,
                                                  [DT_COMPLEX64] = gemm_blas_c64,
                                                  [DT_COMPLEX128] = gemm_blas_c128 };
    static gemm_blas *const plain[DTYPE_COUNT] = {
        [DT_DOUBLE] = gemm_plain_f64,    [DT_INT16] = gemm_plain_i16,
        [DT_INT32] = gemm_plain_i32,     [DT_INT64] = gemm_plain_i64,
        [DT_COMPLEX64] = gemm_plain_c64, [DT_COMPLEX128] = gemm_plain_c128,
    };
    const struct some_rows *some = context;
    const struct matrix_product *p = some->product;
    size_t bytes = dtype_size(p->dtype);
    int64_t from = some->from + first, m = end - first;
    const void *a = at_bytes_const(p->a, p->transpose_a ? from : from * p->lda, bytes);
    void *out = at_bytes(p->out, from * p->ldout, bytes);
    if (p->dtype == DT_FLOAT)
        gemm_f32(p->transpose_a, p->transpose_b, m, p->n, p->k, a, p->lda, p->b, p->ldb, false, out,
                 p->ldout);
    else if (fast[p->dtype] == NULL ||
             !fast[p->dtype](p->transpose_a, p->transpose_b, m, p->n, p->k, a, p->lda, p->b, p->ldb,
                             out, p->ldout))
        plain[p->dtype](p->transpose_a, p->transpose_b, m, p->n, p->k, a, p->lda, p->b, p->ldb, out,
                        p->ldout);
}

/* The functions of gemm.h cut their rows themselves, except those of integers. */
struct status product_compute(struct kernel_context *k, const struct matrix_product *p)
{
    int64_t step = rows_per_check(p);
    for (int64_t at = 0; at < p->m; at += step) {
        struct some_rows some = { p, at };
        int64_t rows = p->m - at < step ? p->m - at : step;
        if (at > 0)
            TRY(kernel_check(k));
        if (dtype_is_integer(p->dtype))
            parallel_for(rows, (double)rows * row_ns(p), multiply_rows, &some);
        else
            multiply_rows(&some, 0, rows);
    }
    return status_ok();
}

struct status product_dense(struct kernel_context *k, enum dtype dtype,
                            const struct matmul_size *size, const void *a, const void *b, void *out)
{
    const struct matrix_product product = { .dtype = dtype,
                                            .transpose_a = size->transpose_a,
                                            .transpose_b = size->transpose_b,
                                            .m = size->m,
                                            .n = size->n,
                                            .k = size->k,
                                            .a = a,
                                            .lda = size->transpose_a ? size->m : size->k,
                                            .b = b,
                                            .ldb = size->transpose_b ? size->k : size->n,
                                            .out = out,
                                            .ldout = size->n };
    if (dtype != DT_FLOAT || rows_per_check(&product) < size->m)
        return product_compute(k, &product);
    matmul_best_f32(size, a, b, out);
    return status_ok();
}

/* ---- several products ---- */

struct some_products {
    products_body *body;
    void *context;
    int64_t from;
};

/* Short products, which cannot fail. */
static void multiply_range(void *context, int64_t first, int64_t end)
{
    const struct some_products *some = context;
    struct status status = some->body(some->context, some->from + first, some->from + end);
    assert(status_is_ok(status));
    (void)status;
}

/* Between two checks of the deadline: about a millisecond of products, but as many as can be spread
 * over the threads. Longer ones are cut one by one. */
#define CHECK_NS           1e6
#define PRODUCTS_PER_CHECK 64
#define CUT_NS             5e6

struct status products_compute(struct kernel_context *k, int64_t count, double each_ns,
                               bool in_order, products_body *body, void *context)
{
    bool one_by_one =
        in_order || each_ns > CUT_NS ||
        (count < PARALLEL_PARTS_MAX && parallel_parts(PARALLEL_PARTS_MAX, each_ns) > 1);
    int64_t least = one_by_one ? 1 : PRODUCTS_PER_CHECK;
    int64_t step = (int64_t)(CHECK_NS / (each_ns + 1));
    step = step < least ? least : step;
    for (int64_t at = 0; at < count; at += step) {
        struct some_products some = { body, context, at };
        int64_t products = count - at < step ? count - at : step;
        TRY(kernel_check(k));
        if (one_by_one)
            TRY(body(context, at, at + products));
        else
            parallel_for(products, (double)products * each_ns, multiply_range, &some);
    }
    return status_ok();
}
