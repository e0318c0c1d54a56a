/*
 * banded: products and solutions with matrices of three diagonals, TridiagonalMatMul and
 * TridiagonalSolve. They compute in complex doubles, whatever the type.
 */
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"

#define CHECK_EVERY 100000 /* rows between two checks of the deadline */

/* The stacks of two inputs are the same, and the number of matrices in them. */
static struct status same_stacks(struct kernel_context *k, int a, int b, int64_t *count)
{
    const struct shape *x = &kernel_input(k, a)->shape, *y = &kernel_input(k, b)->shape;
    if (x->rank < 2 || y->rank < 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Input tensor %d must have rank >= 2, got %d", x->rank < 2 ? a : b,
                            x->rank < 2 ? x->rank : y->rank);
    if (x->rank != y->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "All input tensors must have the same rank.");
    *count = 1;
    for (int d = 0; d < x->rank - 2; d++) {
        if (x->dims[d] != y->dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All input tensors must have the same outer dimensions.");
        *count *= x->dims[d]; /* at most the elements of a tensor */
    }
    return status_ok();
}

static double complex element(const struct tensor *x, int64_t i)
{
    return matrix_element(x->dtype, x->data, i);
}

/* ---- TridiagonalMatMul ---- */

/* Inputs: superdiagonal, diagonal and subdiagonal [.., 1, n], and a matrix [.., n, columns]. */
struct tridiagonal {
    const struct tensor *above, *on, *below, *x;
    int64_t n, columns;
};

/* Row i of matrix `m` of the product. */
static void multiply_row(const struct tridiagonal *t, int64_t m, int64_t i, struct tensor *out)
{
    int64_t row = m * t->n + i, at = row * t->columns;
    for (int64_t j = 0; j < t->columns; j++) {
        double complex sum = element(t->on, row) * element(t->x, at + j);
        if (i + 1 < t->n)
            sum += element(t->above, row) * element(t->x, at + t->columns + j);
        if (i > 0)
            sum += element(t->below, row) * element(t->x, at - t->columns + j);
        matrix_set(out->dtype, out->data, at + j, sum);
    }
}

static struct status check_diagonals(struct kernel_context *k, struct tridiagonal *t)
{
    static const char *const names[] = { "superdiag", "maindiag", "subdiag" };
    const struct shape *x = &t->x->shape;
    t->n = x->dims[x->rank - 2];
    t->columns = x->dims[x->rank - 1];
    for (int i = 0; i < 3; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->dims[shape->rank - 2] != 1 || shape->dims[shape->rank - 1] != t->n)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be of shape [1, %lld], not %s",
                                names[i], (long long)t->n, shape_text(shape));
    }
    return status_ok();
}

static struct status multiply_compute(struct kernel_context *k)
{
    struct tridiagonal t = {
        kernel_input(k, 0), kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3), 0, 0
    };
    struct tensor *out;
    int64_t count;
    for (int i = 0; i < 3; i++)
        TRY(same_stacks(k, i, 3, &count));
    TRY(check_diagonals(k, &t));
    TRY(kernel_output(k, 0, &t.x->shape, &out));
    for (int64_t row = 0; row < count * t.n && out->size > 0; row++) {
        if (row % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        multiply_row(&t, row / t.n, row % t.n, out);
    }
    return status_ok();
}

/* ---- TridiagonalSolve ---- */

struct tridiagonal_state {
    bool pivoting, perturb;
};

static struct status solve_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct tridiagonal_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(node, "partial_pivoting", &state->pivoting));
    TRY(node_attr_bool(node, "perturb_singular", &state->perturb));
    if (state->perturb && !state->pivoting)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Setting perturb_singular requires also setting partial_pivoting.");
    return status_ok();
}

/* The factor U has three diagonals, because rows are exchanged: u [n, 3]. x [n, columns] holds the
 * right-hand sides, and then the solution. */
struct elimination {
    int64_t n, columns;
    double complex *u, *x;
};

/* Row b -= factor · row a. */
static void subtract_row(const struct elimination *e, int64_t a, int64_t b, double complex factor)
{
    for (int64_t j = 0; j < e->columns; j++)
        e->x[b * e->columns + j] -= factor * e->x[a * e->columns + j];
}

static void exchange_rows(const struct elimination *e, int64_t a, int64_t b)
{
    for (int64_t j = 0; j < e->columns; j++) {
        double complex kept = e->x[a * e->columns + j];
        e->x[a * e->columns + j] = e->x[b * e->columns + j];
        e->x[b * e->columns + j] = kept;
    }
}

/* Eliminates `below`, the first element of row i + 1, whose others are in u already. False: the
 * matrix is singular. */
