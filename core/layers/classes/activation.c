/* activation: activations that are layers. */
#include "layers/classes/classes.h"

static const struct layer_arg activation_args[] = {
    { "activation", ARG_ACTIVATION, REQUIRED },
};

static struct endpoint activation_layer_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    return activation_build(context, layer_arg(layer, "activation")->activation, x);
}
MASKED_LAYER_CLASS(activation, "Activation", activation_args, activation_layer_build);

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
        struct endpoint edge = build_const_float(b, (float)threshold);
        struct endpoint below = build_binary(b, "Sub", NULL, x, edge);
        below = build_binary(b, "Mul", NULL, below, build_const_float(b, (float)slope));
        struct endpoint passes = build_binary(b, "GreaterEqual", NULL, x, edge);
        y = build_select(b, passes, x, below);
    } else if (slope == 0 && !max->is_null && max->number == 6) {
        return build_unary(b, "Relu6", NULL, x);
    } else {
        y = slope == 0 ? build_unary(b, "Relu", NULL, x) : leaky(b, x, slope);
    }
    if (max->is_null)
        return y;
    return build_binary(b, "Minimum", NULL, y, build_const_float(b, (float)max->number));
}
MASKED_LAYER_CLASS(relu, "ReLU", relu_args, relu_build);

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
MASKED_LAYER_CLASS(leaky_relu, "LeakyReLU", leaky_relu_args, leaky_relu_build);

static const struct layer_arg prelu_args[] = {
    { "alpha_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "alpha_regularizer", ARG_REGULARIZER, "null" },
    { "alpha_constraint", ARG_CONSTRAINT, "null" },
    { "shared_axes", ARG_VALUE, "null" },
};

/* The shape of alpha: a row's, with 1 for each shared axis. Returns false on failure. */
static bool alpha_shape(struct layer_context *context, const struct layer *layer, struct endpoint x,
                        struct shape *out)
{
    const struct json_value *shared = layer_arg(layer, "shared_axes")->value;
    const struct shape *shape = endpoint_shape(x);
    bool list = shared != NULL && shared->kind == JSON_VALUE_LIST;

    *out = (struct shape){ .rank = shape->rank - 1 };
    for (int i = 1; i < shape->rank; i++)
        out->dims[i - 1] = shape->dims[i];
    if (json_value_is_null(shared))
        return true;
    for (int i = 0; i < (list ? shared->count : 1); i++) {
        const struct json_value *axis = list ? &shared->members[i] : shared;
        if (axis->kind != JSON_VALUE_INT || axis->integer < 1 || axis->integer >= shape->rank) {
            layer_fail(context, layer, "argument 'shared_axes': expected axes from 1 to %d",
                       shape->rank - 1);
            return false;
        }
        out->dims[axis->integer - 1] = 1;
    }
    return true;
}

/* relu(x) - alpha relu(-x) */
static struct endpoint prelu_build(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    struct builder *b = &context->builder;
    struct shape shape;

    if (!status_is_ok(b->status) || !alpha_shape(context, layer, x, &shape))
        return x;
    struct endpoint alpha = layer_variable(context, layer, "alpha", shape);
    struct endpoint below = build_unary(b, "Relu", NULL, build_unary(b, "Neg", NULL, x));
    below = build_binary(b, "Mul", NULL, build_unary(b, "Neg", NULL, alpha), below);
    return build_binary(b, "AddV2", NULL, build_unary(b, "Relu", NULL, x), below);
}
MASKED_LAYER_CLASS(prelu, "PReLU", prelu_args, prelu_build);

static const struct layer_arg elu_args[] = {
    { "alpha", ARG_NUMBER, "1.0" },
};

/* x above 0, alpha (e^x - 1) below it. */
static struct endpoint elu_build(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x)
{
    struct builder *b = &context->builder;
    double alpha = layer_arg(layer, "alpha")->number;
    struct endpoint elu = build_unary(b, "Elu", NULL, x);

    if (alpha == 1)
        return elu;
    struct endpoint positive = build_by_number(b, "Greater", x, 0);
    return build_select(b, positive, elu, build_by_number(b, "Mul", elu, alpha));
}
MASKED_LAYER_CLASS(elu, "ELU", elu_args, elu_build);

static const struct layer_arg thresholded_relu_args[] = {
    { "theta", ARG_NUMBER, "1.0" },
};

/* Keras 2 only: x above theta, 0 elsewhere. */
static struct endpoint thresholded_relu_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    float theta = (float)layer_arg(layer, "theta")->number;
    struct endpoint passes = build_binary(b, "Greater", NULL, x, build_const_float(b, theta));
    struct endpoint mask = build_cast(b, NULL, passes, DT_FLOAT);

    return build_binary(b, "Mul", NULL, x, mask);
}
MASKED_LAYER_CLASS(thresholded_relu, "ThresholdedReLU", thresholded_relu_args,
                   thresholded_relu_build);

