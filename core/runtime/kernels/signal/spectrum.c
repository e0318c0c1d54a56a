/*
 * spectrum: Svd, SelfAdjointEigV2 and Eig, and XLA's variants of the first two. The vectors of a
 * value have a sign, and those of a complex matrix a phase, that nothing determines: LAPACK's may
 * differ from TensorFlow's, and so may the order of Eig's values.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/plain/spectrum.h"

/* ---- what the ops have in common ---- */

enum scratch { A, VALUES, LEFT, RIGHT, WORK, SCRATCH_COUNT };

/* The buffers of one matrix at a time, and where the results go. */
struct job {
    struct kernel_context *k;
    enum dtype dtype;
    struct matrices m;
    int smaller; /* of rows and columns */
    struct tensor scratch[SCRATCH_COUNT];
};

static struct status take(struct job *job, enum scratch which, int64_t rows, int64_t columns)
{
    struct shape shape = shape_of(rows, columns);
    return kernel_scratch(job->k, job->dtype, &shape, &job->scratch[which]);
}

static struct status take_work(struct job *job)
{
    int64_t n = job->m.rows > job->m.columns ? job->m.rows : job->m.columns;
    int64_t size = (int64_t)dtype_size(job->dtype);
    return take(job, WORK, ((int64_t)spectrum_work(job->dtype, (int)n) + size - 1) / size, 1);
}

static void job_release(struct job *job)
{
    tensors_release(SCRATCH_COUNT, job->scratch);
}

/* LAPACK does not end, or gives anything, for what is not finite. */
static bool is_finite(enum dtype dtype, const void *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double complex value = matrix_element(dtype, x, i);
        if (!isfinite(creal(value)) || !isfinite(cimag(value)))
            return false;
    }
    return true;
}

/* The same of the triangle of a [n, n] that is read. */
static bool is_finite_triangle(enum dtype dtype, const void *a, int64_t n, bool lower)
{
    bool finite = true;
    for (int64_t r = 0; r < n && finite; r++)
        finite = is_finite(dtype, at_bytes_const(a, r * n + (lower ? 0 : r), dtype_size(dtype)),
                           lower ? r + 1 : n - r);
    return finite;
}

static void fill_nan(const struct tensor *out, int64_t at, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        matrix_set(out->dtype, out->data, at + i, NAN);
}

/* Real numbers, as LAPACK has them, in the type of the matrix. */
static void put_real(enum dtype dtype, const void *from, int64_t count, void *to)
{
    bool is_wide = dtype == DT_DOUBLE || dtype == DT_COMPLEX128;
    for (int64_t i = 0; i < count; i++)
        matrix_set(dtype, to, i,
                   is_wide ? ((const double *)from)[i] : (double)((const float *)from)[i]);
}

static struct shape values_shape(const struct shape *x, int64_t count)
{
    struct shape shape = shape_make(x->rank - 1, x->dims);
    shape.dims[shape.rank - 1] = count;
    return shape;
}

static struct status outer_output(struct job *job, int index, int64_t rows, int64_t columns,
                                  struct tensor **out)
{
    struct shape shape = kernel_input(job->k, 0)->shape;
    shape.dims[shape.rank - 2] = rows;
    shape.dims[shape.rank - 1] = columns;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(job->k, index, &shape, out);
}

static struct status values_output(struct job *job, int64_t count, struct tensor **out)
{
    struct shape shape = values_shape(&kernel_input(job->k, 0)->shape, count);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(job->k, 0, &shape, out);
}

/* An output that was not requested: TensorFlow leaves a scalar uninitialised. */
static struct status no_output(struct job *job, int index)
{
    struct shape shape = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(job->k, index, &shape, &out));
    matrix_set(out->dtype, out->data, 0, 0);
    return status_ok();
}

/* ---- Svd ---- */

struct svd_state {
    bool vectors, full;
};

static struct status svd_prepare(struct prepare_context *p)
{
    struct svd_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(prepare_node(p), "compute_uv", &state->vectors));
    return node_attr_bool(prepare_node(p), "full_matrices", &state->full);
}

/* XlaSvd gives all vectors. Its max_iter and epsilon tell XLA's Jacobi sweeps when to end, and
 * precision_config how to multiply: LAPACK computes to the last digits. */
