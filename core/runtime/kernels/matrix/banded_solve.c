/*
 * banded_solve: BandedTriangularSolve. A triangular matrix [n, n] of few diagonals is given by
 * these, as rows [bands, n]: column j of the matrix is column j of the rows. They compute in
 * complex doubles, whatever the type.
 */
#include <complex.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/shape_walk.h"

#define STEPS_PER_CHECK ((int64_t)1 << 20) /* products between two checks of the deadline */

struct triangle {
    bool lower, adjoint;
};

static struct status band_prepare(struct prepare_context *p)
{
    struct triangle *band = prepare_state(p, sizeof *band, NULL);
    TRY(node_attr_bool(prepare_node(p), "lower", &band->lower));
    return node_attr_bool(prepare_node(p), "adjoint", &band->adjoint);
}

/* One matrix and its right-hand sides. x replaces b. */
struct band_system {
    const struct tensor *a;
    int64_t first, bands, n, columns; /* the first element of a */
    struct triangle band;
    struct tensor *out;
    int64_t at; /* in out */
};

/* The element of row i and column j of the matrix, or of its adjoint; they are `distance` apart. */
static double complex band_element(const struct band_system *s, int64_t i, int64_t j)
{
    bool swap = s->band.adjoint;
    int64_t row = swap ? j : i, column = swap ? i : j;
    int64_t distance = row > column ? row - column : column - row;
    int64_t line = s->band.lower ? distance : s->bands - 1 - distance;
    double complex value = matrix_element(s->a->dtype, s->a->data, s->first + line * s->n + row);
    return swap ? conj(value) : value;
}

/* Solves row i, after the rows that it depends on. */
static void solve_row(const struct band_system *s, int64_t i, bool from_above)
{
    double complex divisor = band_element(s, i, i);
    for (int64_t c = 0; c < s->columns; c++) {
        double complex sum =
            matrix_element(s->out->dtype, s->out->data, s->at + i * s->columns + c);
        for (int64_t d = 1; d < s->bands && d < s->n; d++) {
            int64_t j = from_above ? i - d : i + d;
            if (j < 0 || j >= s->n)
                break;
            sum -= band_element(s, i, j) *
                   matrix_element(s->out->dtype, s->out->data, s->at + j * s->columns + c);
        }
        matrix_set(s->out->dtype, s->out->data, s->at + i * s->columns + c, sum / divisor);
    }
}

static struct status solve_system(struct kernel_context *k, const struct band_system *s)
{
    bool from_above = s->band.lower != s->band.adjoint;
    int64_t each = s->columns * (s->bands < s->n ? s->bands : s->n); /* products of a row */
    int64_t since_check = STEPS_PER_CHECK;
    for (int64_t step = 0; step < s->n; step++, since_check += each) {
        if (since_check >= STEPS_PER_CHECK) {
            TRY(kernel_check(k));
            since_check = 0;
        }
        solve_row(s, from_above ? step : s->n - 1 - step, from_above);
    }
    return status_ok();
}

static struct status check_bands(const struct kernel_context *k, const struct shape *a,
                                 const struct shape *b)
{
    for (int i = 0; i < 2; i++)
        if (kernel_input(k, i)->shape.rank < 2)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d", i,
                                kernel_input(k, i)->shape.rank);
    int64_t n = a->dims[a->rank - 1];
    for (int i = 0; i < 2; i++)
        if (kernel_input(k, i)->size == 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "In[%d] must not be an empty tensor: %s", i,
                                shape_text(&kernel_input(k, i)->shape));
    if (n != b->dims[b->rank - 2])
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "In[0] mismatch In[1] shape: %lld vs. %lld",
                            (long long)n, (long long)b->dims[b->rank - 2]);
    return status_ok();
}

static struct status band_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct tensor *out;
    TRY(check_bands(k, &a->shape, &b->shape));
    struct shape a_stack = shape_make(a->shape.rank - 2, a->shape.dims), shape;
    struct shape b_stack = shape_make(b->shape.rank - 2, b->shape.dims), stack;
    if (!status_is_ok(shape_broadcast(&a_stack, &b_stack, &stack)))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                            shape_text(&a->shape), shape_text(&b->shape));
    struct band_system s = { .a = a,
                             .bands = a->shape.dims[a->shape.rank - 2],
                             .n = a->shape.dims[a->shape.rank - 1],
                             .columns = b->shape.dims[b->shape.rank - 1],
                             .band = *(const struct triangle *)kernel_state(k) };
    TRY(kernel_check_rank(k, stack.rank + 2));
    shape = stack;
    shape_append(&shape, s.n);
    shape_append(&shape, s.columns);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t size = s.n * s.columns;
    s.out = out;
    for (int64_t i = 0; i * size < out->size; i++) {
        size_t bytes = dtype_size(a->dtype);
        s.first = shape_broadcast_index(&stack, i, &a_stack) * s.bands * s.n;
        s.at = i * size;
        memcpy(at_bytes(out->data, s.at, bytes),
               at_bytes_const(b->data, shape_broadcast_index(&stack, i, &b_stack) * size, bytes),
               (size_t)size * bytes);
        TRY(solve_system(k, &s));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "BandedTriangularSolve", DTYPES_LINEAR, .prepare = band_prepare, .compute = band_compute,
      .costly = true },
};
const struct kernel_table kernels_banded_solve = { rows, COUNT(rows) };
