/* layer_image: layers of images, [batch, height, width, channels]. */
#include "layers/layer_classes.h"

#define DATA_FORMAT                                \
    {                                              \
        "data_format", ARG_CHOICE, "channels_last" \
    }
#define PADDING                             \
    {                                       \
        "padding", ARG_CHOICE, "valid same" \
    }

static const char *padding_of(const struct layer *layer)
{
    return layer_arg(layer, "padding")->text[0] == 's' ? "SAME" : "VALID";
}

/* A window over height and width, in the form of TensorFlow's attributes. */
static struct attr attr_window(struct builder *b, const char *name, const int64_t *pair)
{
    return attr_ints(b, name, 4, (const int64_t[]){ 1, pair[0], pair[1], 1 });
}

/* Fails if the window is larger than the image. */
static bool leaves_something(struct layer_context *context, const struct layer *layer,
                             struct endpoint y)
{
    if (!status_is_ok(context->builder.status))
        return false;
    const struct shape *shape = endpoint_shape(y);
    if (shape->rank == 4 && (shape->dims[1] == 0 || shape->dims[2] == 0)) {
        layer_fail(context, layer, "nothing is left: its output has shape %s", shape_text(shape));
        return false;
    }
    return true;
}

/* ---- Conv2D ---- */

static const struct layer_arg conv2d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    { "kernel_size", ARG_PAIR, REQUIRED },
    { "strides", ARG_PAIR, "1" },
    PADDING,
    DATA_FORMAT,
    { "dilation_rate", ARG_PAIR, "1" },
    { "groups", ARG_INT, "1" },
    { "activation", ARG_ACTIVATION, "\"linear\"" },
    { "use_bias", ARG_BOOL, "true" },
    { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },
    { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "kernel_regularizer", ARG_REGULARIZER, "null" },
    { "bias_regularizer", ARG_REGULARIZER, "null" },
    { "activity_regularizer", ARG_NONE, "null" },
    { "kernel_constraint", ARG_NONE, "null" },
    { "bias_constraint", ARG_NONE, "null" },
};

static struct endpoint conv2d_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    const int64_t *kernel = layer_arg(layer, "kernel_size")->pair;
    int64_t filters = layer_arg(layer, "filters")->integer;

    if (layer_arg(layer, "groups")->integer != 1)
        layer_fail(context, layer, "argument 'groups': only 1 is implemented");
    if (!layer_wants_rank(context, layer, x, 4))
        return x;
    int64_t channels = endpoint_shape(x)->dims[3];
    struct endpoint weights =
        layer_variable(context, layer, "kernel", shape_of(kernel[0], kernel[1], channels, filters));
    const struct attr attrs[] = {
        attr_window(b, "strides", layer_arg(layer, "strides")->pair),
        attr_window(b, "dilations", layer_arg(layer, "dilation_rate")->pair),
        attr_text("padding", padding_of(layer)),
        ATTR_END,
    };
    struct endpoint y = build(b, "Conv2D", NULL, 2, (const struct endpoint[]){ x, weights }, attrs);
    if (!leaves_something(context, layer, y))
        return y;
    if (layer_arg(layer, "use_bias")->boolean)
        y = build_binary(b, "BiasAdd", NULL, y,
                         layer_variable(context, layer, "bias", shape_of(filters)));
    return activation_build(context, layer_arg(layer, "activation")->activation, y);
}
LAYER_CLASS(conv2d, "Conv2D", conv2d_args, conv2d_build);

/* ---- pooling ---- */

static const struct layer_arg pooling_args[] = {
    { "pool_size", ARG_PAIR, "2" },
    { "strides", ARG_NULL_OR_PAIR, "null" }, /* null: the pool size */
    PADDING,
    DATA_FORMAT,
};

static struct endpoint pooling(struct layer_context *context, const struct layer *layer,
                               struct endpoint x, const char *op)
{
    struct builder *b = &context->builder;
    const int64_t *size = layer_arg(layer, "pool_size")->pair;
    const struct arg_value *strides = layer_arg(layer, "strides");

