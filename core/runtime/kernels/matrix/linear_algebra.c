/*
 * linear_algebra: Cholesky and LU factors of matrices, and what follows from them: solutions,
 * inverses, determinants.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/linear.h"

/* ---- Cholesky ---- */

/* The first row whose diagonal element is NaN; n if there is none. */
static int64_t first_nan(enum dtype dtype, int64_t n, const void *a)
{
    int64_t i = 0;
    while (i < n && !isnan(creal(matrix_element(dtype, a, i * n + i))))
        i++;
    return i;
}

/* OpenBLAS does not propagate a NaN: after one on the diagonal, it leaves zeros. */
static void factor_cholesky(enum dtype dtype, int n, void *a)
{
    int64_t lost = linear_cholesky(dtype, n, a) ? first_nan(dtype, n, a) : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (j > i)
                matrix_set(dtype, a, i * n + j, 0);
            else if (j >= lost)
                matrix_set(dtype, a, i * n + j, NAN);
}

static struct status cholesky_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct tensor *out;
    TRY(matrices_find(k, 0, true, &m));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->size == 0)
        return status_ok();
    memcpy(out->data, x->data, tensor_bytes(x));
    for (int64_t i = 0; i < m.count; i++) {
        TRY(matrices_begin(k));
        factor_cholesky(x->dtype, (int)m.rows,
                        at_bytes(out->data, i * m.rows * m.rows, dtype_size(x->dtype)));
        matrices_end();
    }
    return status_ok();
}

/* ---- LU: solutions, inverses, determinants ---- */

/* The factors of one matrix at a time. */
struct factors {
    enum dtype dtype;
    int n;
    struct tensor a, pivots;
};

static struct status factors_make(struct kernel_context *k, enum dtype dtype, int64_t n,
                                  struct factors *out)
{
    struct shape matrix = shape_of(n, n), vector = shape_of(n);
    *out = (struct factors){ .dtype = dtype, .n = (int)n };
    TRY(kernel_scratch(k, dtype, &matrix, &out->a));
    struct status status = kernel_scratch(k, DT_INT32, &vector, &out->pivots);
    if (!status_is_ok(status))
        tensor_release(&out->a);
    return status;
}

static void factors_release(struct factors *factors)
{
    tensor_release(&factors->a);
    tensor_release(&factors->pivots);
}

/* Factors a matrix that is stored by rows, or its adjoint. */
static void factor(struct factors *f, const void *matrix, bool adjoint)
{
    if (adjoint) {
        memcpy(f->a.data, matrix, tensor_bytes(&f->a));
        conjugate_elements(f->dtype, f->a.data, f->a.size);
    } else {
        matrix_transpose(f->dtype, f->n, f->n, matrix, f->a.data);
    }
    linear_lu(f->dtype, f->n, f->a.data, tensor_int32s_mut(&f->pivots));
}

/* The least pivot must be greater than 0. As in Eigen, NaN counts only if it is the first one:
 * later ones make the result NaN. */
static bool is_invertible(const struct factors *f)
{
    double least = INFINITY;
    for (int64_t i = 0; i < f->n; i++) {
        double pivot = cabs(matrix_element(f->dtype, f->a.data, i * f->n + i));
        least = i == 0 || pivot < least ? pivot : least;
    }
    return least > 0;
}

static struct status adjoint_prepare(struct prepare_context *p)
{
    bool *adjoint = prepare_state(p, sizeof *adjoint, NULL);
    return node_attr_bool(prepare_node(p), "adjoint", adjoint);
}

/* Solves for b [n, columns], stored by columns, or fails with `text`. */
static struct status solve_one(struct kernel_context *k, struct factors *f, const void *matrix,
                               int64_t columns, void *b, const char *text)
{
    TRY(matrices_begin(k));
    factor(f, matrix, *(const bool *)kernel_state(k));
    bool invertible = is_invertible(f);
    if (invertible)
        linear_solve(f->dtype, f->n, (int)columns, f->a.data, tensor_int32s(&f->pivots), b);
    matrices_end();
    return invertible ? status_ok() : kernel_error(k, STATUS_INVALID_ARGUMENT, "%s", text);
}

