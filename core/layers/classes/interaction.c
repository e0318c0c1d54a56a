/* interaction: feature-crossing layers of keras_rs, Keras' package for recommenders. */
#include "layers/classes/classes.h"

/* ---- FeatureCross: the cross layer of Deep & Cross Network v2 ---- */

static const struct layer_arg feature_cross_args[] = {
    { "projection_dim", ARG_NULL_OR_INT, "null" },
    { "diag_scale", ARG_NULL_OR_NUMBER, "0.0" },
    { "use_bias", ARG_BOOL, "true" },
    { "pre_activation", ARG_ACTIVATION, "\"linear\"" },
    { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },
    { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "kernel_regularizer", ARG_REGULARIZER, "null" },
    { "bias_regularizer", ARG_REGULARIZER, "null" },
    { "kernel_constraint", ARG_CONSTRAINT, "null" },
    { "bias_constraint", ARG_CONSTRAINT, "null" },
};

/* f(W x + b), with W as one matrix or as a product of two of rank projection_dim. */
static struct endpoint cross_product(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    const struct arg_value *projection = layer_arg(layer, "projection_dim");
    int64_t width = endpoint_shape(x)->dims[endpoint_shape(x)->rank - 1], rows = width;
    struct endpoint y = x;

    if (!projection->is_null) {
        rows = projection->integer;
        y = build_dense_product(context, y,
                                layer_variable_of(context, layer, "down_proj_dense/kernel",
                                                  "kernel", shape_of(width, rows)),
                                rows);
    }
    y = build_dense_product(
        context, y,
        layer_variable_of(context, layer, "dense/kernel", "kernel", shape_of(rows, width)), width);
    if (layer_arg(layer, "use_bias")->boolean)
        y = build_binary(&context->builder, "BiasAdd", NULL, y,
                         layer_variable_of(context, layer, "dense/bias", "bias", shape_of(width)));
    return activation_build(context, layer_arg(layer, "pre_activation")->activation, y);
}

/* x0 (f(W x + b) + diag_scale x) + x; x defaults to x0. */
static void feature_cross_call(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x0 = io->inputs[0].value, x = io_tensor(io, "x").value;
    const struct arg_value *projection = layer_arg(layer, "projection_dim");
    const struct arg_value *scale = layer_arg(layer, "diag_scale");

    x = x.node != NULL ? x : x0;
    io->outputs[0] = (struct layer_value){ .value = x0, .mask = io->inputs[0].mask };
    io->outputs_count = 1;
    int rank = endpoint_shape(x0)->rank;
    if (!layer_check_rank(context, layer, x0, rank) || !layer_check_rank(context, layer, x, rank))
        return;
    if (rank < 2 || memcmp(endpoint_shape(x0)->dims + 1, endpoint_shape(x)->dims + 1,
                           (size_t)(rank - 1) * sizeof(int64_t)) != 0) {
        layer_fail(context, layer, "inputs of shapes %s and %s; expected two of one shape",
                   shape_text(endpoint_shape(x0)), shape_text(endpoint_shape(x)));
        return;
    }
    if (!projection->is_null && projection->integer < 1) {
        layer_fail(context, layer, "argument 'projection_dim': got %lld, expected at least 1",
                   (long long)projection->integer);
        return;
    }
    x0 = cast_to(context, x0, DT_FLOAT);
    x = cast_to(context, x, DT_FLOAT);
    struct endpoint y = cross_product(context, layer, x);
    if (!scale->is_null && scale->number != 0)
        y = build_binary(
            b, "AddV2", NULL, y,
            build_binary(b, "Mul", NULL, x, build_const_float(b, (float)scale->number)));
    y = build_binary(b, "Mul", NULL, x0, y);
    io->outputs[0].value = build_binary(b, "AddV2", NULL, y, x);
}