    if (!layer_wants_rank(context, layer, x, 4))
        return x;
    const struct attr attrs[] = {
        attr_window(b, "ksize", size),
        attr_window(b, "strides", strides->is_null ? size : strides->pair),
        attr_text("padding", padding_of(layer)),
        ATTR_END,
    };
    struct endpoint y = build(b, op, NULL, 1, &x, attrs);
    leaves_something(context, layer, y);
    return y;
}

static struct endpoint max_pooling_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    return pooling(context, layer, x, "MaxPool");
}

static struct endpoint average_pooling_build(struct layer_context *context,
                                             const struct layer *layer, struct endpoint x)
{
    return pooling(context, layer, x, "AvgPool");
}

LAYER_CLASS(max_pooling, "MaxPooling2D", pooling_args, max_pooling_build);
LAYER_CLASS(average_pooling, "AveragePooling2D", pooling_args, average_pooling_build);

static const struct layer_arg global_args[] = {
    DATA_FORMAT,
    { "keepdims", ARG_BOOL, "false" },
};

static struct endpoint global_pooling(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x, const char *op)
{
    struct builder *b = &context->builder;

    if (!layer_wants_rank(context, layer, x, 4))
        return x;
    struct endpoint axes = build_const_ints(b, NULL, 2, (const int32_t[]){ 1, 2 });
    const struct attr attrs[] = { attr_bool("keep_dims", layer_arg(layer, "keepdims")->boolean),
                                  ATTR_END };
    return build(b, op, NULL, 2, (const struct endpoint[]){ x, axes }, attrs);
}

static struct endpoint global_max_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    return global_pooling(context, layer, x, "Max");
}

static struct endpoint global_average_build(struct layer_context *context,
                                            const struct layer *layer, struct endpoint x)
{
    return global_pooling(context, layer, x, "Mean");
}

LAYER_CLASS(global_max_pooling, "GlobalMaxPooling2D", global_args, global_max_build);
LAYER_CLASS(global_average_pooling, "GlobalAveragePooling2D", global_args, global_average_build);

/* ---- ZeroPadding2D ---- */

static const struct layer_arg zero_padding_args[] = {
    { "padding", ARG_VALUE, "[[1, 1], [1, 1]]" },
    DATA_FORMAT,
};

static bool margin(const struct json_value *value, int32_t *out)
{
    bool good =
        value->kind == JSON_VALUE_INT && value->integer >= 0 && value->integer <= UINT16_MAX;

    *out = good ? (int32_t)value->integer : 0;
    return good;
}

/* p, [height, width], or [[top, bottom], [left, right]]. */
static bool margins(const struct json_value *value, int32_t out[4])
{
    if (margin(value, &out[0])) {
        out[1] = out[2] = out[3] = out[0];
        return true;
    }
    if (value->kind != JSON_VALUE_LIST || value->count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct json_value *side = &value->members[i];
        if (margin(side, &out[2 * i]))
            out[2 * i + 1] = out[2 * i];
        else if (side->kind != JSON_VALUE_LIST || side->count != 2 ||
                 !margin(&side->members[0], &out[2 * i]) ||
                 !margin(&side->members[1], &out[2 * i + 1]))
            return false;
    }
    return true;
}

static struct endpoint zero_padding_build(struct layer_context *context, const struct layer *layer,
                                          struct endpoint x)
{
    struct builder *b = &context->builder;
    int32_t paddings[4 * 2] = { 0 }; /* before and after each dimension */
    const struct shape shape = shape_of(4, 2);

    if (!layer_wants_rank(context, layer, x, 4))
        return x;
    if (!margins(layer_arg(layer, "padding")->value, &paddings[2])) {
        layer_fail(context, layer,
                   "argument 'padding' wants n, [height, width] or [[top, bottom], [left, right]]");
        return x;
    }
    struct tensor value = tensor_borrow(DT_INT32, &shape, paddings);
    return build_binary(b, "Pad", NULL, x, build_const(b, NULL, &value));
}
LAYER_CLASS(zero_padding, "ZeroPadding2D", zero_padding_args, zero_padding_build);