static struct status solve_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct matrices m, right;
    struct factors factors;
    struct tensor *out, columns = { 0 };
    TRY(matrices_find(k, 0, false, &m));
    TRY(matrices_check_right_sides(k, m.columns));
    TRY(matrices_find(k, 0, true, &m));
    TRY(matrices_find(k, 1, false, &right));
    TRY(kernel_output(k, 0, &b->shape, &out));
    if (out->size == 0)
        return status_ok();
    struct shape shape = shape_of(right.columns, right.rows);
    TRY(factors_make(k, a->dtype, m.rows, &factors));
    struct status status = kernel_scratch(k, a->dtype, &shape, &columns);
    size_t size = dtype_size(a->dtype);
    for (int64_t i = 0; i < m.count && status_is_ok(status); i++) {
        int64_t at = i * right.rows * right.columns;
        matrix_transpose(a->dtype, right.rows, right.columns, at_bytes_const(b->data, at, size),
                         columns.data);
        status = solve_one(k, &factors, at_bytes_const(a->data, i * m.rows * m.rows, size),
                           right.columns, columns.data, "Input matrix is not invertible.");
        matrix_transpose(a->dtype, right.columns, right.rows, columns.data,
                         at_bytes(out->data, at, size));
    }
    tensor_release(&columns);
    factors_release(&factors);
    return status;
}

static struct status inverse_each(struct kernel_context *k, const struct matrices *m,
                                  const struct tensor *x, struct tensor *out)
{
    struct factors factors;
    struct tensor columns = { 0 };
    struct shape shape = shape_of(m->rows, m->rows);
    TRY(factors_make(k, x->dtype, m->rows, &factors));
    struct status status = kernel_scratch(k, x->dtype, &shape, &columns);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < m->count && status_is_ok(status); i++) {
        int64_t at = i * m->rows * m->rows;
        matrix_set_identity(x->dtype, m->rows, columns.data);
        status = solve_one(k, &factors, at_bytes_const(x->data, at, size), m->rows, columns.data,
                           "Input is not invertible.");
        matrix_transpose(x->dtype, m->rows, m->rows, columns.data, at_bytes(out->data, at, size));
    }
    tensor_release(&columns);
    factors_release(&factors);
    return status;
}

static struct status inverse_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct tensor *out, wide = { 0 }, wide_out = { 0 };
    struct status status;
    TRY(matrices_find(k, 0, true, &m));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY_OR(done, widened(k, x, &wide));
    TRY_OR(done, widened_output(k, out, &wide_out));
    TRY_OR(done, inverse_each(k, &m, &wide, &wide_out));
    widened_store(&wide_out, out);
done:
    tensor_release(&wide);
    tensor_release(&wide_out);
    return status;
}

/* The determinant as sign · e^log. */
static double complex find_determinant(const struct factors *f, double *log_absolute)
{
    double complex sign = 1;
    *log_absolute = 0;
    for (int64_t i = 0; i < f->n; i++) {
        double complex pivot = matrix_element(f->dtype, f->a.data, i * f->n + i);
        double absolute = cabs(pivot);
        *log_absolute += log(absolute);
        sign *= absolute > 0 ? pivot / absolute : 0 * pivot; /* keeps a NaN */
        if (tensor_int32s(&f->pivots)[i] != (int32_t)i + 1)
            sign = -sign;
    }
    return sign;
}

static struct status determinant_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct factors factors;
    struct tensor *sign, *logarithm = NULL;
    TRY(matrices_find(k, 0, true, &m));
    struct shape shape = shape_make(x->shape.rank - 2, x->shape.dims);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &sign));
    if (kernel_outputs_count(k) == 2)
        TRY(kernel_output(k, 1, &shape, &logarithm));
    TRY(factors_make(k, x->dtype, m.rows, &factors));
    struct status status = status_ok();
    for (int64_t i = 0; i < sign->size && status_is_ok(status); i++) {
        double log_absolute;
        status = matrices_begin(k);
        if (!status_is_ok(status))
            break;
        if (m.rows > 0)
            factor(&factors, at_bytes_const(x->data, i * m.rows * m.rows, dtype_size(x->dtype)),
                   false);
        matrices_end();
        double complex found = find_determinant(&factors, &log_absolute);
        matrix_set(x->dtype, sign->data, i, logarithm ? found : found * exp(log_absolute));
        if (logarithm != NULL)
            matrix_set(x->dtype, logarithm->data, i, log_absolute);
    }
    factors_release(&factors);
    return status;
}