static struct status xla_svd_prepare(struct prepare_context *p)
{
    struct svd_state *state = prepare_state(p, sizeof *state, NULL);
    *state = (struct svd_state){ .vectors = true, .full = true };
    return status_ok();
}

static struct status svd_outputs(struct job *job, struct tensor *out[3])
{
    const struct svd_state *state = kernel_state(job->k);
    const struct matrices *m = &job->m;
    TRY(values_output(job, job->smaller, &out[0]));
    if (!state->vectors) {
        TRY(no_output(job, 1));
        return no_output(job, 2);
    }
    TRY(outer_output(job, 1, m->rows, state->full ? m->rows : job->smaller, &out[1]));
    return outer_output(job, 2, m->columns, state->full ? m->columns : job->smaller, &out[2]);
}

static struct status svd_take(struct job *job)
{
    int64_t n = job->m.columns;
    TRY(take(job, A, n, job->m.rows));
    TRY(take(job, VALUES, job->smaller, 1));
    TRY(take(job, LEFT, n, n));
    return take_work(job);
}

/*
 * A matrix by rows is its transpose by columns, conj(v) · s · uᵀ. LAPACK's second factor is then u
 * by rows, and its first the conjugate of v by columns.
 */
static struct status svd_one(struct job *job, int64_t i, struct tensor *const out[3])
{
    const struct svd_state *state = kernel_state(job->k);
    int rows = (int)job->m.rows, columns = (int)job->m.columns;
    int64_t kept = state->full ? columns : job->smaller, size = job->m.rows * job->m.columns;
    int64_t u_size = state->vectors ? out[1]->size / job->m.count : 0;
    int64_t v_size = state->vectors ? out[2]->size / job->m.count : 0;
    size_t bytes = dtype_size(job->dtype);
    void *a = job->scratch[A].data, *v = job->scratch[LEFT].data;
    enum vectors vectors = !state->vectors ? VECTORS_NONE
                           : state->full   ? VECTORS_ALL
                                           : VECTORS_SOME;
    memcpy(a, at_bytes_const(kernel_input(job->k, 0)->data, i * size, bytes), (size_t)size * bytes);
    if (!is_finite(job->dtype, a, size) ||
        !spectrum_singular(job->dtype, vectors, columns, rows, a, job->scratch[VALUES].data, v,
                           state->vectors ? at_bytes(out[1]->data, i * u_size, bytes) : NULL,
                           job->scratch[WORK].data)) {
        fill_nan(out[0], i * job->smaller, job->smaller);
        for (int f = 1; f < 3 && state->vectors; f++)
            fill_nan(out[f], i * (f == 1 ? u_size : v_size), f == 1 ? u_size : v_size);
        return status_ok();
    }
    put_real(job->dtype, job->scratch[VALUES].data, job->smaller,
             at_bytes(out[0]->data, i * job->smaller, bytes));
    if (state->vectors) {
        void *to = at_bytes(out[2]->data, i * v_size, bytes);
        matrix_transpose(job->dtype, kept, columns, v, to);
        conjugate_elements(job->dtype, to, v_size);
    }
    return status_ok();
}

static void put_identities(const struct tensor *out, int64_t count, int64_t n)
{
    for (int64_t i = 0; i < count && out->size > 0; i++)
        matrix_set_identity(out->dtype, n, at_bytes(out->data, i * n * n, dtype_size(out->dtype)));
}

/* All vectors of a matrix without elements: any orthogonal ones. */
static struct status svd_of_nothing(struct job *job, struct tensor *const out[3])
{
    const struct svd_state *state = kernel_state(job->k);
    if (state->vectors && state->full) {
        put_identities(out[1], job->m.count, job->m.rows);
        put_identities(out[2], job->m.count, job->m.columns);
    }
    return status_ok();
}

static struct status for_each_matrix(struct job *job,
                                     struct status (*one)(struct job *, int64_t,
                                                          struct tensor *const *),
                                     struct tensor *const *out)
{
    struct status status = status_ok();
    for (int64_t i = 0; i < job->m.count && status_is_ok(status); i++) {
        status = matrices_begin(job->k);
        if (!status_is_ok(status))
            break;
        status = one(job, i, out);
        matrices_end();
    }
    return status;
}

