/* op_product: products of matrices. */
#include <math.h>

#include "graph/einsum.h"
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

    if (x.node != NULL &&
        (!op_floats(context, layer, &x) || !status_is_ok(context->builder.status)))
        return;
    if (x.node != NULL && y.node == NULL && op_numbers(context, io, "x2", &matrix) &&
        matrix.shape.rank == 2) {
        by_matrix(context, layer, io, x, &matrix);
        return;
    }
    if (x.node == NULL || y.node == NULL || endpoint_shape(x)->rank < 3) {
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

/* A sum of products along the last axis of x and the first of a matrix of numbers. */
static void sum_of_products(struct layer_context *context, const struct layer *layer,
                            struct layer_io *io)
{
    struct endpoint x = io_tensor(io, "x1").value;
    struct tensor matrix;

    if (x.node == NULL || io_tensor(io, "x2").value.node != NULL ||
        !op_numbers(context, io, "x2", &matrix) || matrix.shape.rank != 2)
        layer_refuse(context, layer,
                     "other operands than a tensor and a matrix of numbers: they would mix rows of "
                     "the batch; matmul and einsum keep them apart");
    else if (op_floats(context, layer, &x))
        by_matrix(context, layer, io, x, &matrix);
}
OP_CLASS(dot, "Dot", op_x1_x2, sum_of_products);

static const struct layer_arg tensordot_args[] = {
    { "axes", ARG_VALUE, "2" },
};

static void tensordot_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    const struct json_value *axes = layer_arg(layer, "axes")->value;

    if (axes->kind == JSON_VALUE_INT && axes->integer == 1) {
        sum_of_products(context, layer, io);
        return;
    }
    layer_refuse(context, layer, "argument 'axes' is %s; only 1 is implemented",
                 json_value_show(axes, context->arena));
}
OP_ARGS_CLASS(tensordot, "Tensordot", tensordot_args, op_x1_x2, tensordot_call);

/* ---- einsum ---- */

static const struct layer_arg einsum_args[] = {
    { "subscripts", ARG_VALUE, REQUIRED },
};
static const char *const einsum_inputs[] = { "first", "second", NULL };

/* Does each tensor, and the output, have the batch as its first axis, and does no constant have
 * it? */
static bool keeps_rows(const struct einsum_equation *equation, const bool *is_tensor)
{
    const struct einsum_labels *out = &equation->output;
    bool dots = out->ellipsis == 0;

    if (!dots && out->count == 0)
        return false;
    for (int i = 0; i < equation->inputs_count; i++) {
        const struct einsum_labels *in = &equation->inputs[i];
        bool begins = dots ? in->ellipsis == 0 : in->count > 0 && in->at[0] == out->at[0];
        bool has = dots ? in->ellipsis >= 0 : memchr(in->at, out->at[0], (size_t)in->count) != NULL;
        if (is_tensor[i] ? !begins || (!dots && in->ellipsis == 0) : has)
            return false;
    }
    return dots || out->ellipsis != 0;
}

static void einsum_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct json_value *text = layer_arg(layer, "subscripts")->value;
    int count = io->call->inputs_count + io->call->constants_count;
    struct einsum_equation equation;
    struct endpoint operands[EINSUM_OPERANDS_MAX];
    bool is_tensor[EINSUM_OPERANDS_MAX];

    for (int i = 0; i < count && i < EINSUM_OPERANDS_MAX; i++) {
        struct tensor numbers;
        operands[i] = io_tensor(io, einsum_inputs[i]).value;
        is_tensor[i] = operands[i].node != NULL;
        if (!is_tensor[i] && op_numbers(context, io, einsum_inputs[i], &numbers))
            operands[i] = build_const(b, NULL, &numbers);
        if (operands[i].node == NULL) {
            layer_fail(context, layer, "argument '%s' of a call is no tensor and no number",
                       einsum_inputs[i]);
            return;
        }
        if (!op_floats(context, layer, &operands[i]))
            return;
    }
    if (text->kind != JSON_VALUE_TEXT || count > EINSUM_OPERANDS_MAX ||
        !status_is_ok(einsum_parse(bytes_of(text->text), count, &equation)) ||
        !keeps_rows(&equation, is_tensor)) {
        layer_fail(context, layer,
                   "subscripts %s: expected 'b…,b…->b…', where b is the batch, or as many dots in "
                   "its place; constants have no b",
                   json_value_show(text, context->arena));
        return;
    }
    op_give(io, build(b, "Einsum", NULL, count, operands,
                      (const struct attr[]){ attr_text("equation", text->text), ATTR_END }));
}
OP_ARGS_CLASS(einsum, "Einsum", einsum_args, einsum_inputs, einsum_call);

