#include <cblas.h>
#include <limits.h>
#include <string.h>

#include "runtime/kernels/plain/matmul.h"

/* BLAS counts in int. Larger matrices than that, and empty ones, go another way. */
static bool fits(const struct matmul_size *size)
{
    return size->m <= INT_MAX && size->k <= INT_MAX && size->n <= INT_MAX;
}

#define MATMUL_BLAS(name, T, gemm, plain)                                         \
    void name(const struct matmul_size *size, const T *a, const T *b, T *out)     \
    {                                                                             \
        int m = (int)size->m, k = (int)size->k, n = (int)size->n;                 \
        if (size->m == 0 || size->n == 0)                                         \
            return;                                                               \
        if (size->k == 0 || !fits(size)) {                                        \
            plain(size, a, b, out);                                               \
            return;                                                               \
        }                                                                         \
        gemm(CblasRowMajor, size->transpose_a ? CblasTrans : CblasNoTrans,        \
             size->transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a,        \
             size->transpose_a ? m : k, b, size->transpose_b ? k : n, 0, out, n); \
    }
MATMUL_BLAS(matmul_blas_f32, float, cblas_sgemm, matmul_f32)
MATMUL_BLAS(matmul_blas_f64, double, cblas_dgemm, matmul_f64)