/* ---- MatrixTriangularSolve ---- */

struct triangular_state {
    bool lower, adjoint;
};

static struct status triangular_prepare(struct prepare_context *p)
{
    struct triangular_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(prepare_node(p), "lower", &state->lower));
    return node_attr_bool(prepare_node(p), "adjoint", &state->adjoint);
}

static struct status check_triangular(const struct kernel_context *k, const struct shape *a,
                                      const struct shape *b)
{
    const struct triangular_state *state = kernel_state(k);
    for (int i = 0; i < 2; i++)
        if (kernel_input(k, i)->shape.rank < 2)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i,
                                kernel_input(k, i)->shape.rank);
    long long rows = a->dims[a->rank - 2], columns = a->dims[a->rank - 1];
    if (rows != columns)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] matrices in the last dimensions must be square (%lld =/= %lld)",
                            columns, rows);
    if (columns != b->dims[b->rank - 2])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d", columns,
                            (long long)b->dims[b->rank - 2], shape_text(a), shape_text(b),
                            state->lower, state->adjoint);
    return status_ok();
}

static struct status triangular_compute(struct kernel_context *k)
{
    const struct triangular_state *state = kernel_state(k);
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct matrices m, right;
    struct tensor *out;
    TRY(check_triangular(k, &a->shape, &b->shape));
    TRY(matrices_find(k, 0, true, &m));
    TRY(matrices_find(k, 1, false, &right));
    struct shape a_batch = shape_make(a->shape.rank - 2, a->shape.dims), shape;
    struct shape b_batch = shape_make(b->shape.rank - 2, b->shape.dims), batch;
    if (!status_is_ok(shape_broadcast(&a_batch, &b_batch, &batch)))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                            shape_text(&a->shape), shape_text(&b->shape));
    shape = batch;
    shape_append(&shape, right.rows);
    shape_append(&shape, right.columns);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();

    struct broadcast broadcast;
    struct broadcast_walk walk = { 0 };
    broadcast_init(&broadcast, &batch, 2, (const struct shape *[]){ &a_batch, &b_batch });
    int64_t row = broadcast_row(&broadcast), done = 0, size = right.rows * right.columns;
    size_t bytes = dtype_size(a->dtype);
    do {
        for (int64_t i = 0; i < row; i++, done++) {
            int64_t at_a = walk.offsets[0] + i * broadcast_step(&broadcast, 0);
            int64_t at_b = walk.offsets[1] + i * broadcast_step(&broadcast, 1);
            void *x = at_bytes(out->data, done * size, bytes);
            memcpy(x, at_bytes_const(b->data, at_b * size, bytes), (size_t)size * bytes);
            TRY(matrices_begin(k));
            linear_solve_triangular(a->dtype, state->lower, state->adjoint, (int)m.rows,
                                    (int)right.columns,
                                    at_bytes_const(a->data, at_a * m.rows * m.rows, bytes), x);
            matrices_end();
        }
    } while (broadcast_next(&broadcast, &walk));
    return status_ok();
}

/* ---- Lu ---- */

/* The rows of the input in the order in which they were taken. */
static void write_order(const struct factors *f, struct tensor *order, int64_t start)
{
    for (int64_t i = 0; i < f->n; i++)
        tensor_set_index(order, start + i, i);
    for (int64_t i = 0; i < f->n; i++) {
        int64_t other = tensor_int32s(&f->pivots)[i] - 1, kept = tensor_index(order, start + i);
        tensor_set_index(order, start + i, tensor_index(order, start + other));
        tensor_set_index(order, start + other, kept);
    }
}

