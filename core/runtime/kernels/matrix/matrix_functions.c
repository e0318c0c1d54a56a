/*
 * matrix_functions: MatrixSquareRoot, MatrixLogarithm and MatrixExponential of square matrices,
 * with TensorFlow's branches (the principal ones). They compute in complex doubles, by columns.
 *
 * Roots and logarithms are taken of the triangular factor of a Schur decomposition (Björck and
 * Hammarling, 1983; Kenney and Laub, 1989); the exponential is that of a Padé approximation
 * (Higham, 2005).
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/plain/linear.h"
#include "runtime/kernels/plain/spectrum.h"

enum { A, B, C, D, E, MATRICES };

/* One matrix at a time. */
struct function_job {
    struct kernel_context *k;
    int n;
    struct tensor scratch[MATRICES], values, pivots, work;
    double complex *m[MATRICES]; /* [n, n] each */
};

static struct status job_make(struct kernel_context *k, int64_t n, struct function_job *job)
{
    struct shape matrix = shape_of(n, n), vector = shape_of(n);
    struct shape work = shape_of((int64_t)spectrum_work(DT_COMPLEX128, (int)n));
    *job = (struct function_job){ .k = k, .n = (int)n };
    for (int i = 0; i < MATRICES; i++) {
        TRY(kernel_scratch(k, DT_COMPLEX128, &matrix, &job->scratch[i]));
        job->m[i] = job->scratch[i].data;
    }
    TRY(kernel_scratch(k, DT_COMPLEX128, &vector, &job->values));
    TRY(kernel_scratch(k, DT_INT32, &vector, &job->pivots));
    return kernel_scratch(k, DT_UINT8, &work, &job->work);
}

static void job_release(struct function_job *job)
{
    tensors_release(MATRICES, job->scratch);
    tensor_release(&job->values);
    tensor_release(&job->pivots);
    tensor_release(&job->work);
}

static struct status multiply(const struct function_job *job, const double complex *x,
                              bool adjoint_y, const double complex *y, double complex *out)
{
    TRY(matrices_begin(job->k));
    linear_multiply(job->n, job->n, job->n, false, x, adjoint_y, y, out);
    matrices_end();
    return status_ok();
}

/* The greatest sum of absolute values of a column of x - shift · 1. */
static double norm(int n, const double complex *x, double shift)
{
    double greatest = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += cabs(x[j * n + i] - (i == j ? shift : 0));
        if (isnan(sum))
            return NAN;
        greatest = fmax(greatest, sum);
    }
    return greatest;
}

/* ---- of upper triangular matrices ---- */

/* root · root = x, column by column. */
static struct status take_root(const struct function_job *job, const double complex *x,
                               double complex *root)
{
    int64_t n = job->n;
    memset(root, 0, (size_t)(n * n) * sizeof *root);
    for (int64_t j = 0; j < n; j++) {
        TRY(kernel_check(job->k));
        root[j * n + j] = csqrt(x[j * n + j]);
        for (int64_t i = j; i-- > 0;) {
            double complex sum = x[j * n + i];
            for (int64_t p = i + 1; p < j; p++)
                sum -= root[p * n + i] * root[j * n + p];
            root[j * n + i] = sum / (root[i * n + i] + root[j * n + j]);
        }
    }
    return status_ok();
}

/* sum += weight · x · (1 + node · x)^-1 */
static struct status add_fraction(const struct function_job *job, const double complex *x,
                                  double node, double weight, double complex *column,
                                  double complex *sum)
{
    int64_t n = job->n;
    for (int64_t j = 0; j < n; j++) {
        TRY(kernel_check(job->k));
        for (int64_t i = j + 1; i-- > 0;) {
            double complex value = x[j * n + i];
            for (int64_t p = i + 1; p <= j; p++)
                value -= node * x[p * n + i] * column[p];
            column[i] = value / (1 + node * x[i * n + i]);
            sum[j * n + i] += weight * column[i];
        }
    }
    return status_ok();
}

#define ROOTS_MAX 60   /* a matrix whose roots are not near 1 by then has an eigenvalue of 0 */
#define NEAR_1    0.26 /* where seven nodes give a double's precision */

