/* Gradients of ops on sparse tensors. */
#include "graph/gradients/emit.h"

struct product_parts {
    bool adjoint_a, adjoint_b;
    struct endpoint rows, columns; /* of each value of a */
};

static struct endpoint transpose(struct gradient_context *c, struct endpoint x)
{
    const int32_t order[] = { 1, 0 };

    return binary(c, "Transpose", x, build_const_ints(c->builder, NULL, 2, order));
}

/* b: the product of the other adjoint of a with the gradient. */
static struct endpoint of_dense(struct gradient_context *c, const struct product_parts *parts)
{
    const struct endpoint inputs[] = { input(c, 0), input(c, 1), input(c, 2), dy(c) };
    struct endpoint gradient =
        build(c->builder, "SparseTensorDenseMatMul", NULL, 4, inputs,
              (const struct attr[]){ attr_bool("adjoint_a", !parts->adjoint_a), ATTR_END });

    return parts->adjoint_b ? transpose(c, gradient) : gradient;
}

/* The values of a: each is multiplied with a row of b and added to a row of the product. */
static struct endpoint of_values(struct gradient_context *c, const struct product_parts *parts)
{
    struct endpoint b = parts->adjoint_b ? transpose(c, input(c, 3)) : input(c, 3);
    struct endpoint to = parts->adjoint_a ? parts->columns : parts->rows,
                    from = parts->adjoint_a ? parts->rows : parts->columns;
    struct endpoint terms = binary(c, "Mul", gather_rows(c, dy(c), to), gather_rows(c, b, from));

    return binary(c, "Sum", terms, build_const_int(c->builder, 1));
}

struct status gradient_sparse_product(struct gradient_context *c)
{
    struct product_parts parts;
    struct endpoint indices = input(c, 0);

    TRY(node_attr_bool(c->node, "adjoint_a", &parts.adjoint_a));
    TRY(node_attr_bool(c->node, "adjoint_b", &parts.adjoint_b));
    if (c->wanted[3])
        send(c, 3, of_dense(c, &parts));
    if (!c->wanted[1])
        return status_ok();
    struct node *columns =
        build_node(c->builder, "Unpack", NULL, 1, &indices, 0, NULL,
                   (const struct attr[]){ attr_int("num", 2), attr_int("axis", 1), ATTR_END });
    parts.rows = (struct endpoint){ columns, 0 };
    parts.columns = (struct endpoint){ columns, 1 };
    return flow(c, 1, of_values(c, &parts));
}

/* ---- Sums, means and roots of segments ---- */

static const char *segment_gradient_op(const char *op)
{
    return strstr(op, "Mean") != NULL    ? "SparseSegmentMeanGrad"
           : strstr(op, "SqrtN") != NULL ? "SparseSegmentSqrtNGrad"
                                         : "SparseSegmentSumGrad";
}

struct status gradient_sparse_segment(struct gradient_context *c)
{
    const int32_t zero = 0, one = 1;
    struct endpoint rows =
        build_slice(c->builder, NULL, shape_tensor(c, input(c, 0)), 1, &zero, &one);
    const struct endpoint inputs[] = { dy(c), input(c, 1), input(c, 2),
                                       build_unary(c->builder, "Squeeze", NULL, rows) };

    return flow(c, 0,
                build(c->builder, segment_gradient_op(c->node->op_name), NULL, 4, inputs, NULL));
}

/* ---- SparseFillEmptyRows and RaggedFillEmptyRows: input 1 holds the values, 3 the default ---- */

struct status gradient_fill_empty_rows(struct gradient_context *c)
{
    const struct endpoint inputs[] = { { c->node, 3 }, c->outputs[1] };
    const char *op = strcmp(c->node->op_name, "RaggedFillEmptyRows") == 0
                         ? "RaggedFillEmptyRowsGrad"
                         : "SparseFillEmptyRowsGrad";
    if (c->outputs[1].node == NULL)
        return status_ok();
    struct node *node = build_node(c->builder, op, NULL, 2, inputs, 0, NULL, NULL);
    send(c, 1, (struct endpoint){ node, 0 });
    return flow(c, 3, (struct endpoint){ node, 1 });
}
