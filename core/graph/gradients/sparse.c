/* Gradients of ops on sparse tensors. Source: TensorFlow's sparse_grad.py. */
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

/* ---- sums, means and roots of segments ---- */

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

/* ---- values that are moved, added up or cut out ---- */

/* The values of `x` at the places of a sparse tensor, [n, rank]. */
static struct endpoint at_places(struct gradient_context *c, struct endpoint x,
                                 struct endpoint places)
{
    return binary(c, "GatherNd", x, places);
}

/* Sorts the numbers of the values as it sorts the values. */
struct status gradient_sparse_reorder(struct gradient_context *c)
{
    struct endpoint count = build_slice(c->builder, NULL, shape_tensor(c, input(c, 0)), 1,
                                        (const int32_t[]){ 0 }, (const int32_t[]){ 1 });
    const struct endpoint inputs[] = {
        input(c, 0), build_range(c->builder, build_unary(c->builder, "Squeeze", NULL, count)),
        input(c, 2)
    };

    if (c->outputs[1].node == NULL)
        return status_ok();
    struct node *sorted = build_node(c->builder, "SparseReorder", NULL, 3, inputs, 0, NULL, NULL);
    struct endpoint from = unary(c, "InvertPermutation", (struct endpoint){ sorted, 1 });
    return flow(c, 1, gather_rows(c, c->outputs[1], from));
}

struct status gradient_sparse_add(struct gradient_context *c)
{
    const struct endpoint inputs[] = { c->outputs[1], input(c, 0), input(c, 3), output(c) };

    if (c->outputs[1].node == NULL)
        return status_ok();
    struct node *node = build_node(c->builder, "SparseAddGrad", NULL, 4, inputs, 0, NULL, NULL);
    send(c, 1, (struct endpoint){ node, 0 });
    return flow(c, 4, (struct endpoint){ node, 1 });
}

struct status gradient_sparse_slice(struct gradient_context *c)
{
    const struct endpoint inputs[] = { c->outputs[1], input(c, 0), input(c, 3), output(c) };

    if (c->outputs[1].node == NULL)
        return status_ok();
    return flow(c, 1, build(c->builder, "SparseSliceGrad", NULL, 4, inputs, NULL));
}

struct status gradient_sparse_dense_add(struct gradient_context *c)
{
    if (c->wanted[1])
        send(c, 1, at_places(c, dy(c), input(c, 0)));
    return flow(c, 3, dy(c));
}

static struct endpoint sum_all(struct gradient_context *c, struct endpoint x)
{
    const int32_t flat = -1;

    return binary(c, "Sum", binary(c, "Reshape", x, build_const_ints(c->builder, NULL, 1, &flat)),
                  build_const_int(c->builder, 0));
}

/* The places [n, rank]: indices of rank 1 are places in a vector, a scalar is the only one. If the
 * rank is unknown, GatherNd looks. */
static struct endpoint places_of_indices(struct gradient_context *c, struct endpoint indices)
{
    static const int32_t column[] = { -1, 1 };
    int rank = endpoint_shape(indices)->rank;

    if (rank != 0 && rank != 1)
        return indices;
    return binary(c, "Reshape", indices, build_const_ints(c->builder, NULL, 2, column));
}

/* The default value gets what the values do not get. One value for all places gets their sum. */
struct status gradient_sparse_to_dense(struct gradient_context *c)
{
    struct endpoint values = at_places(c, dy(c), places_of_indices(c, input(c, 0)));

    if (c->wanted[2])
        send(c, 2,
             endpoint_shape(input(c, 2))->rank == 0 ? sum_all(c, values)
                                                    : reshape_like(c, values, input(c, 2)));
    if (c->wanted[3])
        send(c, 3, binary(c, "Sub", sum_all(c, dy(c)), sum_all(c, values)));
    return status_ok();
}