/* ---- attention ---- */

static const struct layer_arg attention_args[] = {
    { "is_causal", ARG_BOOL, "false" },
    { "flash_attention", ARG_NONE, "null" },
    { "attn_logits_soft_cap", ARG_NONE, "null" },
};
static const char *const attention_inputs[] = { "query", "key",   "value", "bias",
                                                "mask",  "scale", NULL };

static struct endpoint by_equation(struct builder *b, const char *equation, struct endpoint x,
                                   struct endpoint y)
{
    const struct endpoint inputs[] = { x, y };

    return build(b, "Einsum", NULL, 2, inputs,
                 (const struct attr[]){ attr_text("equation", equation), ATTR_END });
}

/* The score of a masked key, as in Keras. */
#define HIDDEN_SCORE (-0.7 * 3.38953e38)

/* Query, key and value are [batch, steps, heads, size]. */
static void attention_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint bias = io_tensor(io, "bias").value, mask = io_tensor(io, "mask").value,
                    parts[3];
    double scale;

    for (int i = 0; i < 3; i++) {
        parts[i] = io_tensor(io, attention_inputs[i]).value;
        if (parts[i].node == NULL || op_constant(io, "bias") != NULL ||
            op_constant(io, "mask") != NULL) {
            layer_refuse(context, layer, "arguments other than 'scale' that are no tensors");
            return;
        }
        if (!op_floats(context, layer, &parts[i]) ||
            !layer_check_open(context, layer, parts[i], 4, 2))
            return;
    }
    if (endpoint_shape(parts[0])->dims[2] != endpoint_shape(parts[1])->dims[2]) {
        layer_refuse(context, layer, "other numbers of heads of the query and of the key");
        return;
    }
    /* With another rank, the first dimension would not be the batch. */
    if ((bias.node != NULL && !layer_check_open(context, layer, bias, 4, 4)) ||
        (mask.node != NULL && !layer_check_open(context, layer, mask, 4, 4)))
        return;
    scale = 1 / sqrt((double)endpoint_shape(parts[1])->dims[3]);
    if (!op_number(context, layer, io, "scale", &scale))
        return;
    struct endpoint scores = by_equation(b, "BTNH,BSNH->BNTS", parts[0], parts[1]);
    scores = build_by_number(b, "Mul", scores, scale);
    if (bias.node != NULL)
        scores = build_binary(b, "AddV2", NULL, scores, cast_to(context, bias, DT_FLOAT));
    struct endpoint hidden = build_const_float(b, (float)HIDDEN_SCORE);
    if (mask.node != NULL)
        scores = build_select(b, cast_to(context, mask, DT_BOOL), scores, hidden);
    if (layer_arg(layer, "is_causal")->boolean)
        scores = build_select(b, op_lower_triangle(b, scores, 0), scores, hidden);
    op_give(io,
            by_equation(b, "BNTS,BSNH->BTNH", build_unary(b, "Softmax", NULL, scores), parts[2]));
}
OP_ARGS_CLASS(dot_product_attention, "DotProductAttention", attention_args, attention_inputs,
              attention_call);

/* ---- square matrices [batch, …, n, n] ---- */

static void of_matrices(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io, const char *op)
{
    struct endpoint x = io->inputs[0].value;
    const struct shape *shape = endpoint_shape(x);

    if (shape->rank < 3 ||
        !may_be_equal(shape->dims[shape->rank - 1], shape->dims[shape->rank - 2]))
        layer_fail(context, layer, "the input has shape %s, expected square matrices [batch, n, n]",
                   shape_text(shape));
    else if (op_floats(context, layer, &x))
        op_give(io, build_unary(&context->builder, op, NULL, x));
}

#define OF_MATRICES(noun, name, op)                                                   \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        of_matrices(context, layer, io, op);                                          \
    }                                                                                 \
    OP_CLASS(noun, name, op_x, noun##_call)
OF_MATRICES(inv, "Inv", "MatrixInverse");
OF_MATRICES(det, "Det", "MatrixDeterminant");
