#include "runtime/kernels/plain/gemm.h"

#ifdef SLIPWAY_ONEDNN

#include <dnnl.h>
#include <omp.h>

/*
 * Narrow results go to OpenBLAS, wide ones to oneDNN. Measured on one core, oneDNN and OpenBLAS:
 * 100x784 by 784x10 33 us and 23 us; 100x784 by 784x512 704 us and 787 us; 32x784 by 784x512 224 us
 * and 300 us. Constant matrices that gain by it are packed once (onednn_ops.c).
 */
#define COLUMNS_MIN 32

bool gemm_onednn_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, bool add, float *out,
                     int64_t ldout)
{
    /* the library's threads: the setting holds per calling thread */
    static _Thread_local bool narrow;
    if (n < COLUMNS_MIN || m < 2 || k == 0)
        return false;
    if (!narrow) {
        omp_set_num_threads(1);
        narrow = true;
    }
    return dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb,
                      add ? 1 : 0, out, ldout) == dnnl_success;
}

#else

bool gemm_onednn_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, bool add, float *out,
                     int64_t ldout)
{
    (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)b;
    (void)ldb, (void)add, (void)out, (void)ldout;
    return false;
}

#endif
