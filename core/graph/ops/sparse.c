/* Shapes of ops on sparse and ragged tensors. */
#include "graph/ops/infer.h"

static struct status adjoint(const struct infer_context *context, const char *name, bool *out)
{
    return node_attr_bool(context->node, name, out);
}

struct status infer_sparse_product(struct infer_context *context)
{
    struct shape a = infer_shape_value(context, 2);
    const struct shape *b = infer_input(context, 3);
    struct shape product = shape_of(-1, -1);
    bool adjoint_a, adjoint_b;

    TRY(adjoint(context, "adjoint_a", &adjoint_a));
    TRY(adjoint(context, "adjoint_b", &adjoint_b));
    TRY(infer_rank(b, 2, "b"));
    if (a.rank == 2)
        product.dims[0] = a.dims[adjoint_a ? 1 : 0];
    if (b->rank == 2)
        product.dims[1] = b->dims[adjoint_b ? 0 : 1];
    infer_output(context, 0, &product);
    return status_ok();
}

/* A sparse matrix: indices [values, 2], values [values], shape [2]. */
struct status infer_sparse_matrix(struct infer_context *context)
{
    const struct shape indices = shape_of(-1, 2), values = shape_of(-1), shape = shape_of(2);

    infer_output(context, 0, &indices);
    infer_output(context, 1, &values);
    infer_output(context, 2, &shape);
    return status_ok();
}

/* The shape in the input `shape`, and the inner dimensions of the values. */
struct status infer_ragged_to_tensor(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 0);
    const struct shape *values = infer_input(context, 1);
    int inner = values->rank - 1;

    for (int d = 1; d <= inner && inner < shape.rank; d++) {
        int64_t *dim = &shape.dims[shape.rank - 1 - inner + d];
        *dim = *dim < 0 ? values->dims[d] : *dim;
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

/* A ragged tensor in a scalar, or each of its rows in an element. */
struct status infer_ragged_to_variant(struct infer_context *context)
{
    const struct shape *first = infer_input(context, 0);
    struct shape shape = shape_scalar();
    bool is_batch;

    TRY(node_attr_bool(context->node, "batched_input", &is_batch));
    if (is_batch) {
        shape = shape_of(-1);
        if (first->rank > 0 && first->dims[0] > 0) /* splits are one more than rows */
            shape.dims[0] = first->dims[0] - (context->node->inputs_count > 1);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_ragged_bincount(struct infer_context *context)
{
    struct shape shape = shape_of(-1, -1);
    int64_t size;

    if (infer_int(context, 2, &size) && size >= 0)
        shape.dims[1] = size;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_ragged_to_sparse(struct infer_context *context)
{
    int splits = context->node->inputs_count - 1;
    const struct shape *values = infer_input(context, splits);
    int64_t rank = values->rank < 0 ? -1 : values->rank + splits, count;

    if (values->rank < 0 || !shape_fits(values, &count))
        count = -1;
    const struct shape indices = shape_of(count, rank), flat = shape_of(count),
                       shape = shape_of(rank);
    infer_output(context, 0, &indices);
    infer_output(context, 1, &flat);
    infer_output(context, 2, &shape);
    return status_ok();
}

/* A sparse tensor of which only the rank is known. */
struct status infer_sparse_result(struct infer_context *context)
{
    const struct shape indices = shape_of(-1, -1), values = shape_of(-1), shape = shape_of(-1);

    infer_output(context, 0, &indices);
    infer_output(context, 1, &values);
    infer_output(context, 2, &shape);
    return status_ok();
}

/* The shape, if it is that of a matrix of indices. */
static struct shape matrix_or_unknown(const struct shape *indices)
{
    return indices->rank == 2 ? *indices : shape_of(-1, -1);
}

struct status infer_sparse_reorder(struct infer_context *context)
{
    const struct shape indices = matrix_or_unknown(infer_input(context, 0)),
                       *values = infer_input(context, 1), vector = shape_of(-1);

    infer_output(context, 0, &indices);
    infer_output(context, 1, values->rank == 1 ? values : &vector);
    return status_ok();
}

/* Input 2 is the new shape, whose size is the new rank. */
struct status infer_sparse_reshape(struct infer_context *context)
{
    const struct shape *given = infer_input(context, 2),
                       shape = shape_of(given->rank == 1 ? given->dims[0] : -1),
                       indices = shape_of(matrix_or_unknown(infer_input(context, 0)).dims[0],
                                          shape.dims[0]);

    infer_output(context, 0, &indices);
    infer_output(context, 1, &shape);
    return status_ok();
}

/* Input 3, if there is one, is the number of rows. */
struct status infer_sparse_segment(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    int64_t rows;

    if (shape.rank < 1)
        return status_ok();
    shape.dims[0] = -1;
    if (context->node->inputs_count > 3 && infer_int(context, 3, &rows) && rows >= 0)
        shape.dims[0] = rows;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The values and the row splits of a ragged matrix. */
struct status infer_ragged_cross(struct infer_context *context)
{
    struct shape vector = shape_of(-1);
    infer_output(context, 0, &vector);
    infer_output(context, 1, &vector);
    return status_ok();
}

/* The values are a vector; their number depends on which rows are empty. */
struct status infer_fill_empty_rows(struct infer_context *context)
{
    struct shape vector = shape_of(-1);
    infer_output(context, 1, &vector);
    infer_output(context, 2, &vector);
    infer_output(context, 3, infer_input(context, 1));
    return status_ok();
}

struct status infer_fill_empty_rows_grad(struct infer_context *context)
{
    struct shape scalar = shape_scalar();
    infer_output(context, 0, infer_input(context, 0));
    infer_output(context, 1, &scalar);
    return status_ok();
}
