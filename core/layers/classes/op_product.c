/* op_product: products of matrices. */
#include "layers/classes/op.h"

/* x · matrix along the last axis of x; all other dimensions are rows. */
static void by_matrix(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                      struct endpoint x, const struct tensor *matrix)
{
    struct builder *b = &context->builder;
    const struct shape *shape = endpoint_shape(x);
    const int64_t rows[] = { SIZE_REST, matrix->shape.dims[0] };
    int64_t back[SHAPE_RANK_MAX];

    if (shape->rank < 2 || shape->dims[shape->rank - 1] != matrix->shape.dims[0]) {
        layer_fail(context, layer, "shapes %s and %s do not fit", shape_text(shape),
                   shape_text(&matrix->shape));
        return;
    }
    for (int i = 0; i < shape->rank; i++)
        back[i] = SIZE_OF(i);
    back[shape->rank - 1] = matrix->shape.dims[1];
    int rank = shape->rank;
    struct endpoint y = build_binary(b, "MatMul", NULL, build_reshape(b, x, x, 2, rows),
                                     build_const(b, NULL, matrix));
    op_give(io, build_reshape(b, y, x, rank, back));
}

/* A product per row of the batch, or one product with a constant matrix. */
static void matmul_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct endpoint x = io_tensor(io, "x1").value, y = io_tensor(io, "x2").value;
    struct tensor matrix;

    op_give(io, io->inputs[0].value);
    if (x.node == NULL || !op_floats(context, layer, &x) || !status_is_ok(context->builder.status))
        return;
    if (y.node == NULL && op_numbers(context, io, "x2", &matrix) && matrix.shape.rank == 2) {
        by_matrix(context, layer, io, x, &matrix);
        return;
    }
    if (y.node == NULL || endpoint_shape(x)->rank < 3) {
        layer_fail(context, layer,
                   "expected two tensors [batch, …, rows, columns], or a tensor and a matrix of "
                   "numbers");
        return;
    }
    if (!op_floats(context, layer, &y) ||
        !layer_check_open(context, layer, y, endpoint_shape(x)->rank, endpoint_shape(x)->rank))
        return;
    const struct endpoint inputs[] = { x, y };
    op_give(io, build(&context->builder, "BatchMatMulV2", NULL, 2, inputs, NULL));
}
OP_CLASS(matmul, "Matmul", op_x1_x2, matmul_call);