static struct status svd_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct job job = { .k = k, .dtype = x->dtype };
    struct tensor *out[3] = { 0 };
    struct status status;
    TRY(matrices_find(k, 0, false, &job.m));
    job.smaller = (int)(job.m.rows < job.m.columns ? job.m.rows : job.m.columns);
    TRY(svd_outputs(&job, out));
    if (x->size == 0)
        return svd_of_nothing(&job, out);
    TRY_OR(done, svd_take(&job));
    TRY_OR(done, for_each_matrix(&job, svd_one, out));
done:
    job_release(&job);
    return status;
}

/* ---- SelfAdjointEigV2: reads the lower triangle; XlaSelfAdjointEig: the one it is told ---- */

struct eigen_state {
    bool vectors, lower;
};

static struct status eigen_prepare(struct prepare_context *p)
{
    struct eigen_state *state = prepare_state(p, sizeof *state, NULL);
    state->lower = true;
    return node_attr_bool(prepare_node(p), "compute_v", &state->vectors);
}

static struct status xla_eigen_prepare(struct prepare_context *p)
{
    struct eigen_state *state = prepare_state(p, sizeof *state, NULL);
    state->vectors = true;
    return node_attr_bool(prepare_node(p), "lower", &state->lower);
}

static struct status eigen_outputs(struct job *job, struct tensor *out[2])
{
    const struct eigen_state *state = kernel_state(job->k);
    TRY(values_output(job, job->m.rows, &out[0]));
    return state->vectors ? outer_output(job, 1, job->m.rows, job->m.rows, &out[1])
                          : no_output(job, 1);
}

/* LAPACK reads by columns: it sees the conjugate, and the lower triangle as the upper one. */
static struct status hermitian_one(struct job *job, int64_t i, struct tensor *const *out)
{
    const struct eigen_state *state = kernel_state(job->k);
    int64_t n = job->m.rows, size = n * n;
    size_t bytes = dtype_size(job->dtype);
    void *a = job->scratch[A].data;
    bool vectors = out[1] != NULL;
    memcpy(a, at_bytes_const(kernel_input(job->k, 0)->data, i * size, bytes), (size_t)size * bytes);
    if (!is_finite_triangle(job->dtype, a, n, state->lower) ||
        !spectrum_hermitian(job->dtype, vectors, state->lower, (int)n, a, job->scratch[VALUES].data,
                            job->scratch[WORK].data)) {
        fill_nan(out[0], i * n, n);
        if (vectors)
            fill_nan(out[1], i * size, size);
        return status_ok();
    }
    put_real(job->dtype, job->scratch[VALUES].data, n, at_bytes(out[0]->data, i * n, bytes));
    if (vectors) {
        void *to = at_bytes(out[1]->data, i * size, bytes);
        matrix_transpose(job->dtype, n, n, a, to);
        conjugate_elements(job->dtype, to, size);
    }
    return status_ok();
}

static struct status hermitian_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct job job = { .k = k, .dtype = x->dtype };
    struct tensor *out[2] = { 0 };
    struct status status;
    TRY(matrices_find(k, 0, true, &job.m));
    TRY(eigen_outputs(&job, out));
    if (x->size == 0)
        return status_ok();
    TRY_OR(done, take(&job, A, job.m.rows, job.m.rows));
    TRY_OR(done, take(&job, VALUES, job.m.rows, 1));
    TRY_OR(done, take_work(&job));
    TRY_OR(done, for_each_matrix(&job, hermitian_one, out));
done:
    job_release(&job);
    return status;
}

/* ---- SelfAdjointEig: the values are the first row of the output, the vectors the others ---- */

static struct status joined_one(struct job *job, int64_t i, struct tensor *const *out)
{
    int64_t n = job->m.rows, at = i * (n + 1) * n;
    size_t bytes = dtype_size(job->dtype);
    void *a = job->scratch[A].data;
    memcpy(a, at_bytes_const(kernel_input(job->k, 0)->data, i * n * n, bytes),
           (size_t)(n * n) * bytes);
    if (!is_finite_triangle(job->dtype, a, n, true) ||
        !spectrum_hermitian(job->dtype, true, true, (int)n, a, job->scratch[VALUES].data,
                            job->scratch[WORK].data)) {
        fill_nan(out[0], at, (n + 1) * n);
        return status_ok();
    }
    put_real(job->dtype, job->scratch[VALUES].data, n, at_bytes(out[0]->data, at, bytes));
    matrix_transpose(job->dtype, n, n, a, at_bytes(out[0]->data, at + n, bytes));
    return status_ok();
}

