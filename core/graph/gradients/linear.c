/* Gradients of linear algebra on (stacks of) matrices. Source: TensorFlow's linalg_grad.py. */
#include "graph/gradients/matrices.h"

/* Columns [from, from + count) of matrices; count -1: all remaining ones. */
static struct endpoint columns(struct gradient_context *c, struct endpoint x, int rank,
                               int64_t from, int64_t count)
{
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, size[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        size[i] = -1;
    begin[rank - 1] = (int32_t)from;
    size[rank - 1] = (int32_t)count;
    return build_slice(c->builder, NULL, x, rank, begin, size);
}

/* The lower triangle, with half of the diagonal. */
static struct endpoint half_lower(struct gradient_context *c, struct endpoint x)
{
    struct endpoint diagonal = unary(c, "MatrixDiagPart", x);
    struct endpoint half = binary(c, "Mul", diagonal, number(c, x, 0.5));

    return band(c, binary(c, "MatrixSetDiag", x, half), -1, 0);
}

/* Each matrix times its number. */
static struct endpoint times_matrix(struct gradient_context *c, struct endpoint numbers,
                                    struct endpoint matrices)
{
    struct endpoint last = build_const_int(c->builder, -1);
    struct endpoint wide = binary(c, "ExpandDims", binary(c, "ExpandDims", numbers, last), last);

    return binary(c, "Mul", wide, matrices);
}

/* ---- inverses, determinants, solutions ---- */

struct status gradient_matrix_inverse(struct gradient_context *c)
{
    struct endpoint inverse = output(c);
    bool is_adjoint;

    TRY(node_attr_bool(c->node, "adjoint", &is_adjoint));
    struct endpoint right = product(c, dy(c), is_adjoint, inverse, !is_adjoint);
    return flow(c, 0, negative(c, product(c, inverse, !is_adjoint, right, false)));
}

struct status gradient_matrix_determinant(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), inverse = with_adjoint(c, "MatrixInverse", true, 1, &x);

    return flow(c, 0, times_matrix(c, binary(c, "Mul", dy(c), output(c)), inverse));
}

/* The sign has none. */
struct status gradient_log_matrix_determinant(struct gradient_context *c)
{
    struct endpoint x = input(c, 0);

    if (c->outputs[1].node == NULL)
        return status_ok();
    struct endpoint inverse = with_adjoint(c, "MatrixInverse", true, 1, &x);
    return flow(c, 0, times_matrix(c, c->outputs[1], inverse));
}

struct status gradient_matrix_solve(struct gradient_context *c)
{
    bool is_adjoint;

    TRY(node_attr_bool(c->node, "adjoint", &is_adjoint));
    const struct endpoint inputs[] = { input(c, 0), dy(c) };
    struct endpoint of_right = with_adjoint(c, "MatrixSolve", !is_adjoint, 2, inputs);
    if (c->wanted[0])
        send(c, 0, of_system(c, of_right, is_adjoint));
    return flow(c, 1, of_right);
}

struct status gradient_matrix_triangular_solve(struct gradient_context *c)
{
    bool lower, is_adjoint;

    TRY(node_attr_bool(c->node, "lower", &lower));
    TRY(node_attr_bool(c->node, "adjoint", &is_adjoint));
    struct endpoint of_right = triangular(c, input(c, 0), dy(c), lower, !is_adjoint);
    if (c->wanted[0]) {
        struct endpoint of_matrix = of_system(c, of_right, is_adjoint);
        of_matrix = lower ? band(c, of_matrix, -1, 0) : band(c, of_matrix, 0, -1);
        send(c, 0, unstacked(c, of_matrix, 0));
    }
    return flow(c, 1, unstacked(c, of_right, 1));
}

/* ---- factors ---- */

/* x · inverse(triangle)^H, for an upper triangle */
static struct endpoint solve_right(struct gradient_context *c, struct endpoint x,
                                   struct endpoint triangle, int rank)
{
    return adjoint(c, triangular(c, triangle, adjoint(c, x, rank), false, false), rank);
}

/* L^-H Φ(L^H dL) L^-1, made symmetric; Φ is half_lower. */
struct status gradient_cholesky(struct gradient_context *c)
{
    struct endpoint l = output(c);
    int rank;

