#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "runtime/kernels/plain/gemm.h"
#include "runtime/kernels/plain/matmul.h"

/* The library's own threads would come on top of ours: one thread budget. */
static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

static void set_up_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, use_one_thread);
}

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
        set_up_once();                                                            \
        gemm(CblasRowMajor, size->transpose_a ? CblasTrans : CblasNoTrans,        \
             size->transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1, a,        \
             size->transpose_a ? m : k, b, size->transpose_b ? k : n, 0, out, n); \
    }
MATMUL_BLAS(matmul_blas_f32, float, cblas_sgemm, matmul_f32)
MATMUL_BLAS(matmul_blas_f64, double, cblas_dgemm, matmul_f64)

/* The same without BLAS, for counts that it cannot hold. */
static void gemm_plain(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                       const float *a, int64_t lda, const float *b, int64_t ldb, bool add,
                       float *out, int64_t ldout)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = add ? out[i * ldout + j] : 0;
            for (int64_t p = 0; p < k; p++)
                sum += a[transpose_a ? p * lda + i : i * lda + p] *
                       b[transpose_b ? j * ldb + p : p * ldb + j];
            out[i * ldout + j] = sum;
        }
}

void gemm_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
              int64_t lda, const float *b, int64_t ldb, bool add, float *out, int64_t ldout)
{
    struct matmul_size size = { .m = m > ldout ? m : ldout,
                                .k = k > lda ? k : lda,
                                .n = n > ldb ? n : ldb };
    if (m == 0 || n == 0)
        return;
    if (k == 0 || !fits(&size)) {
        gemm_plain(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, add, out, ldout);
        return;
    }
    set_up_once();
    if (gemm_onednn_f32(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, add, out, ldout))
        return;
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b,
                (int)ldb, add ? 1 : 0, out, (int)ldout);
}