static struct status joined_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct job job = { .k = k, .dtype = x->dtype };
    struct tensor *out[1];
    struct status status;
    TRY(matrices_find(k, 0, true, &job.m));
    struct shape shape = x->shape;
    shape.dims[shape.rank - 2]++;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out[0]));
    if (x->size == 0)
        return status_ok();
    TRY_OR(done, take(&job, A, job.m.rows, job.m.rows));
    TRY_OR(done, take(&job, VALUES, job.m.rows, 1));
    TRY_OR(done, take_work(&job));
    TRY_OR(done, for_each_matrix(&job, joined_one, out));
done:
    job_release(&job);
    return status;
}

/* ---- Eig ---- */

static struct status general_one(struct job *job, int64_t i, struct tensor *const *out)
{
    const struct tensor *x = kernel_input(job->k, 0);
    int64_t n = job->m.rows, size = n * n;
    size_t bytes = dtype_size(job->dtype);
    void *a = job->scratch[A].data, *found = out[1] != NULL ? job->scratch[RIGHT].data : NULL;
    for (int64_t r = 0; r < n; r++) /* by columns, and of the complex type */
        for (int64_t c = 0; c < n; c++)
            matrix_set(job->dtype, a, c * n + r,
                       matrix_element(x->dtype, x->data, i * size + r * n + c));
    if (!is_finite(job->dtype, a, size))
        return kernel_error(job->k, STATUS_INVALID_ARGUMENT, "Input matrix contains Infs or NaNs.");
    if (!spectrum_general(job->dtype, (int)n, a, at_bytes(out[0]->data, i * n, bytes), found,
                          job->scratch[WORK].data))
        return kernel_error(job->k, STATUS_INVALID_ARGUMENT,
                            "Eigen decomposition was not successful. The input might not be "
                            "valid.");
    if (found != NULL)
        matrix_transpose(job->dtype, n, n, found, at_bytes(out[1]->data, i * size, bytes));
    return status_ok();
}

static struct status general_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct job job = { .k = k };
    struct tensor *out[2] = { 0 };
    struct status status;
    TRY(matrices_find(k, 0, true, &job.m));
    TRY(eigen_outputs(&job, out));
    job.dtype = out[0]->dtype;
    if (x->size == 0)
        return status_ok();
    TRY_OR(done, take(&job, A, job.m.rows, job.m.rows));
    TRY_OR(done, take(&job, RIGHT, job.m.rows, job.m.rows));
    TRY_OR(done, take_work(&job));
    TRY_OR(done, for_each_matrix(&job, general_one, out));
done:
    job_release(&job);
    return status;
}

static const struct kernel rows[] = {
    { "Svd", DTYPES_LINEAR, .prepare = svd_prepare, .compute = svd_compute, .costly = true },
    { "SelfAdjointEigV2", DTYPES_LINEAR, .prepare = eigen_prepare, .compute = hermitian_compute,
      .costly = true },
    { "BatchSvd", DTYPES_LINEAR, .prepare = svd_prepare, .compute = svd_compute, .costly = true },
    { "BatchSelfAdjointEigV2", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = eigen_prepare,
      .compute = hermitian_compute, .costly = true },
    { "SelfAdjointEig", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .compute = joined_compute,
      .costly = true },
    { "BatchSelfAdjointEig", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .compute = joined_compute,
      .costly = true },
    { "XlaSvd", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = xla_svd_prepare,
      .compute = svd_compute, .costly = true },
    { "XlaSelfAdjointEig", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = xla_eigen_prepare,
      .compute = hermitian_compute, .costly = true },
    { "Eig", DTYPES_LINEAR, .prepare = eigen_prepare, .compute = general_compute, .costly = true },
};
const struct kernel_table kernels_spectrum = { rows, COUNT(rows) };