static double complex at_column(const struct factors *f, int64_t row, int64_t column)
{
    return matrix_element(f->dtype, f->a.data, column * f->n + row);
}

static void set_at_column(struct factors *f, int64_t row, int64_t column, double complex value)
{
    matrix_set(f->dtype, f->a.data, column * f->n + row, value);
}

/* The row from `i` on whose element of column i is the greatest. */
static int64_t find_pivot(const struct factors *f, int64_t i)
{
    int64_t best = i;
    for (int64_t row = i + 1; row < f->n; row++)
        if (cabs(at_column(f, row, i)) > cabs(at_column(f, best, i)))
            best = row;
    return best;
}

static void exchange_rows(struct factors *f, int64_t a, int64_t b)
{
    for (int64_t column = 0; column < f->n && a != b; column++) {
        double complex kept = at_column(f, a, column);
        set_at_column(f, a, column, at_column(f, b, column));
        set_at_column(f, b, column, kept);
    }
}

/* The same as linear_lu of a complex matrix, stored by columns, but for the pivots: TensorFlow
 * takes the greatest |z|, and LAPACK the greatest |re z| + |im z|. */
static struct status lu_of_complex(struct kernel_context *k, struct factors *f)
{
    for (int64_t i = 0; i < f->n; i++) {
        int64_t best = find_pivot(f, i);
        TRY(kernel_check(k));
        tensor_int32s_mut(&f->pivots)[i] = (int32_t)best + 1;
        exchange_rows(f, i, best);
        for (int64_t row = i + 1; row < f->n; row++) {
            double complex factor = at_column(f, row, i) / at_column(f, i, i);
            set_at_column(f, row, i, factor);
            for (int64_t column = i + 1; column < f->n; column++)
                set_at_column(f, row, column,
                              at_column(f, row, column) - factor * at_column(f, i, column));
        }
    }
    return status_ok();
}

static struct status lu_factor(struct kernel_context *k, struct factors *f, const void *matrix)
{
    if (f->dtype == DT_COMPLEX64 || f->dtype == DT_COMPLEX128) {
        matrix_transpose(f->dtype, f->n, f->n, matrix, f->a.data);
        return lu_of_complex(k, f);
    }
    TRY(matrices_begin(k));
    factor(f, matrix, false);
    matrices_end();
    return status_ok();
}

static struct status lu_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct factors factors;
    struct tensor *out, *order;
    TRY(matrices_find(k, 0, true, &m));
    struct shape lines = shape_make(x->shape.rank - 1, x->shape.dims);
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_output(k, 1, &lines, &order));
    if (out->size == 0)
        return status_ok();
    TRY(factors_make(k, x->dtype, m.rows, &factors));
    struct status status = status_ok();
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < m.count && status_is_ok(status); i++) {
        int64_t at = i * m.rows * m.rows;
        status = lu_factor(k, &factors, at_bytes_const(x->data, at, size));
        if (!status_is_ok(status))
            break;
        if (!is_invertible(&factors)) {
            status = kernel_error(k, STATUS_INVALID_ARGUMENT, "Input is not invertible.");
            break;
        }
        matrix_transpose(x->dtype, m.rows, m.rows, factors.a.data, at_bytes(out->data, at, size));
        write_order(&factors, order, i * m.rows);
    }
    factors_release(&factors);
    return status;
}

/* ---- CholeskyGrad ---- */

/* The lower triangle, with half of the diagonal, of the product of two lower triangles, the first
 * transposed. Stored by rows. */
static struct status half_lower_product(struct kernel_context *k, enum dtype dtype, int64_t n,
                                        const void *l, const void *grad, void *out)
{
    for (int64_t i = 0; i < n; i++) {
        TRY(kernel_check(k));
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = i; p < n && j <= i; p++)
                sum += creal(matrix_element(dtype, l, p * n + i)) *
                       creal(matrix_element(dtype, grad, p * n + j));
            matrix_set(dtype, out, i * n + j, i == j ? sum / 2 : sum);
        }
    }
    return status_ok();
}