    TRY(read_rank(c, &rank));
    struct endpoint middle = half_lower(c, product(c, l, true, dy(c), false));
    struct endpoint left = triangular(c, l, middle, true, true);
    struct endpoint both = adjoint(c, triangular(c, l, adjoint(c, left, rank), true, true), rank);
    struct endpoint sum = binary(c, "AddV2", both, adjoint(c, both, rank));
    return flow(c, 0, binary(c, "Mul", sum, number(c, sum, 0.5)));
}

struct qr_grad {
    int rank;
    struct endpoint q, r, dq, dr;
};

static struct endpoint less_adjoint(struct gradient_context *c, struct endpoint x, int rank)
{
    return binary(c, "Sub", x, adjoint(c, x, rank));
}

/* The term that the diagonal of a complex matrix adds: its imaginary part. */
static struct endpoint qr_correction(struct gradient_context *c, const struct qr_grad *f,
                                     struct endpoint qdq, struct endpoint rdr)
{
    enum dtype dtype = endpoint_dtype(f->q);
    const struct attr real[] = { attr_type("Tout", dtype == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT),
                                 ATTR_END };
    struct endpoint m = binary(c, "Sub", rdr, adjoint(c, qdq, f->rank));
    struct endpoint diagonal = band(c, m, 0, 0);
    struct endpoint part = build(c->builder, "Real", NULL, 1, &diagonal, real);
    struct endpoint imaginary = binary(c, "Sub", diagonal, as_type(c, part, dtype));
    return solve_right(c, product(c, f->q, false, imaginary, true), f->r, f->rank);
}

/* The gradient of a matrix that has at least as many rows as columns. */
static struct endpoint of_deep(struct gradient_context *c, const struct qr_grad *f)
{
    struct endpoint qdq = product(c, f->q, true, f->dq, false);
    struct endpoint rdr = product(c, f->r, false, f->dr, true);
    struct endpoint lower = band(
        c, binary(c, "AddV2", less_adjoint(c, qdq, f->rank), less_adjoint(c, rdr, f->rank)), -1, 0);
    struct endpoint inner = binary(c, "AddV2", f->dr, solve_right(c, lower, f->r, f->rank));
    struct endpoint rest = binary(c, "Sub", f->dq, product(c, f->q, false, qdq, false));
    struct endpoint sum = binary(c, "AddV2", product(c, f->q, false, inner, false),
                                 solve_right(c, rest, f->r, f->rank));
    if (dtype_is_complex(endpoint_dtype(f->q)))
        sum = binary(c, "AddV2", sum, qr_correction(c, f, qdq, rdr));
    return sum;
}

struct status gradient_qr(struct gradient_context *c)
{
    int64_t m = 0, n = 0;
    bool full;

    TRY(read_sides(c, &m, &n));
    TRY(node_attr_bool(c->node, "full_matrices", &full));
    if (m > n && full)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s': Qr has no gradient for full_matrices of %lld rows and "
                            "%lld columns",
                            c->node->name, (long long)m, (long long)n);
    struct qr_grad f = { endpoint_shape(input(c, 0))->rank,
                         output(c),
                         { c->node, 1 },
                         dy_or_zeros(c, 0),
                         dy_or_zeros(c, 1) };
    if (m >= n)
        return flow(c, 0, of_deep(c, &f));
    /* The first m columns are a square matrix; the others are q times those of r. */
    struct endpoint y = columns(c, input(c, 0), f.rank, m, -1);
    struct endpoint dv = columns(c, f.dr, f.rank, m, -1);
    struct endpoint dy_part = product(c, f.q, false, dv, false);
    f.dq = binary(c, "AddV2", f.dq, product(c, y, false, dv, true));
    f.r = columns(c, f.r, f.rank, 0, m);
    f.dr = columns(c, f.dr, f.rank, 0, m);
    const struct endpoint sides[] = { of_deep(c, &f), dy_part,
                                      build_const_int(c->builder, f.rank - 1) };
    return flow(c, 0, build(c->builder, "ConcatV2", NULL, 3, sides, NULL));
}

/* ---- eigenvalues and singular values ---- */

/* x / (x² + 1e-20): 1 / x, and 0 at 0 */
static struct endpoint safe_reciprocal(struct gradient_context *c, struct endpoint x)
{
    struct endpoint square = binary(c, "AddV2", unary(c, "Square", x), number(c, x, 1e-20));

    return binary(c, "Mul", x, unary(c, "Reciprocal", square));
}

