#include <limits.h>

#include "runtime/kernels/plain/matmul.h"

#ifdef SLIPWAY_ONEDNN

#include <dnnl.h>
#include <omp.h>

/*
 * Narrow results go to OpenBLAS, wide ones here: measured on one core, 100x784 by 784x10 takes 33
 * us here and 23 us there, by 784x512 704 us here and 787 us there, 32x784 by 784x512 224 us and
 * 300 us. Packing the weights once wins another 1 %, and costs a second copy of them: not worth it.
 */
#define COLUMNS_MIN 32

bool matmul_onednn_f32(const struct matmul_size *size, const float *a, const float *b, float *out)
{
    static _Thread_local bool
        narrow; /* the library's threads: the setting holds per calling thread */
    if (size->n < COLUMNS_MIN || size->m < 2 || size->k == 0 || size->m > INT_MAX ||
        size->n > INT_MAX || size->k > INT_MAX)
        return false;
    if (!narrow) {
        omp_set_num_threads(1);
        narrow = true;
    }
    dnnl_dim_t lda = size->transpose_a ? size->m : size->k,
               ldb = size->transpose_b ? size->k : size->n;
    return dnnl_sgemm(size->transpose_a ? 'T' : 'N', size->transpose_b ? 'T' : 'N', size->m,
                      size->n, size->k, 1, a, lda, b, ldb, 0, out, size->n) == dnnl_success;
}

#else

bool matmul_onednn_f32(const struct matmul_size *size, const float *a, const float *b, float *out)
{
    (void)size, (void)a, (void)b, (void)out;
    return false;
}

#endif
