#include "runtime/kernels/plain/linear.h"

#include <cblas.h>

/* LAPACK's own names. Debian has their header in another package, whose library is not OpenBLAS. */
typedef void potrf(const char *triangle, const int *n, void *a, const int *lda, int *info);
typedef void getrf(const int *m, const int *n, void *a, const int *lda, int *pivots, int *info);
typedef void getrs(const char *transpose, const int *n, const int *columns, const void *a,
                   const int *lda, const int *pivots, void *b, const int *ldb, int *info);
typedef void geqrf(const int *m, const int *n, void *a, const int *lda, void *scales, void *work,
                   const int *work_size, int *info);
typedef void orgqr(const int *m, const int *n, const int *reflections, void *a, const int *lda,
                   const void *scales, void *work, const int *work_size, int *info);
potrf spotrf_, dpotrf_, cpotrf_, zpotrf_;
getrf sgetrf_, dgetrf_, cgetrf_, zgetrf_;
getrs sgetrs_, dgetrs_, cgetrs_, zgetrs_;
geqrf sgeqrf_, dgeqrf_, cgeqrf_, zgeqrf_;
orgqr sorgqr_, dorgqr_, cungqr_, zungqr_;

static const struct lapack {
    potrf *potrf;
    getrf *getrf;
    getrs *getrs;
    geqrf *geqrf;
    orgqr *orgqr;
} lapacks[DTYPE_COUNT] = {
    [DT_FLOAT] = { spotrf_, sgetrf_, sgetrs_, sgeqrf_, sorgqr_ },
    [DT_DOUBLE] = { dpotrf_, dgetrf_, dgetrs_, dgeqrf_, dorgqr_ },
    [DT_COMPLEX64] = { cpotrf_, cgetrf_, cgetrs_, cgeqrf_, cungqr_ },
    [DT_COMPLEX128] = { zpotrf_, zgetrf_, zgetrs_, zgeqrf_, zungqr_ },
};

bool linear_cholesky(enum dtype dtype, int n, void *a)
{
    /* LAPACK reads by columns: it sees the conjugate, and the lower triangle as the upper one. */
    int info;
    lapacks[dtype].potrf("U", &n, a, &n, &info);
    return info == 0;
}

void linear_lu(enum dtype dtype, int n, void *a, int *pivots)
{
    int info; /* a zero on the diagonal, which the caller sees as well */
    lapacks[dtype].getrf(&n, &n, a, &n, pivots, &info);
}

void linear_solve(enum dtype dtype, int n, int columns, const void *a, const int *pivots, void *b)
{
    int info;
    lapacks[dtype].getrs("N", &n, &columns, a, &n, pivots, b, &n, &info);
}

void linear_solve_triangular(enum dtype dtype, bool lower, bool adjoint, int n, int columns,
                             const void *a, void *b)
{
    const enum CBLAS_UPLO triangle = lower ? CblasLower : CblasUpper;
    const enum CBLAS_TRANSPOSE transpose = adjoint ? CblasConjTrans : CblasNoTrans;
    const float one_c64[] = { 1, 0 };
    const double one_c128[] = { 1, 0 };
    switch (dtype) {
    case DT_FLOAT:
        cblas_strsm(CblasRowMajor, CblasLeft, triangle, transpose, CblasNonUnit, n, columns, 1, a,
                    n, b, columns);
        break;
    case DT_DOUBLE:
        cblas_dtrsm(CblasRowMajor, CblasLeft, triangle, transpose, CblasNonUnit, n, columns, 1, a,
                    n, b, columns);
        break;
    case DT_COMPLEX64:
        cblas_ctrsm(CblasRowMajor, CblasLeft, triangle, transpose, CblasNonUnit, n, columns,
                    one_c64, a, n, b, columns);
        break;
    default:
        cblas_ztrsm(CblasRowMajor, CblasLeft, triangle, transpose, CblasNonUnit, n, columns,
                    one_c128, a, n, b, columns);
    }
}

#define WORK_COLUMNS 32 /* that LAPACK reflects at once */

int64_t linear_work(int m, int n)
{
    return (int64_t)WORK_COLUMNS * (m > n ? m : n);
}

static int work_size(int m, int n)
{
    int64_t size = linear_work(m, n);
    return size > INT32_MAX ? INT32_MAX : (int)size;
}

void linear_reflect(enum dtype dtype, int m, int n, void *a, void *scales, void *work)
{
    int info, size = work_size(m, n);
    lapacks[dtype].geqrf(&m, &n, a, &m, scales, work, &size, &info);
}

void linear_reflections_to_q(enum dtype dtype, int m, int columns, int reflections, void *a,
                             const void *scales, void *work)
{
    int info, size = work_size(m, columns);
    lapacks[dtype].orgqr(&m, &columns, &reflections, a, &m, scales, work, &size, &info);
}

void linear_multiply(int m, int n, int k, bool adjoint_x, const void *x, bool adjoint_y,
                     const void *y, void *out)
{
    const double one[2] = { 1, 0 }, zero[2] = { 0, 0 };
    cblas_zgemm(CblasColMajor, adjoint_x ? CblasConjTrans : CblasNoTrans,
                adjoint_y ? CblasConjTrans : CblasNoTrans, m, n, k, one, x, adjoint_x ? k : m, y,
                adjoint_y ? n : k, zero, out, m);
}
