/* Shapes of ops on stacks of matrices: [.., rows, columns]. */
#include "graph/ops/infer.h"

static bool is_stack(const struct shape *shape)
{
    return shape->rank >= 2 && shape->rank <= SHAPE_RANK_MAX;
}

/* The stack without its matrices: [..] */
static struct shape stack_of(const struct shape *shape)
{
    return shape_make(shape->rank - 2, shape->dims);
}

static struct shape matrices_of(const struct shape *shape, int64_t rows, int64_t columns)
{
    struct shape out = stack_of(shape);

    shape_append(&out, rows);
    shape_append(&out, columns);
    return out;
}

static struct shape vectors_of(const struct shape *shape, int64_t size)
{
    struct shape out = stack_of(shape);

    shape_append(&out, size);
    return out;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? -1 : a < b ? a : b;
}

/* One number for each matrix. */
struct status infer_determinant(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 0);

    if (!is_stack(x))
        return status_ok();
    struct shape shape = stack_of(x);
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &shape);
    return status_ok();
}

struct status infer_lu(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 0);

    infer_output(context, 0, x);
    if (!is_stack(x))
        return status_ok();
    struct shape order = shape_make(x->rank - 1, x->dims);
    infer_output(context, 1, &order);
    return status_ok();
}

struct status infer_fourth_unchanged(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 3));
    return status_ok();
}

struct status infer_qr(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 0);
    bool full;

    TRY(node_attr_bool(context->node, "full_matrices", &full));
    if (!is_stack(x))
        return status_ok();
    int64_t m = x->dims[x->rank - 2], n = x->dims[x->rank - 1];
    struct shape q = matrices_of(x, m, full ? m : lesser(m, n));
    struct shape r = matrices_of(x, full ? m : lesser(m, n), n);
    infer_output(context, 0, &q);
    infer_output(context, 1, &r);
    return status_ok();
}

static struct status infer_singular(struct infer_context *context, bool vectors, bool full)
{
    const struct shape *x = infer_input(context, 0);
    if (!is_stack(x))
        return status_ok();
    int64_t m = x->dims[x->rank - 2], n = x->dims[x->rank - 1], p = lesser(m, n);
    struct shape s = vectors_of(x, p);
    infer_output(context, 0, &s);
    if (!vectors)
        return status_ok();
    struct shape u = matrices_of(x, m, full ? m : p), v = matrices_of(x, n, full ? n : p);
    infer_output(context, 1, &u);
    infer_output(context, 2, &v);
    return status_ok();
}

struct status infer_svd(struct infer_context *context)
{
    bool full, vectors;
    TRY(node_attr_bool(context->node, "full_matrices", &full));
    TRY(node_attr_bool(context->node, "compute_uv", &vectors));
    return infer_singular(context, vectors, full);
}

struct status infer_xla_svd(struct infer_context *context)
{
    return infer_singular(context, true, true);
}

static struct status infer_values_of(struct infer_context *context, bool vectors)
{
    const struct shape *x = infer_input(context, 0);
    if (!is_stack(x))
        return status_ok();
    struct shape e = vectors_of(x, x->dims[x->rank - 1]);
    infer_output(context, 0, &e);
    if (vectors)
        infer_output(context, 1, x);
    return status_ok();
}

struct status infer_eigen(struct infer_context *context)
{
    bool vectors;
    TRY(node_attr_bool(context->node, "compute_v", &vectors));
    return infer_values_of(context, vectors);
}

struct status infer_xla_eigen(struct infer_context *context)
{
    return infer_values_of(context, true);
}

/* The stacks of the matrix and of the right-hand side broadcast. */
struct status infer_triangular_solve(struct infer_context *context)
{
    const struct shape *a = infer_input(context, 0), *b = infer_input(context, 1);
    struct shape shape = *b;

    if (!is_stack(a) || !is_stack(b))
        return status_ok();
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank - 2; i++)
        same = a->dims[i] >= 0 && a->dims[i] == b->dims[i];
    if (!same && a->rank > 2) { /* only the rank is told */
        shape = shape_unknown_dims(a->rank > b->rank ? a->rank : b->rank);
        shape.dims[shape.rank - 2] = b->dims[b->rank - 2];
        shape.dims[shape.rank - 1] = b->dims[b->rank - 1];
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

/* ---- diagonals ---- */

struct status infer_matrix_diag(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);

    if (shape.rank < 1 || shape.rank >= SHAPE_RANK_MAX)
        return status_ok();
    shape_append(&shape, shape.dims[shape.rank - 1]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_matrix_diag_part(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 0);

    if (!is_stack(x))
        return status_ok();
    struct shape shape = vectors_of(x, lesser(x->dims[x->rank - 2], x->dims[x->rank - 1]));
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The numbers of the lowest and the highest diagonal; false: unknown. */
static bool read_diagonals(const struct infer_context *context, int64_t *low, int64_t *high)
{
    struct values k;

    infer_values(context, 1, &k);
    if (k.rank < 0 || k.count < 1 || k.count > 2 || k.at[0] == VALUE_UNKNOWN ||
        k.at[k.count - 1] == VALUE_UNKNOWN)
        return false;
    *low = k.at[0];
    *high = k.at[k.count - 1];
    return *low <= *high && *low > INT32_MIN && *high < INT32_MAX;
}

/* Only the rank is told: a vector for each diagonal, or a matrix of them. */
struct status infer_matrix_diag_part_v2(struct infer_context *context)
{
    const struct shape *x = infer_input(context, 0);
    int64_t low, high;

    if (!is_stack(x) || !read_diagonals(context, &low, &high))
        return status_ok();
    struct shape shape = stack_of(x);
    if (low != high)
        shape_append(&shape, high - low + 1);
    shape_append(&shape, -1);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_matrix_diag_v2(struct infer_context *context)
{
    const struct shape *diagonals = infer_input(context, 0);
    int64_t low, high;

    if (diagonals->rank < 1 || !read_diagonals(context, &low, &high))
        return status_ok();
    int stack = diagonals->rank - (low == high ? 1 : 2);
    if (stack < 0 || stack + 2 > SHAPE_RANK_MAX)
        return status_ok();
    struct shape shape = shape_make(stack, diagonals->dims);
    shape_append(&shape, -1);
    shape_append(&shape, -1);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* a [.., m, n], b [.., m, columns] -> [.., n, columns] */
struct status infer_least_squares(struct infer_context *context)
{
    const struct shape *a = infer_input(context, 0), *b = infer_input(context, 1);
    struct shape shape = *b;
    if (a->rank < 2 || b->rank < 2)
        return status_ok();
    shape.dims[shape.rank - 2] = a->dims[a->rank - 1];
    infer_output(context, 0, &shape);
    return status_ok();
}