static const char *const feature_cross_inputs[] = { "x0", "x", NULL };
const struct layer_class layer_feature_cross = { .name = "FeatureCross",
                                                 .args = feature_cross_args,
                                                 .args_count = (int)COUNT(feature_cross_args),
                                                 .call = feature_cross_call,
                                                 .call_args = feature_cross_inputs };

/* ---- DotInteraction: the products of all pairs of features, as in DLRM ---- */

#define FEATURES_MAX 256

static const struct layer_arg dot_interaction_args[] = {
    { "self_interaction", ARG_BOOL, "false" },
    { "skip_gather", ARG_BOOL, "false" },
};

/* The products x[i, k] of [batch, count * count] with k < i, or k <= i, as a row. */
static struct endpoint lower_part(struct builder *b, struct endpoint x, int count, bool diagonal)
{
    struct endpoint rows[FEATURES_MAX + 1];
    int rows_count = 0;
    const int32_t one[] = { 1, 1 };

    for (int i = diagonal ? 0 : 1; i < count; i++) {
        const int32_t begin[] = { 0, i * count }, end[] = { 0, i * count + i + diagonal };
        const struct endpoint inputs[] = { x, build_const_ints(b, NULL, 2, begin),
                                           build_const_ints(b, NULL, 2, end),
                                           build_const_ints(b, NULL, 2, one) };
        rows[rows_count++] = build(
            b, "StridedSlice", NULL, 4, inputs,
            (const struct attr[]){ attr_int("begin_mask", 1), attr_int("end_mask", 1), ATTR_END });
    }
    if (rows_count == 1)
        return rows[0];
    rows[rows_count] = build_const_int(b, 1);
    return build(b, "ConcatV2", NULL, rows_count + 1, rows, NULL);
}

/* The same products at their original positions, zeros elsewhere. */
static struct endpoint lower_mask(struct layer_context *context, struct endpoint x, int count,
                                  bool diagonal)
{
    const struct shape shape = shape_of(count * count);
    float *mask = ARENA_ARRAY(context->arena, float, count *count);

    for (int i = 0; i < count; i++)
        for (int k = 0; k < i + diagonal; k++)
            mask[i * count + k] = 1;
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, mask);
    return build_binary(&context->builder, "Mul", NULL, x,
                        build_const(&context->builder, NULL, &tensor));
}

static struct endpoint dot_interaction_build(struct layer_context *context,
                                             const struct layer *layer, int count,
                                             const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    bool diagonal = layer_arg(layer, "self_interaction")->boolean;
    const int32_t flat[] = { -1, count * count };

    if (count > FEATURES_MAX || (count < 2 && !diagonal)) {
        layer_fail(context, layer, "it has %d inputs, expected 2 to %d", count, FEATURES_MAX);
        return inputs[0];
    }
    for (int i = 0; i < count; i++) {
        if (!layer_check_rank(context, layer, inputs[i], 2))
            return inputs[0];
        if (endpoint_shape(inputs[i])->dims[1] != endpoint_shape(inputs[0])->dims[1]) {
            layer_fail(context, layer, "inputs of shapes %s and %s; expected one shape",
                       shape_text(endpoint_shape(inputs[0])),
                       shape_text(endpoint_shape(inputs[i])));
            return inputs[0];
        }
    }
    struct endpoint features = build(b, "Pack", NULL, count, inputs,
                                     (const struct attr[]){ attr_int("axis", 1), ATTR_END });
    const struct endpoint pair[] = { features, features };
    struct endpoint products = build(b, "BatchMatMulV2", NULL, 2, pair,
                                     (const struct attr[]){ attr_bool("adj_y", true), ATTR_END });
    products = build_binary(b, "Reshape", NULL, products, build_const_ints(b, NULL, 2, flat));
    if (layer_arg(layer, "skip_gather")->boolean)
        return lower_mask(context, products, count, diagonal);
    return lower_part(b, products, count, diagonal);
}
MERGE_CLASS(dot_interaction, "DotInteraction", dot_interaction_args, dot_interaction_build);
