/*
 * least_squares: MatrixSolveLs, in complex doubles. The fast way solves the normal equations by
 * Cholesky's factor. The other one finds the solution of least norm by an orthogonal decomposition,
 * whatever the rank of the matrix.
 */
#include <complex.h>
#include <float.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/plain/linear.h"
#include "runtime/kernels/plain/spectrum.h"

/* One system at a time: a [m, n], b [m, columns] -> x [n, columns], all by rows but in the way that
 * is not fast. b and x have room for the greater of m and n, and x has room for a. */
struct equations {
    struct kernel_context *k;
    int m, n, columns;
    double regularizer;
    struct tensor a, b, x, square, order, work;
};

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct status equations_make(struct equations *e)
{
    int64_t most = greater(e->m, e->n), least = e->m < e->n ? e->m : e->n;
    struct shape a = shape_of(e->m, e->n), b = shape_of(most, e->columns), order = shape_of(e->n);
    struct shape square = shape_of(least, least), x = shape_of(most, greater(e->columns, least));
    struct shape work =
        shape_of((int64_t)spectrum_work(DT_COMPLEX128, (int)greater(most, e->columns)));
    TRY(kernel_scratch(e->k, DT_COMPLEX128, &a, &e->a));
    TRY(kernel_scratch(e->k, DT_COMPLEX128, &b, &e->b));
    TRY(kernel_scratch(e->k, DT_COMPLEX128, &x, &e->x));
    if (*(const bool *)kernel_state(e->k))
        return kernel_scratch(e->k, DT_COMPLEX128, &square, &e->square);
    TRY(kernel_scratch(e->k, DT_INT32, &order, &e->order));
    return kernel_scratch(e->k, DT_UINT8, &work, &e->work);
}

static void equations_release(struct equations *e)
{
    struct tensor *const all[] = { &e->a, &e->b, &e->x, &e->square, &e->order, &e->work };
    for (size_t i = 0; i < COUNT(all); i++)
        tensor_release(all[i]);
}

/* (square + regularizer) · x = right, where `square` is Hermitian; x replaces right. */
static bool solve_square(const struct equations *e, int size, void *right)
{
    double complex *square = e->square.data;
    for (int64_t i = 0; i < size; i++)
        square[i * size + i] += e->regularizer;
    if (!linear_cholesky(DT_COMPLEX128, size, square))
        return false;
    linear_solve_triangular(DT_COMPLEX128, true, false, size, e->columns, square, right);
    linear_solve_triangular(DT_COMPLEX128, true, true, size, e->columns, square, right);
    return true;
}

/* out [n, columns] = a^H · y [m, columns]. By columns, this is the transpose: y^T · conj(a). */
static void multiply_adjoint(const struct equations *e, const void *y, void *out)
{
    linear_multiply(e->columns, e->n, e->m, false, y, true, e->a.data, out);
}

/* x = (a^H a + r)^-1 a^H b, or a^H (a a^H + r)^-1 b if a is wide. */
static bool solve_normal(const struct equations *e)
{
    bool solved;
    if (e->m >= e->n) {
        linear_multiply(e->n, e->n, e->m, false, e->a.data, true, e->a.data, e->square.data);
        multiply_adjoint(e, e->b.data, e->x.data);
        return solve_square(e, e->n, e->x.data);
    }
    linear_multiply(e->m, e->m, e->n, true, e->a.data, false, e->a.data, e->square.data);
    solved = solve_square(e, e->m, e->b.data);
    multiply_adjoint(e, e->b.data, e->x.data);
    return solved;
}