/* Nodes and weights of Gauss and Legendre on [0, 1]: the integral of x / (1 + s x) over s. */
static const struct {
    double node, weight;
} nodes[] = {
    { 0.025446043828620701, 0.064742483084434865 }, { 0.12923440720030277, 0.13985269574463843 },
    { 0.29707742431130141, 0.19091502525255935 },   { 0.5, 0.20897959183673465 },
    { 0.70292257568869854, 0.19091502525255935 },   { 0.87076559279969723, 0.13985269574463843 },
    { 0.9745539561713793, 0.064742483084434865 },
};

/* log(A) of the triangular A, into `out`: takes square roots until one is near 1, and doubles its
 * logarithm for each of them. */
static struct status take_log(struct function_job *job, double complex *out)
{
    int64_t n = job->n;
    double complex *root = job->m[C], *next = job->m[D];
    int roots = 0;
    memcpy(root, job->m[A], (size_t)(n * n) * sizeof *root);
    for (; norm(job->n, root, 1) > NEAR_1 && roots < ROOTS_MAX; roots++) {
        TRY(take_root(job, root, next));
        double complex *taken = root;
        root = next;
        next = taken;
    }
    for (int64_t i = 0; i < n; i++)
        root[i * n + i] -= 1;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (size_t i = 0; i < COUNT(nodes); i++)
        TRY(add_fraction(job, root, nodes[i].node, nodes[i].weight, job->values.data, out));
    for (int64_t i = 0; i < n * n; i++)
        out[i] *= ldexp(1, roots);
    for (int64_t i = 0; i < n; i++)
        out[i * n + i] = clog(job->m[A][i * n + i]);
    return status_ok();
}

/* ---- of any matrix: A -> A ---- */

static void fill_nan(const struct function_job *job)
{
    for (int64_t i = 0; i < (int64_t)job->n * job->n; i++)
        job->m[A][i] = CMPLX(NAN, NAN);
}

static bool is_finite(const struct function_job *job)
{
    return isfinite(norm(job->n, job->m[A], 0));
}

/* A = B · f(T) · B^H, where T is triangular. */
static struct status apply(struct function_job *job, bool root)
{
    if (!is_finite(job)) {
        fill_nan(job);
        return status_ok();
    }
    TRY(matrices_begin(job->k));
    bool converged = spectrum_schur(job->n, job->m[A], job->m[B], job->values.data, job->work.data);
    matrices_end();
    if (!converged) {
        fill_nan(job);
        return status_ok();
    }
    TRY(root ? take_root(job, job->m[A], job->m[E]) : take_log(job, job->m[E]));
    TRY(multiply(job, job->m[B], false, job->m[E], job->m[C]));
    return multiply(job, job->m[C], true, job->m[B], job->m[A]);
}

/* A real matrix has no real root if an eigenvalue is negative; TensorFlow gives NaN. */
static struct status square_root(struct function_job *job)
{
    enum dtype dtype = kernel_input(job->k, 0)->dtype;
    TRY(apply(job, true));
    double real = 0, imaginary = 0;
    for (int64_t i = 0; i < (int64_t)job->n * job->n; i++) {
        real = fmax(real, fabs(creal(job->m[A][i])));
        imaginary = fmax(imaginary, fabs(cimag(job->m[A][i])));
    }
    if (!dtype_is_complex(dtype) && imaginary > 1e-6 * real)
        fill_nan(job);
    return status_ok();
}

static struct status logarithm(struct function_job *job)
{
    return apply(job, false);
}

#define NORM_MAX 5.371920351148152 /* up to which the approximation holds */

/* out = Σ factors[i] · powers[i], where powers[0] is 1 and a NULL is left out. */
static void combine(int64_t n, const double complex *const *powers, const double *factors,
                    double complex *out)
{
    for (int64_t i = 0; i < n * n; i++) {
        double complex sum = i % (n + 1) == 0 ? factors[0] : 0;
        for (int p = 1; p < 4; p++)
            sum += factors[p] * powers[p][i];
        out[i] = sum;
    }
}

/* With A² in B, A⁴ in C, and A⁶ in D: factors[0] + … + factors[6] A¹², in `out`. */
static struct status polynomial(const struct function_job *job, const double *factors,
                                double complex *scratch, double complex *out)
{
    const double complex *const powers[] = { NULL, job->m[B], job->m[C], job->m[D] };
    const double high[] = { 0, factors[4], factors[5], factors[6] };
    combine(job->n, powers, high, scratch);
    TRY(multiply(job, job->m[D], false, scratch, out));
    combine(job->n, powers, factors, scratch);
    for (int64_t i = 0; i < (int64_t)job->n * job->n; i++)
        out[i] += scratch[i];
    return status_ok();
}

