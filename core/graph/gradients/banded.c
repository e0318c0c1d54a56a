/* Gradients of products and solutions with matrices of which some diagonals are given. Source:
 * TensorFlow's linalg_grad.py. */
#include "graph/gradients/matrices.h"

/* x moved along dimension `axis` by one place, forwards (1) or back (-1); zeros follow. */
static struct endpoint moved(struct gradient_context *c, struct endpoint x, int rank, int axis,
                             int by)
{
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, end[SHAPE_RANK_MAX] = { 0 }, ones[SHAPE_RANK_MAX];
    int32_t before_and_after[2 * SHAPE_RANK_MAX] = { 0 };
    const struct shape pairs = shape_of(rank, 2);
    const struct tensor padding = tensor_borrow(DT_INT32, &pairs, before_and_after);
    const int64_t all = (1 << rank) - 1, one = 1 << axis;
    struct builder *b = c->builder;

    for (int i = 0; i < rank; i++)
        ones[i] = 1;
    begin[axis] = by < 0 ? 1 : 0;
    end[axis] = -1;
    before_and_after[2 * axis + (by < 0)] = 1;
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, rank, begin),
                                       build_const_ints(b, NULL, rank, end),
                                       build_const_ints(b, NULL, rank, ones) };
    const struct attr masks[] = { attr_int("begin_mask", by < 0 ? all & ~one : all),
                                  attr_int("end_mask", by < 0 ? all : all & ~one), ATTR_END };
    struct endpoint rest = build(b, "StridedSlice", NULL, 4, inputs, masks);
    return binary(c, "Pad", rest, build_const(b, NULL, &padding));
}

/* Σ x y over the last dimension */
static struct endpoint dot(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    return binary(c, "Sum", binary(c, "Mul", x, y), build_const_int(c->builder, -1));
}

/* ---- three diagonals ---- */

struct status gradient_tridiagonal_matmul(struct gradient_context *c)
{
    struct endpoint columns[3], product_parts[3], right = conjugate(c, input(c, 3));
    int rank;

    TRY(read_rank(c, &rank));
    const struct endpoint factors[] = { moved(c, right, rank, rank - 2, -1), right,
                                        moved(c, right, rank, rank - 2, 1) };
    for (int i = 0; i < 3; i++) {
        if (c->wanted[i])
            send(c, i, build_expand_dims(c->builder, dot(c, factors[i], dy(c)), -2));
        columns[i] = adjoint(c, input(c, i), rank); /* [.., m, 1] */
        product_parts[i] = binary(c, "Mul", columns[i], dy(c));
    }
    product_parts[0] = moved(c, product_parts[0], rank, rank - 2, 1);
    product_parts[2] = moved(c, product_parts[2], rank, rank - 2, -1);
    return flow(c, 3, build(c->builder, "AddN", NULL, 3, product_parts, NULL));
}

static struct endpoint pack_diagonals(struct gradient_context *c, const struct endpoint *diagonals)
{
    return build(c->builder, "Pack", NULL, 3, diagonals,
                 (const struct attr[]){ attr_int("axis", -2), ATTR_END });
}

/* The diagonals [.., 3, m] of the transpose: the outer ones swap places. */
static struct endpoint transpose_diagonals(struct gradient_context *c, struct endpoint diagonals,
                                           int rank)
{
    struct node *rows =
        build_node(c->builder, "Unpack", NULL, 1, &diagonals, 0, NULL,
                   (const struct attr[]){ attr_int("num", 3), attr_int("axis", -2), ATTR_END });
    const struct endpoint swapped[] = {
        moved(c, (struct endpoint){ rows, 2 }, rank - 1, rank - 2, -1),
        { rows, 1 },
        moved(c, (struct endpoint){ rows, 0 }, rank - 1, rank - 2, 1),
    };
    return pack_diagonals(c, swapped);
}

/* As in TensorFlow, no complex number is conjugated. */
struct status gradient_tridiagonal_solve(struct gradient_context *c)
{
    struct endpoint x = output(c);
    const struct attr attrs[] = { same_attr(c, "partial_pivoting"),
                                  same_attr(c, "perturb_singular"), ATTR_END };
    int rank;

    TRY(read_rank(c, &rank));
    const struct endpoint inputs[] = { transpose_diagonals(c, input(c, 0), rank), dy(c) };
    struct endpoint right = build(c->builder, "TridiagonalSolve", NULL, 2, inputs, attrs);
    const struct endpoint diagonals[] = {
        dot(c, right, moved(c, x, rank, rank - 2, -1)),
        dot(c, right, x),
        dot(c, right, moved(c, x, rank, rank - 2, 1)),
    };
    send(c, 0, negative(c, pack_diagonals(c, diagonals)));
    return flow(c, 1, right);
}

/* ---- some diagonals on one side ---- */

/* The `count` diagonals [.., count, n] of x, of which the main one is the first or the last. */
static struct endpoint take_diagonals(struct gradient_context *c, struct endpoint x, int32_t count,
                                      bool lower)
{
    const int32_t range[] = { lower ? 1 - count : 0, lower ? 0 : count - 1 };
    const struct endpoint inputs[] = { x, build_const_ints(c->builder, NULL, 2, range),
                                       number(c, x, 0) };
    struct endpoint diagonals =
        build(c->builder, "MatrixDiagPartV3", NULL, 3, inputs,
              (const struct attr[]){ attr_text("align", "LEFT_RIGHT"), ATTR_END });

    return count == 1 ? build_expand_dims(c->builder, diagonals, -2) : diagonals;
}

struct status gradient_banded_triangular_solve(struct gradient_context *c)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    const struct endpoint inputs[] = { input(c, 0), dy(c) };
    bool lower, is_adjoint;

    if (shape->rank < 2 || shape->dims[shape->rank - 2] < 0 ||
        shape->dims[shape->rank - 2] > INT32_MAX) /* a declared shape may be of any size */
        return not_constant(c, "the number of bands of its matrix");
    TRY(node_attr_bool(c->node, "lower", &lower));
    TRY(node_attr_bool(c->node, "adjoint", &is_adjoint));
    struct endpoint right =
        build(c->builder, "BandedTriangularSolve", NULL, 2, inputs,
              (const struct attr[]){ attr_bool("lower", lower), attr_bool("adjoint", !is_adjoint),
                                     ATTR_END });
    if (c->wanted[0]) {
        struct endpoint matrix = of_system(c, right, is_adjoint);
        int32_t bands = (int32_t)shape->dims[shape->rank - 2];
        send(c, 0, unstacked(c, take_diagonals(c, matrix, bands, lower), 0));
    }
    return flow(c, 1, unstacked(c, right, 1));
}