/* Each value gets the gradient of the sum that it is part of. */
struct status gradient_sparse_reduce_sum(struct gradient_context *c)
{
    struct endpoint shape = input(c, 2);
    struct endpoint kept = shape_with_ones(c, as_type(c, shape, DT_INT32), input(c, 3));
    struct endpoint sums = binary(c, "Reshape", dy(c), kept);
    struct endpoint merged = binary(c, "FloorDiv", shape, as_type(c, kept, DT_INT64));

    return flow(c, 1, at_places(c, sums, binary(c, "FloorDiv", input(c, 0), merged)));
}

/* (dy - Σ dy y) y, over the values of a row */
struct status gradient_sparse_softmax(struct gradient_context *c)
{
    struct builder *b = c->builder;
    struct endpoint places = input(c, 0), shape = input(c, 2), y = output(c);
    const struct endpoint rows[] = { places, binary(c, "Mul", dy(c), y), shape,
                                     build_const_ints(b, NULL, 1, (const int32_t[]){ -1 }) };
    struct endpoint sums = build(b, "SparseReduceSum", NULL, 4, rows,
                                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    const struct endpoint added[] = { places, dy(c), shape, unary(c, "Neg", sums) };

    return flow(c, 1, binary(c, "Mul", build(b, "SparseDenseCwiseAdd", NULL, 4, added, NULL), y));
}

/* ---- a sparse tensor by a dense one, which is broadcast ---- */

/* The places in the dense tensor of the values, [n, rank of the dense tensor]. */
static struct endpoint places_in_dense(struct gradient_context *c, int rank)
{
    const int32_t one = 1, no_begin = 0;
    struct builder *b = c->builder;
    struct endpoint shape = input(c, 2),
                    dense = as_type(c, unary(c, "Shape", input(c, 3)), DT_INT64);
    struct endpoint missing = binary(c, "Sub", unary(c, "Size", shape), build_const_int(b, rank));
    missing = binary(c, "Reshape", missing, build_const_ints(b, NULL, 1, &one));
    const struct endpoint dims[] = { binary(c, "Fill", missing, build_const_int64(b, 1)), dense,
                                     build_const_int(b, 0) };
    struct endpoint wide = build(b, "ConcatV2", NULL, 3, dims, NULL);
    struct endpoint places = binary(c, "FloorDiv", input(c, 0), binary(c, "FloorDiv", shape, wide));
    const struct endpoint begin[] = { build_const_ints(b, NULL, 1, &no_begin), missing,
                                      build_const_int(b, 0) };
    const struct endpoint cut[] = { places, build(b, "ConcatV2", NULL, 3, begin, NULL),
                                    build_const_ints(b, NULL, 2, (const int32_t[]){ -1, -1 }) };
    return build(b, "Slice", NULL, 3, cut, NULL);
}

static struct status by_dense(struct gradient_context *c, bool is_quotient)
{
    int rank = endpoint_shape(input(c, 3))->rank;

    if (rank < 0)
        return not_constant(c, "the rank of its dense input");
    struct endpoint places = places_in_dense(c, rank), slope = input(c, 1);
    struct endpoint values = at_places(c, input(c, 3), places);
    if (c->wanted[1])
        send(c, 1, binary(c, is_quotient ? "RealDiv" : "Mul", dy(c), values));
    if (!c->wanted[3])
        return status_ok();
    if (is_quotient)
        slope = binary(c, "RealDiv", unary(c, "Neg", slope), unary(c, "Square", values));
    const struct endpoint scatter[] = { places, binary(c, "Mul", dy(c), slope),
                                        as_type(c, unary(c, "Shape", input(c, 3)), DT_INT64) };
    return flow(c, 3, build(c->builder, "ScatterNd", NULL, 3, scatter, NULL));
}

struct status gradient_sparse_dense_mul(struct gradient_context *c)
{
    return by_dense(c, false);
}

struct status gradient_sparse_dense_div(struct gradient_context *c)
{
    return by_dense(c, true);
}