/* [.., n, n] of 1 / (x[j] - x[i]), with zeros on the diagonal */
static struct endpoint differences(struct gradient_context *c, struct endpoint x)
{
    struct endpoint row = build_expand_dims(c->builder, x, -2);
    struct endpoint column = build_expand_dims(c->builder, x, -1);
    struct endpoint f = safe_reciprocal(c, binary(c, "Sub", row, column));

    return binary(c, "MatrixSetDiag", f, unary(c, "ZerosLike", x));
}

/* v · middle · v^H */
static struct endpoint around(struct gradient_context *c, struct endpoint u, struct endpoint middle,
                              struct endpoint v)
{
    return product(c, u, false, product(c, middle, false, v, true), false);
}

struct status gradient_self_adjoint_eig_v2(struct gradient_context *c)
{
    struct endpoint e = output(c), v = { c->node, 1 };
    struct endpoint middle = unary(c, "MatrixDiag", dy_or_zeros(c, 0));
    bool vectors;
    int rank;

    TRY(read_rank(c, &rank));
    TRY(node_attr_bool(c->node, "compute_v", &vectors));
    if (!vectors) {
        struct endpoint x = input(c, 0);
        struct node *again =
            build_node(c->builder, "SelfAdjointEigV2", NULL, 1, &x, 0, NULL,
                       (const struct attr[]){ attr_bool("compute_v", true), ATTR_END });
        v = (struct endpoint){ again, 1 };
    } else {
        struct endpoint turn = product(c, v, true, dy_or_zeros(c, 1), false);
        middle = binary(c, "AddV2", middle, binary(c, "Mul", differences(c, e), turn));
    }
    struct endpoint a = around(c, v, middle, v);
    return flow(c, 0, half_lower(c, binary(c, "AddV2", a, adjoint(c, a, rank))));
}

/* The eigenvectors v are not orthogonal: v^-H (de + F (v^H dv - v^H v re(v^H dv))) v^H, where re is
 * the real part of the diagonal, and F is the conjugate of `differences`. */
struct status gradient_eig(struct gradient_context *c)
{
    struct endpoint e = output(c), v = { c->node, 1 }, x = input(c, 0);
    struct endpoint middle = unary(c, "MatrixDiag", dy_or_zeros(c, 0));
    const enum dtype dtype = endpoint_dtype(e);
    const struct attr real[] = { attr_type("Tout", dtype == DT_COMPLEX128 ? DT_DOUBLE : DT_FLOAT),
                                 ATTR_END };
    bool vectors;

    TRY(node_attr_bool(c->node, "compute_v", &vectors));
    if (!vectors) {
        struct node *again =
            build_node(c->builder, "Eig", NULL, 1, &x, 0, NULL,
                       (const struct attr[]){ attr_type("Tout", dtype), ATTR_END });
        v = (struct endpoint){ again, 1 };
    } else if (c->outputs[1].node != NULL) {
        struct endpoint turn = product(c, v, true, c->outputs[1], false);
        struct endpoint diagonal = unary(c, "MatrixDiagPart", turn);
        diagonal = as_type(c, build(c->builder, "Real", NULL, 1, &diagonal, real), dtype);
        struct endpoint length = product(c, product(c, v, true, v, false), false,
                                         unary(c, "MatrixDiag", diagonal), false);
        struct endpoint factors = unary(c, "Conj", differences(c, e));
        middle =
            binary(c, "AddV2", middle, binary(c, "Mul", factors, binary(c, "Sub", turn, length)));
    }
    const struct endpoint system[] = { v, product(c, middle, false, v, true) };
    struct endpoint gradient = with_adjoint(c, "MatrixSolve", true, 2, system);
    return flow(c, 0, as_type(c, gradient, endpoint_dtype(x)));
}

/* For u [.., m, m], v [.., n, m or n], with m <= n. */
struct svd_grad {
    int rank;
    int64_t m, n;
    bool full;
    struct endpoint s, u, v, ds, du, dv;
};

static struct endpoint plus_adjoint(struct gradient_context *c, struct endpoint x, int rank)
{
    return binary(c, "AddV2", x, adjoint(c, x, rank));
}

/* The term of v1, the first m columns of v, if it is not square. */
static struct endpoint svd_rest(struct gradient_context *c, const struct svd_grad *f,
                                struct endpoint v1, struct endpoint dv1)
{
    struct endpoint turned = product(c, dv1, true, v1, false);
    struct endpoint rest =
        binary(c, "Sub", adjoint(c, dv1, f->rank), product(c, turned, false, v1, true));
    struct endpoint inverse = unary(c, "MatrixDiag", safe_reciprocal(c, f->s));