static bool eliminate(const struct elimination *e, int64_t i, double complex below, bool pivoting)
{
    double complex *upper = e->u + 3 * i, *lower = upper + 3;
    if (pivoting && cabs(upper[0]) < cabs(below)) {
        double complex factor = upper[0] / below, first = upper[1];
        upper[0] = below;
        upper[1] = lower[0];
        upper[2] = lower[1];
        lower[0] = first - factor * upper[1];
        lower[1] = -factor * upper[2];
        exchange_rows(e, i, i + 1);
        subtract_row(e, i, i + 1, factor);
        return true;
    }
    if (upper[0] == 0)
        return false;
    double complex factor = below / upper[0];
    lower[0] -= factor * upper[1];
    subtract_row(e, i, i + 1, factor);
    return true;
}

static bool solve_one(const struct elimination *e, const struct tensor *diagonals, int64_t start,
                      bool pivoting)
{
    for (int64_t i = 0; i < e->n; i++) {
        e->u[3 * i] = element(diagonals, start + e->n + i);
        e->u[3 * i + 1] = i + 1 < e->n ? element(diagonals, start + i) : 0;
        e->u[3 * i + 2] = 0;
    }
    for (int64_t i = 0; i + 1 < e->n; i++)
        if (!eliminate(e, i, element(diagonals, start + 2 * e->n + i + 1), pivoting))
            return false;
    if (e->u[3 * (e->n - 1)] == 0)
        return false;
    for (int64_t i = e->n - 1; i >= 0; i--) {
        for (int64_t d = 1; d < 3 && i + d < e->n; d++)
            subtract_row(e, i + d, i, e->u[3 * i + d]);
        for (int64_t j = 0; j < e->columns; j++)
            e->x[i * e->columns + j] /= e->u[3 * i];
    }
    return true;
}

static struct status check_system(struct kernel_context *k, const struct shape *a,
                                  const struct shape *b)
{
    long long rows = a->dims[a->rank - 2], n = a->dims[a->rank - 1], right = b->dims[b->rank - 2];
    if (rows != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected diagonals to be provided as a matrix with 3 rows, got %lld "
                            "rows.",
                            rows);
    if (n != right)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected the same number of left-hand sides and right-hand sides, got "
                            "%lld and %lld.",
                            n, right);
    return status_ok();
}

/* Matrix m of the right-hand sides. The solution of a singular system is NaN, and so is one that
 * would take an exchange of rows, without pivoting. */
static struct status solve_matrix(struct kernel_context *k, const struct elimination *e, int64_t m,
                                  struct tensor *out)
{
    const struct tridiagonal_state *state = kernel_state(k);
    const struct tensor *b = kernel_input(k, 1);
    int64_t size = e->n * e->columns;
    TRY(kernel_check(k));
    for (int64_t i = 0; i < size; i++)
        e->x[i] = element(b, m * size + i);
    bool solved = solve_one(e, kernel_input(k, 0), m * 3 * e->n, state->pivoting);
    if (!solved && state->perturb)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "perturb_singular of a singular matrix");
    for (int64_t i = 0; i < size; i++)
        matrix_set(out->dtype, out->data, m * size + i, solved ? e->x[i] : NAN);
    return status_ok();
}

static struct status solve_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct tensor *out, u = { 0 }, x = { 0 };
    struct status status;
    int64_t count;
    TRY(same_stacks(k, 0, 1, &count));
    TRY(check_system(k, &a->shape, &b->shape));
    TRY(kernel_output(k, 0, &b->shape, &out));
    if (out->size == 0)
        return status_ok();
    struct elimination e = { b->shape.dims[b->shape.rank - 2], b->shape.dims[b->shape.rank - 1],
                             NULL, NULL };
    struct shape three = shape_of(e.n, 3), right = shape_of(e.n, e.columns);
    TRY(shape_check(2, three.dims, &three));
    TRY_OR(done, kernel_scratch(k, DT_COMPLEX128, &three, &u));
    TRY_OR(done, kernel_scratch(k, DT_COMPLEX128, &right, &x));
    e.u = u.data;
    e.x = x.data;
    for (int64_t m = 0; m < count && status_is_ok(status); m++)
        status = solve_matrix(k, &e, m, out);
done:
    tensor_release(&u);
    tensor_release(&x);
    return status;
}

static const struct kernel rows[] = {
    { "TridiagonalMatMul", DTYPES_LINEAR, .compute = multiply_compute, .costly = true },
    { "TridiagonalSolve", DTYPES_LINEAR, .prepare = solve_prepare, .compute = solve_compute,
      .costly = true },
};
const struct kernel_table kernels_banded = { rows, COUNT(rows) };
