/* layer_activation: activations that are layers. */
#include "layers/layer_classes.h"

static const struct layer_arg activation_args[] = {
    { "activation", ARG_ACTIVATION, REQUIRED },
};

static struct endpoint activation_layer_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    return activation_build(context, layer_arg(layer, "activation")->activation, x);
}
LAYER_CLASS(activation, "Activation", activation_args, activation_layer_build);

static const struct layer_arg relu_args[] = {
    { "max_value", ARG_NULL_OR_NUMBER, "null" },
    { "negative_slope", ARG_NUMBER, "0.0" },
    { "threshold", ARG_NUMBER, "0.0" },
};

static struct endpoint leaky(struct builder *b, struct endpoint x, double slope)
{
    const struct attr attrs[] = { attr_float("alpha", (float)slope), ATTR_END };

    return build(b, "LeakyRelu", NULL, 1, &x, attrs);
}

/* x above the threshold, slope (x - threshold) below it; at most max_value. */
static struct endpoint relu_build(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct arg_value *max = layer_arg(layer, "max_value");
    double slope = layer_arg(layer, "negative_slope")->number;
    double threshold = layer_arg(layer, "threshold")->number;
    struct endpoint y;

    if (threshold != 0) {
        struct endpoint edge = build_const_float(b, NULL, (float)threshold);
        struct endpoint below = build_binary(b, "Sub", NULL, x, edge);
        below = build_binary(b, "Mul", NULL, below, build_const_float(b, NULL, (float)slope));
        struct endpoint passes = build_binary(b, "GreaterEqual", NULL, x, edge);
        y = build(b, "SelectV2", NULL, 3, (const struct endpoint[]){ passes, x, below }, NULL);
    } else if (slope == 0 && !max->is_null && max->number == 6) {
        return build_unary(b, "Relu6", NULL, x);
    } else {
        y = slope == 0 ? build_unary(b, "Relu", NULL, x) : leaky(b, x, slope);
    }
    if (max->is_null)
        return y;
    return build_binary(b, "Minimum", NULL, y, build_const_float(b, NULL, (float)max->number));
}
LAYER_CLASS(relu, "ReLU", relu_args, relu_build);

static const struct layer_arg leaky_relu_args[] = {
    { "negative_slope", ARG_NUMBER, "0.3" },
    { "alpha", ARG_NULL_OR_NUMBER, "null" }, /* Keras 2's name */
};

static struct endpoint leaky_relu_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    const struct arg_value *alpha = layer_arg(layer, "alpha");

    return leaky(&context->builder, x,
                 alpha->is_null ? layer_arg(layer, "negative_slope")->number : alpha->number);
}
LAYER_CLASS(leaky_relu, "LeakyReLU", leaky_relu_args, leaky_relu_build);

static const struct layer_arg softmax_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};

static struct endpoint softmax_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    const struct arg_value *axis = layer_arg(layer, "axis");

    if (!axis->is_null && axis->integer != -1 && axis->integer != endpoint_shape(x)->rank - 1) {
        layer_fail(context, layer, "argument 'axis': got %lld; only the last is implemented",
                   (long long)axis->integer);
        return x;
    }
    return build_unary(&context->builder, "Softmax", NULL, x);
}
LAYER_CLASS(softmax, "Softmax", softmax_args, softmax_build);
