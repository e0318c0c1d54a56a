#include "graph/gradients/matrices.h"

struct endpoint product(struct gradient_context *c, struct endpoint a, bool adjoint_a,
                        struct endpoint b, bool adjoint_b)
{
    const struct endpoint inputs[] = { a, b };

    return build(c->builder, "BatchMatMulV2", NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("adj_x", adjoint_a),
                                        attr_bool("adj_y", adjoint_b), ATTR_END });
}

static struct endpoint swapped(struct gradient_context *c, const char *op, struct endpoint x,
                               int rank)
{
    int32_t order[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        order[i] = i;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return binary(c, op, x, build_const_ints(c->builder, NULL, rank, order));
}

struct endpoint transposed(struct gradient_context *c, struct endpoint x, int rank)
{
    return swapped(c, "Transpose", x, rank);
}

struct endpoint adjoint(struct gradient_context *c, struct endpoint x, int rank)
{
    bool is_complex = dtype_is_complex(endpoint_dtype(x));

    return swapped(c, is_complex ? "ConjugateTranspose" : "Transpose", x, rank);
}

struct endpoint band(struct gradient_context *c, struct endpoint x, int64_t lower, int64_t upper)
{
    const struct endpoint inputs[] = { x, build_const_int64(c->builder, lower),
                                       build_const_int64(c->builder, upper) };

    return build(c->builder, "MatrixBandPart", NULL, 3, inputs, NULL);
}

struct endpoint with_adjoint(struct gradient_context *c, const char *op, bool is_adjoint, int count,
                             const struct endpoint *inputs)
{
    return build(c->builder, op, NULL, count, inputs,
                 (const struct attr[]){ attr_bool("adjoint", is_adjoint), ATTR_END });
}

struct endpoint triangular(struct gradient_context *c, struct endpoint a, struct endpoint b,
                           bool lower, bool is_adjoint)
{
    const struct endpoint inputs[] = { a, b };

    return build(c->builder, "MatrixTriangularSolve", NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("lower", lower), attr_bool("adjoint", is_adjoint),
                                        ATTR_END });
}

struct endpoint of_system(struct gradient_context *c, struct endpoint of_right, bool is_adjoint)
{
    struct endpoint x = output(c);

    return negative(c, is_adjoint ? product(c, x, false, of_right, true)
                                  : product(c, of_right, false, x, true));
}

struct endpoint unstacked(struct gradient_context *c, struct endpoint gradient, int index)
{
    const struct shape *a = endpoint_shape(input(c, 0)), *b = endpoint_shape(input(c, 1));
    bool same = a->rank >= 2 && a->rank == b->rank;

    for (int i = 0; same && i < a->rank - 2; i++)
        same = a->dims[i] >= 0 && a->dims[i] == b->dims[i];
    if (same)
        return gradient;
    struct endpoint shape = unary(c, "Shape", input(c, index));
    struct endpoint axes = binary(c, "BroadcastGradientArgs", shape, unary(c, "Shape", gradient));
    return binary(c, "Reshape", binary(c, "Sum", gradient, axes), shape);
}

struct status read_rank(const struct gradient_context *c, int *out)
{
    *out = endpoint_shape(input(c, 0))->rank;
    return *out < 2 ? not_constant(c, "the rank of its input") : status_ok();
}

struct status read_sides(const struct gradient_context *c, int64_t *rows, int64_t *columns)
{
    const struct shape *shape = endpoint_shape(input(c, 0));

    if (shape->rank < 2 || shape->dims[shape->rank - 2] < 0 || shape->dims[shape->rank - 1] < 0)
        return not_constant(c, "the sides of its matrices");
    *rows = shape->dims[shape->rank - 2];
    *columns = shape->dims[shape->rank - 1];
    return status_ok();
}