/* The mean of x and its transpose, in place. */
static void make_symmetric(enum dtype dtype, int64_t n, void *x)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            double complex mean =
                (matrix_element(dtype, x, i * n + j) + matrix_element(dtype, x, j * n + i)) / 2;
            matrix_set(dtype, x, i * n + j, mean);
            matrix_set(dtype, x, j * n + i, mean);
        }
}

/* out = l^-T · Φ(l^T · grad) · l^-1, made symmetric; `room` has n² elements. */
static struct status cholesky_grad(struct kernel_context *k, enum dtype dtype, int n, const void *l,
                                   const void *grad, void *room, void *out)
{
    TRY(half_lower_product(k, dtype, n, l, grad, room));
    TRY(matrices_begin(k));
    linear_solve_triangular(dtype, true, true, n, n, l, room);
    matrix_transpose(dtype, n, n, room, out);
    linear_solve_triangular(dtype, true, true, n, n, l, out);
    matrices_end();
    make_symmetric(dtype, n, out);
    return status_ok();
}

static struct status cholesky_grad_compute(struct kernel_context *k)
{
    const struct tensor *l = kernel_input(k, 0), *grad = kernel_input(k, 1);
    struct matrices m, right;
    struct tensor *out, room;
    TRY(matrices_find(k, 0, true, &m));
    TRY(matrices_find(k, 1, true, &right));
    if (!shape_equal(&l->shape, &grad->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Inputs must have the same shape: %s and %s", shape_text(&l->shape),
                            shape_text(&grad->shape));
    TRY(kernel_output(k, 0, &l->shape, &out));
    if (out->size == 0)
        return status_ok();
    struct shape matrix = shape_of(m.rows, m.rows);
    TRY(kernel_scratch(k, l->dtype, &matrix, &room));
    struct status status = status_ok();
    size_t size = dtype_size(l->dtype);
    for (int64_t i = 0; i < m.count && status_is_ok(status); i++) {
        int64_t at = i * m.rows * m.rows;
        status = cholesky_grad(k, l->dtype, (int)m.rows, at_bytes_const(l->data, at, size),
                               at_bytes_const(grad->data, at, size), room.data,
                               at_bytes(out->data, at, size));
    }
    tensor_release(&room);
    return status;
}

#define DTYPES_OLD (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE)) /* of most names that begin with Batch */
static const struct kernel rows[] = {
    { "Cholesky", DTYPES_LINEAR, .compute = cholesky_compute, .costly = true },
    { "MatrixSolve", DTYPES_LINEAR, .prepare = adjoint_prepare, .compute = solve_compute,
      .costly = true },
    { "MatrixInverse", DTYPES_LINEAR | DTYPES(DT_HALF), .prepare = adjoint_prepare,
      .compute = inverse_compute, .costly = true },
    { "MatrixDeterminant", DTYPES_LINEAR, .compute = determinant_compute, .costly = true },
    { "LogMatrixDeterminant", DTYPES_LINEAR, .compute = determinant_compute, .costly = true },
    { "MatrixTriangularSolve", DTYPES_LINEAR, .prepare = triangular_prepare,
      .compute = triangular_compute, .costly = true },
    { "Lu", DTYPES_LINEAR, .compute = lu_compute, .costly = true },
    { "CholeskyGrad", DTYPES_OLD, .compute = cholesky_grad_compute, .costly = true },
    { "BatchCholesky", DTYPES_OLD, .compute = cholesky_compute, .costly = true },
    { "BatchCholeskyGrad", DTYPES_OLD, .compute = cholesky_grad_compute, .costly = true },
    { "BatchMatrixSolve", DTYPES_OLD, .prepare = adjoint_prepare, .compute = solve_compute,
      .costly = true },
    { "BatchMatrixInverse", DTYPES_OLD, .prepare = adjoint_prepare, .compute = inverse_compute,
      .costly = true },
    { "BatchMatrixDeterminant", DTYPES_LINEAR, .compute = determinant_compute, .costly = true },
    { "BatchMatrixTriangularSolve", DTYPES_OLD, .prepare = triangular_prepare,
      .compute = triangular_compute, .costly = true },
};
const struct kernel_table kernels_linear_algebra = { rows, COUNT(rows) };