/* (V - U)^-1 (V + U), where U has the odd powers and V the even ones. Each power is the square of
 * the one before. E and f are scratch. */
static struct status approximate(struct function_job *job, double complex *f)
{
    static const double even[] = {
        64764752532480000, 7771770303897600, 129060195264000, 670442572800, 1323241920, 960960, 182
    };
    static const double odd[] = {
        32382376266240000, 1187353796428800, 10559470521600, 33522128640, 40840800, 16380, 1
    };
    int64_t size = (int64_t)job->n * job->n;
    TRY(multiply(job, job->m[A], false, job->m[A], job->m[B]));
    TRY(multiply(job, job->m[B], false, job->m[B], job->m[C]));
    TRY(multiply(job, job->m[C], false, job->m[B], job->m[D]));
    TRY(polynomial(job, odd, job->m[E], f));
    TRY(multiply(job, job->m[A], false, f, job->m[E])); /* U */
    memcpy(job->m[A], job->m[E], (size_t)size * sizeof *f);
    TRY(polynomial(job, even, job->m[E], f)); /* V */
    for (int64_t i = 0; i < size; i++) {
        job->m[B][i] = f[i] - job->m[A][i];
        job->m[A][i] += f[i];
    }
    TRY(matrices_begin(job->k));
    linear_lu(DT_COMPLEX128, job->n, job->m[B], tensor_int32s_mut(&job->pivots));
    linear_solve(DT_COMPLEX128, job->n, job->n, job->m[B], tensor_int32s(&job->pivots), job->m[A]);
    matrices_end();
    return status_ok();
}

static struct status exponential(struct function_job *job)
{
    int64_t size = (int64_t)job->n * job->n;
    int halvings = 0;
    struct shape shape = shape_of(job->n, job->n);
    struct tensor f;
    if (!is_finite(job)) {
        fill_nan(job);
        return status_ok();
    }
    for (double left = norm(job->n, job->m[A], 0); left > NORM_MAX; left /= 2)
        halvings++;
    for (int64_t i = 0; i < size; i++)
        job->m[A][i] *= ldexp(1, -halvings);
    TRY(kernel_scratch(job->k, DT_COMPLEX128, &shape, &f));
    struct status status = approximate(job, f.data);
    tensor_release(&f);
    for (; halvings > 0 && status_is_ok(status); halvings--) {
        status = multiply(job, job->m[A], false, job->m[A], job->m[B]);
        memcpy(job->m[A], job->m[B], (size_t)size * sizeof *job->m[A]);
    }
    return status;
}

typedef struct status matrix_function(struct function_job *job);

static struct status each_matrix(struct kernel_context *k, matrix_function *function)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct function_job job;
    struct tensor *out;
    TRY(matrices_find(k, 0, true, &m));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->size == 0)
        return status_ok();
    int64_t n = m.rows;
    struct status status = job_make(k, n, &job);
    for (int64_t at = 0; at < x->size && status_is_ok(status); at += n * n) {
        for (int64_t i = 0; i < n * n; i++)
            job.m[A][i % n * n + i / n] = matrix_element(x->dtype, x->data, at + i);
        status = function(&job);
        for (int64_t i = 0; i < n * n; i++)
            matrix_set(x->dtype, out->data, at + i, job.m[A][i % n * n + i / n]);
    }
    job_release(&job);
    return status;
}

static struct status square_root_compute(struct kernel_context *k)
{
    return each_matrix(k, square_root);
}

static struct status logarithm_compute(struct kernel_context *k)
{
    return each_matrix(k, logarithm);
}

static struct status exponential_compute(struct kernel_context *k)
{
    return each_matrix(k, exponential);
}

static const struct kernel rows[] = {
    { "MatrixSquareRoot", DTYPES_LINEAR, .compute = square_root_compute, .costly = true },
    { "MatrixLogarithm", DTYPES_COMPLEX, .compute = logarithm_compute, .costly = true },
    { "MatrixExponential", DTYPES_LINEAR, .compute = exponential_compute, .costly = true },
};
const struct kernel_table kernels_matrix_functions = { rows, COUNT(rows) };