struct endpoint build_swap_last(struct builder *b, struct endpoint x, int axis)
{
    int32_t order[SHAPE_RANK_MAX];
    int rank = status_is_ok(b->status) ? endpoint_shape(x)->rank : 0;

    if (axis >= rank - 1)
        return x;
    for (int i = 0; i < rank; i++)
        order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    return build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, rank, order));
}

static const struct layer_arg softmax_args[] = {
    { "axis", ARG_NULL_OR_VALUE, "-1" },
};

/* e^x divided by its sum along several axes. */
static struct endpoint softmax_of_axes(struct builder *b, struct endpoint x, int count,
                                       const int32_t *axes)
{
    const struct attr keep[] = { attr_bool("keep_dims", true), ATTR_END };
    struct endpoint inputs[] = { x, build_const_ints(b, NULL, count, axes) };
    struct endpoint most =
        build_unary(b, "StopGradient", NULL, build(b, "Max", NULL, 2, inputs, keep));

    inputs[0] = build_unary(b, "Exp", NULL, build_binary(b, "Sub", NULL, x, most));
    return build_binary(b, "RealDiv", NULL, inputs[0], build(b, "Sum", NULL, 2, inputs, keep));
}

static struct endpoint softmax_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    int32_t axes[SHAPE_RANK_MAX];

    if (layer_arg(layer, "axis")->is_null) {
        layer_fail(context, layer, AXIS_IS_NULL);
        return x;
    }
    int count = layer_axes(context, layer, x, axes);
    if (count == 0)
        return x;
    if (count > 1)
        return softmax_of_axes(b, x, count, axes);
    x = build_unary(b, "Softmax", NULL, build_swap_last(b, x, axes[0]));
    return build_swap_last(b, x, axes[0]);
}

/* Does each size of the mask equal that of x, or 1? The mask of a sequence lacks a dimension. */
static bool is_mask_of_elements(struct endpoint mask, struct endpoint x)
{
    const struct shape *own = endpoint_shape(mask), *all = endpoint_shape(x);
    bool fits = own->rank == all->rank;

    for (int i = 1; fits && i < all->rank; i++)
        fits = own->dims[i] == 1 || may_be_equal(own->dims[i], all->dims[i]);
    return fits;
}

/* The softmax of the elements that the call's mask keeps, and 0 for the others. */
static struct endpoint softmax_masked(struct layer_context *context, const struct layer *layer,
                                      const struct layer_io *io, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint mask = io_mask(io);

    if (mask.node == NULL || !status_is_ok(b->status))
        return softmax_build(context, layer, x);
    if (context->keras2 || !is_mask_of_elements(mask, x)) {
        layer_refuse(context, layer, "a mask of shape %s for an input of shape %s",
                     shape_text(endpoint_shape(mask)), shape_text(endpoint_shape(x)));
        return x;
    }
    if (endpoint_dtype(mask) != DT_BOOL)
        mask = build_by_number(b, "Greater", cast_to(context, mask, DT_FLOAT), 0.5);
    x = softmax_build(context, layer, build_select(b, mask, x, build_const_float(b, -1e9f)));
    return build_select(b, mask, x, build_const_float(b, 0));
}

/* Calls may have a mask, which no later layer takes. */
static struct endpoint softmax_mask(struct layer_context *context, const struct layer *layer,
                                    const struct layer_io *io)
{
    (void)context;
    (void)layer;
    (void)io;
    return (struct endpoint){ 0 };
}

const struct layer_class layer_softmax = {
    .name = "Softmax",
    .args = softmax_args,
    .args_count = (int)COUNT(softmax_args),
    .build = softmax_build,
    .build_masked = softmax_masked,
    .mask = softmax_mask,
};
