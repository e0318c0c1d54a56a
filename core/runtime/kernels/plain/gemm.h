/*
 * gemm: out = op(a) · op(b) (+ out), rows `ld…` elements apart: by oneDNN if the result is wide,
 * otherwise by OpenBLAS (matmul_blas.c). Both compute on the calling thread; a large result is cut
 * into blocks, one for each thread (base/parallel.h).
 */
#ifndef KERNELS_PLAIN_GEMM_H
#define KERNELS_PLAIN_GEMM_H

#include <stdbool.h>
#include <stdint.h>

void gemm_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
              int64_t lda, const float *b, int64_t ldb, bool add, float *out, int64_t ldout);

/* The same of other types by OpenBLAS (matmul_blas.c), complex ones as pairs. False: nothing is
 * computed, because the sizes are too large for it or no buffer is free (see libraries_reserve). */
typedef bool gemm_blas(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                       const void *a, int64_t lda, const void *b, int64_t ldb, void *out,
                       int64_t ldout);
gemm_blas gemm_blas_f64, gemm_blas_c64, gemm_blas_c128;
/* By plain loops on the calling thread, of any size: always true. Integers wrap. */
gemm_blas gemm_plain_f64, gemm_plain_c64, gemm_plain_c128;
gemm_blas gemm_plain_i16, gemm_plain_i32, gemm_plain_i64;

/* gemm_f32 by oneDNN (matmul_onednn.c). False: not built in, or not for these sizes. */
bool gemm_onednn_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, bool add, float *out,
                     int64_t ldout);

#endif