    if (f->full) {
        struct endpoint v2 = columns(c, f->v, f->rank, f->m, -1);
        struct endpoint dv2 = columns(c, f->dv, f->rank, f->m, -1);
        struct endpoint between = product(c, v1, true, dv2, false);
        rest = binary(c, "Sub", rest, product(c, between, false, v2, true));
    }
    return product(c, product(c, f->u, false, inverse, false), false, rest, false);
}

/* For complex matrices: the contribution of the vectors' phase. */
static struct endpoint svd_phase(struct gradient_context *c, const struct svd_grad *f,
                                 struct endpoint v_dv, struct endpoint v1)
{
    struct endpoint l = band(c, v_dv, 0, 0);
    struct endpoint inverse = unary(c, "MatrixDiag", safe_reciprocal(c, f->s));
    struct endpoint turn = binary(c, "Sub", adjoint(c, l, f->rank), l);
    struct endpoint a = around(c, f->u, product(c, inverse, false, turn, false), v1);

    return binary(c, "Mul", a, number(c, a, 0.5));
}

static struct endpoint of_svd(struct gradient_context *c, const struct svd_grad *f)
{
    struct endpoint s = unary(c, "MatrixDiag", f->s);
    struct endpoint factors = differences(c, unary(c, "Square", f->s));
    struct endpoint v1 = columns(c, f->v, f->rank, 0, f->m);
    struct endpoint dv1 = columns(c, f->dv, f->rank, 0, f->m);
    struct endpoint v_dv = product(c, v1, true, dv1, false);
    struct endpoint of_u = binary(c, "Mul", factors, product(c, f->u, true, f->du, false));
    struct endpoint of_v = binary(c, "Mul", factors, v_dv);
    struct endpoint middle = unary(c, "MatrixDiag", f->ds);
    middle =
        binary(c, "AddV2", middle, product(c, plus_adjoint(c, of_u, f->rank), false, s, false));
    middle =
        binary(c, "AddV2", middle, product(c, s, false, plus_adjoint(c, of_v, f->rank), false));
    struct endpoint a = around(c, f->u, middle, v1);
    if (f->m != f->n)
        a = binary(c, "AddV2", a, svd_rest(c, f, v1, dv1));
    if (dtype_is_complex(endpoint_dtype(f->u)))
        a = binary(c, "AddV2", a, svd_phase(c, f, v_dv, v1));
    return a;
}

/* Only the singular values were computed. */
static struct status of_values(struct gradient_context *c)
{
    struct endpoint x = input(c, 0);
    struct node *again = build_node(c->builder, "Svd", NULL, 1, &x, 0, NULL, NULL);
    struct endpoint ds = unary(c, "MatrixDiag", dy_or_zeros(c, 0));

    return flow(c, 0, around(c, (struct endpoint){ again, 1 }, ds, (struct endpoint){ again, 2 }));
}

struct status gradient_svd(struct gradient_context *c)
{
    struct svd_grad f = { .s = output(c), .u = { c->node, 1 }, .v = { c->node, 2 } };
    bool vectors;

    TRY(node_attr_bool(c->node, "compute_uv", &vectors));
    TRY(node_attr_bool(c->node, "full_matrices", &f.full));
    if (!vectors)
        return of_values(c);
    TRY(read_sides(c, &f.m, &f.n));
    f.rank = endpoint_shape(input(c, 0))->rank;
    if (f.full && (f.m - f.n > 1 || f.n - f.m > 1))
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s': Svd has no gradient for full_matrices of %lld rows and "
                            "%lld columns",
                            c->node->name, (long long)f.m, (long long)f.n);
    f.ds = dy_or_zeros(c, 0);
    f.du = dy_or_zeros(c, 1);
    f.dv = dy_or_zeros(c, 2);
    if (f.m <= f.n)
        return flow(c, 0, of_svd(c, &f));
    struct svd_grad turned = f; /* the adjoint has more columns than rows */
    turned.m = f.n;
    turned.n = f.m;
    turned.u = f.v;
    turned.v = f.u;
    turned.du = f.dv;
    turned.dv = f.du;
    return flow(c, 0, adjoint(c, of_svd(c, &turned), f.rank));
}
