/* Gradients of the ops that read and write diagonals. Source: TensorFlow's array_grad.py. */
#include "graph/gradients/emit.h"

/* Input 1 of the op, the diagonals' numbers k; V3 also has an alignment. */
static struct endpoint diagonals_of(struct gradient_context *c, struct endpoint x,
                                    struct endpoint k)
{
    const struct endpoint inputs[] = { x, k, number(c, x, 0) };
    bool aligned = node_attr(c->node, "align") != NULL;
    const struct attr attrs[] = { aligned ? same_attr(c, "align") : ATTR_END, ATTR_END };

    return build(c->builder, aligned ? "MatrixDiagPartV3" : "MatrixDiagPartV2", NULL, 3, inputs,
                 attrs);
}

static struct endpoint set_diagonals(struct gradient_context *c, struct endpoint x,
                                     struct endpoint diagonals, struct endpoint k)
{
    const struct endpoint inputs[] = { x, diagonals, k };
    bool aligned = node_attr(c->node, "align") != NULL;
    const struct attr attrs[] = { aligned ? same_attr(c, "align") : ATTR_END, ATTR_END };

    return build(c->builder, aligned ? "MatrixSetDiagV3" : "MatrixSetDiagV2", NULL, 3, inputs,
                 attrs);
}

struct status gradient_matrix_diag(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "MatrixDiagPart", dy(c)));
}

struct status gradient_matrix_diag_v2(struct gradient_context *c)
{
    return flow(c, 0, diagonals_of(c, dy(c), input(c, 1)));
}

struct status gradient_matrix_diag_part(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "MatrixSetDiag", unary(c, "ZerosLike", input(c, 0)), dy(c)));
}

struct status gradient_matrix_diag_part_v2(struct gradient_context *c)
{
    struct endpoint zeros = unary(c, "ZerosLike", input(c, 0));

    return flow(c, 0, set_diagonals(c, zeros, dy(c), input(c, 1)));
}

struct status gradient_matrix_set_diag(struct gradient_context *c)
{
    struct endpoint zeros = unary(c, "ZerosLike", input(c, 1));

    if (c->wanted[1])
        send(c, 1, unary(c, "MatrixDiagPart", dy(c)));
    return flow(c, 0, binary(c, "MatrixSetDiag", dy(c), zeros));
}

struct status gradient_matrix_set_diag_v2(struct gradient_context *c)
{
    struct endpoint zeros = unary(c, "ZerosLike", input(c, 1));

    if (c->wanted[1])
        send(c, 1, diagonals_of(c, dy(c), input(c, 2)));
    return flow(c, 0, set_diagonals(c, dy(c), zeros, input(c, 2)));
}