static double precision(enum dtype dtype)
{
    return dtype == DT_FLOAT || dtype == DT_COMPLEX64 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* LAPACK stores matrices by columns; b has as many rows as a or x. */
static void solve_orthogonal(const struct equations *e, enum dtype dtype)
{
    int64_t most = greater(e->m, e->n);
    double complex *x = e->x.data;
    matrix_transpose(DT_COMPLEX128, e->m, e->n, e->a.data, x);
    memcpy(e->a.data, x, tensor_bytes(&e->a));
    for (int64_t j = 0; j < e->columns; j++)
        for (int64_t i = 0; i < e->m; i++)
            x[j * most + i] = ((const double complex *)e->b.data)[i * e->columns + j];
    memcpy(e->b.data, x, tensor_bytes(&e->b));
    spectrum_least_squares(e->m, e->n, e->columns, precision(dtype) * (double)most, e->a.data,
                           e->b.data, e->order.data, e->work.data);
    for (int64_t i = 0; i < e->n; i++)
        for (int64_t j = 0; j < e->columns; j++)
            x[i * e->columns + j] = ((const double complex *)e->b.data)[j * most + i];
}

static void load(const struct tensor *from, int64_t at, int64_t count, struct tensor *to)
{
    for (int64_t i = 0; i < count; i++)
        matrix_set(to->dtype, to->data, i, matrix_element(from->dtype, from->data, at + i));
}

static struct status solve_one(struct equations *e, int64_t number, struct tensor *out)
{
    const struct tensor *a = kernel_input(e->k, 0), *b = kernel_input(e->k, 1);
    int64_t size = (int64_t)e->n * e->columns;
    bool solved = true;
    load(a, number * e->m * e->n, (int64_t)e->m * e->n, &e->a);
    load(b, number * e->m * e->columns, (int64_t)e->m * e->columns, &e->b);
    TRY(matrices_begin(e->k));
    if (*(const bool *)kernel_state(e->k))
        solved = solve_normal(e);
    else
        solve_orthogonal(e, a->dtype);
    matrices_end();
    if (!solved)
        return kernel_error(e->k, STATUS_INVALID_ARGUMENT,
                            "Input matrix was rank deficient or ill-conditioned. Try setting "
                            "fast=False or provide a larger l2_regularizer > 0.");
    for (int64_t i = 0; i < size; i++)
        matrix_set(out->dtype, out->data, number * size + i,
                   ((const double complex *)e->x.data)[i]);
    return status_ok();
}

static struct status check_regularizer(const struct kernel_context *k)
{
    if (kernel_input(k, 2)->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "regularizer must be a scalar, got shape %s",
                            shape_text(&kernel_input(k, 2)->shape));
    if (!(tensor_doubles(kernel_input(k, 2))[0] >= 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "l2_regularizer must be >= 0.");
    return status_ok();
}

static struct status least_squares_compute(struct kernel_context *k)
{
    struct matrices a, b;
    struct tensor *out;
    TRY(matrices_find(k, 0, false, &a));
    TRY(matrices_find(k, 1, false, &b));
    TRY(matrices_check_right_sides(k, a.rows));
    TRY(check_regularizer(k));
    struct shape shape = kernel_input(k, 0)->shape;
    shape.dims[shape.rank - 2] = a.columns;
    shape.dims[shape.rank - 1] = b.columns;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    memset(out->data, 0, tensor_bytes(out));
    if (out->size == 0 || a.rows == 0)
        return status_ok();
    struct equations equations = { .k = k,
                                   .m = (int)a.rows,
                                   .n = (int)a.columns,
                                   .columns = (int)b.columns,
                                   .regularizer = tensor_doubles(kernel_input(k, 2))[0] };
    struct status status = equations_make(&equations);
    for (int64_t i = 0; i < a.count && status_is_ok(status); i++)
        status = solve_one(&equations, i, out);
    equations_release(&equations);
    return status;
}

static struct status least_squares_prepare(struct prepare_context *p)
{
    bool *fast = prepare_state(p, sizeof *fast, NULL);
    return node_attr_bool(prepare_node(p), "fast", fast);
}

static const struct kernel rows[] = {
    { "MatrixSolveLs", DTYPES_LINEAR, .prepare = least_squares_prepare,
      .compute = least_squares_compute, .costly = true },
    { "BatchMatrixSolveLs", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = least_squares_prepare,
      .compute = least_squares_compute, .costly = true },
};
const struct kernel_table kernels_least_squares = { rows, COUNT(rows) };
