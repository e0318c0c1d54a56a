#include "runtime/kernels/plain/spectrum.h"

/* LAPACK's own names; see linear.c. Those of complex types take a second, real buffer of work. */
typedef void gesvd(const char *u, const char *v, const int *m, const int *n, void *a,
                   const int *lda, void *values, void *u_out, const int *ldu, void *v_out,
                   const int *ldv, void *work, const int *work_size, int *info);
typedef void gesvd_complex(const char *u, const char *v, const int *m, const int *n, void *a,
                           const int *lda, void *values, void *u_out, const int *ldu, void *v_out,
                           const int *ldv, void *work, const int *work_size, void *real_work,
                           int *info);
typedef void syev(const char *vectors, const char *triangle, const int *n, void *a, const int *lda,
                  void *values, void *work, const int *work_size, int *info);
typedef void heev(const char *vectors, const char *triangle, const int *n, void *a, const int *lda,
                  void *values, void *work, const int *work_size, void *real_work, int *info);
typedef void geev(const char *left, const char *right, const int *n, void *a, const int *lda,
                  void *values, void *left_out, const int *ldl, void *right_out, const int *ldr,
                  void *work, const int *work_size, void *real_work, int *info);
typedef void gees(const char *vectors, const char *sort, void *select, const int *n, void *a,
                  const int *lda, int *selected, void *values, void *u, const int *ldu, void *work,
                  const int *work_size, void *real_work, int *selected_work, int *info);
typedef void gelsy(const int *m, const int *n, const int *columns, void *a, const int *lda, void *b,
                   const int *ldb, int *order, const double *rcond, int *rank, void *work,
                   const int *work_size, void *real_work, int *info);
gesvd sgesvd_, dgesvd_;
gesvd_complex cgesvd_, zgesvd_;
syev ssyev_, dsyev_;
heev cheev_, zheev_;
geev cgeev_, zgeev_;
gees zgees_;
gelsy zgelsy_;

#define BLOCK 32 /* columns that LAPACK works on at once; its least work is 5 n numbers */

/* Workspace of LAPACK's element type, followed by 5 n real numbers. */
size_t spectrum_work(enum dtype dtype, int n)
{
    return (size_t)n * (BLOCK + 5) * dtype_size(dtype) + (size_t)n * 5 * sizeof(double);
}

static int work_size(int n)
{
    int64_t size = (int64_t)n * (BLOCK + 5);
    return size > INT32_MAX ? INT32_MAX : (int)size;
}

static void *real_work(enum dtype dtype, int n, void *work)
{
    return (char *)work + (size_t)n * (BLOCK + 5) * dtype_size(dtype);
}

bool spectrum_singular(enum dtype dtype, enum vectors vectors, int m, int n, void *a, void *values,
                       void *u, void *v_adjoint, void *work)
{
    static const char *const jobs[] = { "N", "S", "A" };
    const char *job = jobs[vectors];
    int most = m > n ? m : n, least = m > n ? n : m, info = 0, size = work_size(most);
    int v_rows = vectors == VECTORS_SOME ? least : n;
    void *real = real_work(dtype, most, work);
    if (dtype == DT_FLOAT)
        sgesvd_(job, job, &m, &n, a, &m, values, u, &m, v_adjoint, &v_rows, work, &size, &info);
    else if (dtype == DT_DOUBLE)
        dgesvd_(job, job, &m, &n, a, &m, values, u, &m, v_adjoint, &v_rows, work, &size, &info);
    else
        (dtype == DT_COMPLEX64 ? cgesvd_ : zgesvd_)(job, job, &m, &n, a, &m, values, u, &m,
                                                    v_adjoint, &v_rows, work, &size, real, &info);
    return info == 0;
}

bool spectrum_hermitian(enum dtype dtype, bool vectors, bool upper, int n, void *a, void *values,
                        void *work)
{
    const char *job = vectors ? "V" : "N", *triangle = upper ? "U" : "L";
    int info = 0, size = work_size(n);
    void *real = real_work(dtype, n, work);
    if (dtype == DT_FLOAT)
        ssyev_(job, triangle, &n, a, &n, values, work, &size, &info);
    else if (dtype == DT_DOUBLE)
        dsyev_(job, triangle, &n, a, &n, values, work, &size, &info);
    else
        (dtype == DT_COMPLEX64 ? cheev_ : zheev_)(job, triangle, &n, a, &n, values, work, &size,
                                                  real, &info);
    return info == 0;
}

bool spectrum_general(enum dtype dtype, int n, void *a, void *values, void *vectors, void *work)
{
    int info = 0, size = work_size(n), one = 1;
    void *real = real_work(dtype, n, work);
    (dtype == DT_COMPLEX64 ? cgeev_ : zgeev_)("N", vectors != NULL ? "V" : "N", &n, a, &n, values,
                                              NULL, &one, vectors, vectors != NULL ? &n : &one,
                                              work, &size, real, &info);
    return info == 0;
}

bool spectrum_schur(int n, void *a, void *u, void *values, void *work)
{
    int info = 0, size = work_size(n), selected = 0;
    zgees_("V", "N", NULL, &n, a, &n, &selected, values, u, &n, work, &size,
           real_work(DT_COMPLEX128, n, work), NULL, &info);
    return info == 0;
}

void spectrum_least_squares(int m, int n, int columns, double rcond, void *a, void *b, int *order,
                            void *work)
{
    int rows = m > n ? m : n, most = rows > columns ? rows : columns;
    int info = 0, size = work_size(most), rank = 0;
    for (int i = 0; i < n; i++)
        order[i] = 0;
    zgelsy_(&m, &n, &columns, a, &m, b, &rows, order, &rcond, &rank, work, &size,
            real_work(DT_COMPLEX128, most, work), &info);
}
