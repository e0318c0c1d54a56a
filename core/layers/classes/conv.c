/* conv: convolutions over volumes, [batch, depth, height, width, channels], over images,
 * [batch, height, width, channels], and over sequences, [batch, steps, channels]. A sequence is an
 * image of height 1. */
#include "layers/classes/image.h"
#include "layers/classes/lora.h"

#define WINDOW(kind)                                                                             \
    { "kernel_size", kind, REQUIRED }, { "strides", kind, "1" }, { "dilation_rate", kind, "1" }, \
        { "groups", ARG_INT, "1" }, DATA_FORMAT
#define OF_KERNEL(noun)                                            \
    { noun "_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" }, \
        { noun "_regularizer", ARG_REGULARIZER, "null" },          \
    {                                                              \
        noun "_constraint", ARG_CONSTRAINT, "null"                 \
    }
#define BIAS_AND_ACTIVATION                                                           \
    { "activation", ARG_ACTIVATION, "\"linear\"" }, { "use_bias", ARG_BOOL, "true" }, \
        { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },                         \
        { "bias_regularizer", ARG_REGULARIZER, "null" },                              \
        { "bias_constraint", ARG_CONSTRAINT, "null" },                                \
    {                                                                                 \
        "activity_regularizer", ARG_REGULARIZER, "null"                               \
    }

/* The directions of the layer's window: 1 over a sequence, 2 over an image, 3 over a volume. */
static int directions_of(const struct layer *layer)
{
    if (layer_arg_given(layer, "kernel_size", ARG_TRIPLE) != NULL)
        return 3;
    return layer_arg_given(layer, "kernel_size", ARG_PAIR) != NULL ? 2 : 1;
}

/* The input, as an image if it is a sequence. A null node: failure. */
static struct endpoint image_of(struct layer_context *context, const struct layer *layer,
                                struct endpoint x)
{
    int directions = directions_of(layer);

    if (!layer_check_open(context, layer, x, directions + 2, directions + 1))
        return (struct endpoint){ 0 };
    return directions == 1 ? image_of_sequence(&context->builder, x) : x;
}

static int64_t channels_of(struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);

    return shape->dims[shape->rank - 1];
}

/* A variable [kernel size, ins, outs], as the kernel of an image if x is a sequence. */
static struct endpoint kernel_of(struct layer_context *context, const struct layer *layer,
                                 const char *name, const char *prefix, const int64_t size[3],
                                 int64_t ins, int64_t outs)
{
    struct builder *b = &context->builder;
    int directions = directions_of(layer);
    struct shape shape = { .rank = directions + 2 };

    memcpy(shape.dims, size + 3 - directions, (size_t)directions * sizeof *size);
    shape.dims[directions] = ins;
    shape.dims[directions + 1] = outs;
    struct endpoint kernel = layer_variable_of(context, layer, name, prefix, shape);
    if (layer_has_lora(layer) && layer_arg(layer, "use_bias")->boolean)
        layer_variable(context, layer, "bias", shape_of(outs)); /* Keras lists it before them */
    kernel = lora_change(context, layer, prefix, kernel);
    if (directions > 1)
        return kernel;
    return build_expand_dims(b, kernel, 0);
}

/* A convolution with the layer's padding; `dilation` may be NULL. */
static struct endpoint convolution(struct layer_context *context, const struct layer *layer,
                                   const char *op, int directions, const int64_t *strides,
                                   const int64_t *dilation, int count,
                                   const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    const struct attr attrs[] = {
        attr_window(b, "strides", directions, strides),
        attr_text("padding", padding_of(layer)),
        dilation != NULL ? attr_window(b, "dilations", directions, dilation) : ATTR_END,
        ATTR_END,
    };

    return build(b, op, NULL, count, inputs, attrs);
}

/* Adds the bias, turns an image back into a sequence, and applies the activation. */
static struct endpoint finish(struct layer_context *context, const struct layer *layer,
                              struct endpoint y)
{
    struct builder *b = &context->builder;

    if (!window_fits(context, layer, y))
        return y;
    if (directions_of(layer) == 1)
        y = sequence_of_image(b, y);
    if (layer_arg(layer, "use_bias")->boolean)
        y = build_binary(b, "BiasAdd", NULL, y,
                         layer_variable(context, layer, "bias", shape_of(channels_of(y))));
    return activation_build(context, layer_arg(layer, "activation")->activation, y);
}

/* ---- Conv1D, Conv2D, Conv3D ---- */

static const struct layer_arg conv3d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    WINDOW(ARG_TRIPLE),
    PADDING,
    OF_KERNEL("kernel"),
    BIAS_AND_ACTIVATION,
    LORA_ARGS,
};

static const struct layer_arg conv2d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    WINDOW(ARG_PAIR),
    PADDING,
    OF_KERNEL("kernel"),
    BIAS_AND_ACTIVATION,
    LORA_ARGS,
};

static const struct layer_arg conv1d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    WINDOW(ARG_SINGLE),
    { "padding", ARG_CHOICE, "valid same causal" },
    OF_KERNEL("kernel"),
    BIAS_AND_ACTIVATION,
    LORA_ARGS,
};

/* Pads with zeros before the first step, so that no output depends on a later step. */
static struct endpoint pad_causally(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    int64_t reach = layer_arg(layer, "dilation_rate")->sides[2] *
                    (layer_arg(layer, "kernel_size")->sides[2] - 1);

    if (layer_arg(layer, "padding")->text[0] != 'c' || reach == 0 ||
        !layer_check_open(context, layer, x, 3, 2))
        return x;
    if (reach > UINT16_MAX) {
        layer_fail(context, layer, "the window reaches back %lld steps, at most %d",
                   (long long)reach, UINT16_MAX);
        return x;
    }
    return pad_zeros(&context->builder, x, 3, (const int32_t[]){ 0, 0, (int32_t)reach, 0, 0, 0 });
}

/* Are channels and filters divisible by the layer's groups? */
static bool groups_fit(struct layer_context *context, const struct layer *layer, int64_t channels)
{
    int64_t groups = layer_arg(layer, "groups")->integer;
    int64_t filters = layer_arg(layer, "filters")->integer;

    if (channels % groups != 0 || filters % groups != 0)
        layer_fail(context, layer,
                   "argument 'groups': %lld do not divide both %lld channels and %lld filters",
                   (long long)groups, (long long)channels, (long long)filters);
    return status_is_ok(context->builder.status);
}

/* One of the equal parts of a tensor that is split along its last axis. */
static struct endpoint part_of(struct builder *b, struct endpoint x, int64_t index, int64_t size)
{
    int rank = endpoint_shape(x)->rank;
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, sizes[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++)
        sizes[i] = -1;
    begin[rank - 1] = (int32_t)(index * size);
    sizes[rank - 1] = (int32_t)size;
    return build_slice(b, NULL, x, rank, begin, sizes);
}

#define GROUPS_MAX 1024

/* TensorFlow's Conv3D has no groups on CPUs: builds a convolution for each group, and joins the
 * outputs. */
static struct endpoint convolve_groups(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x, struct endpoint kernel)
{
    struct builder *b = &context->builder;
    int64_t groups = layer_arg(layer, "groups")->integer;
    struct endpoint *parts = ARENA_ARRAY(context->arena, struct endpoint, groups + 1);

    if (groups > GROUPS_MAX) {
        layer_refuse(context, layer, "argument 'groups': %lld, at most %d of volumes",
                     (long long)groups, GROUPS_MAX);
        return x;
    }
    for (int64_t i = 0; i < groups && status_is_ok(b->status); i++) {
        const struct endpoint inputs[] = { part_of(b, x, i, channels_of(x) / groups),
                                           part_of(b, kernel, i, channels_of(kernel) / groups) };
        if (!status_is_ok(b->status))
            return x;
        parts[i] = convolution(context, layer, "Conv3D", 3, layer_arg(layer, "strides")->sides,
                               layer_arg(layer, "dilation_rate")->sides, 2, inputs);
    }
    parts[groups] = build_const_int(b, 4);
    return build(b, "ConcatV2", NULL, (int)groups + 1, parts, NULL);
}

static struct endpoint convolve(struct layer_context *context, const struct layer *layer,
                                struct endpoint x)
{
    int64_t groups = layer_arg(layer, "groups")->integer;
    int directions = directions_of(layer);

    x = image_of(context, layer, directions == 1 ? pad_causally(context, layer, x) : x);
    if (x.node == NULL || !groups_fit(context, layer, channels_of(x)))
        return x;
    struct endpoint kernel =
        kernel_of(context, layer, "kernel", "kernel", layer_arg(layer, "kernel_size")->sides,
                  channels_of(x) / groups, layer_arg(layer, "filters")->integer);
    if (directions == 3 && groups > 1)
        return finish(context, layer, convolve_groups(context, layer, x, kernel));
    struct endpoint y =
        convolution(context, layer, directions == 3 ? "Conv3D" : "Conv2D", directions,
                    layer_arg(layer, "strides")->sides, layer_arg(layer, "dilation_rate")->sides, 2,
                    (const struct endpoint[]){ x, kernel });
    return finish(context, layer, y);
}

LAYER_CLASS(conv3d, "Conv3D", conv3d_args, convolve);
LAYER_CLASS(conv2d, "Conv2D", conv2d_args, convolve);
LAYER_CLASS(conv1d, "Conv1D", conv1d_args, convolve);

/* ---- depthwise and separable ---- */

static const struct layer_arg depthwise2d_args[] = {
    WINDOW(ARG_PAIR),    PADDING, { "depth_multiplier", ARG_INT, "1" }, OF_KERNEL("depthwise"),
    BIAS_AND_ACTIVATION,
};
static const struct layer_arg depthwise1d_args[] = {
    WINDOW(ARG_SINGLE),  PADDING, { "depth_multiplier", ARG_INT, "1" }, OF_KERNEL("depthwise"),
    BIAS_AND_ACTIVATION,
};
static const struct layer_arg separable2d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    WINDOW(ARG_PAIR),
    PADDING,
    { "depth_multiplier", ARG_INT, "1" },
    OF_KERNEL("depthwise"),
    OF_KERNEL("pointwise"),
    BIAS_AND_ACTIVATION,
    { "kernel_initializer", ARG_VALUE, "null" }, /* written by Keras 2, and not used */
};
static const struct layer_arg separable1d_args[] = {
    { "filters", ARG_INT, REQUIRED },
    WINDOW(ARG_SINGLE),
    PADDING,
    { "depth_multiplier", ARG_INT, "1" },
    OF_KERNEL("depthwise"),
    OF_KERNEL("pointwise"),
    BIAS_AND_ACTIVATION,
    { "kernel_initializer", ARG_VALUE, "null" }, /* written by Keras 2, and not used */
};

/* Convolves each channel by itself. DepthwiseConv2dNative supports only equal strides and, on
 * CPUs, no dilation; otherwise this is a convolution with as many groups as channels. */
static struct endpoint apply_depthwise(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x, struct endpoint kernel, bool sequence)
{
    struct builder *b = &context->builder;
    const int64_t *strides = layer_arg(layer, "strides")->sides;
    const int64_t *dilation = layer_arg(layer, "dilation_rate")->sides;
    const int64_t both[] = { 1, strides[2], strides[2] };
    const int64_t *dims = endpoint_shape(kernel)->dims;

    if ((sequence || strides[1] == strides[2]) && dilation[1] == 1 && dilation[2] == 1)
        return convolution(context, layer, "DepthwiseConv2dNative", 2, both, NULL, 2,
                           (const struct endpoint[]){ x, kernel });
    const int64_t outs[] = { dims[2], dims[3] };
    if (!layer_check_size(context, layer, "the output", 2, outs))
        return x;
    const int32_t grouped[] = { (int32_t)dims[0], (int32_t)dims[1], 1,
                                (int32_t)(dims[2] * dims[3]) };
    kernel = build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 4, grouped));
    return convolution(context, layer, "Conv2D", 2, strides, dilation, 2,
                       (const struct endpoint[]){ x, kernel });
}

/* Keras 2 writes `groups` for layers that have none. */
static void refuse_groups(struct layer_context *context, const struct layer *layer)
{
    if (layer_arg(layer, "groups")->integer != 1)
        layer_fail(context, layer, "argument 'groups': only 1 is possible");
}

/* A null node: it failed. */
static struct endpoint convolve_channels(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x, const char *name)
{
    refuse_groups(context, layer);
    x = image_of(context, layer, x);
    if (x.node == NULL)
        return x;
    struct endpoint kernel =
        kernel_of(context, layer, name, "depthwise", layer_arg(layer, "kernel_size")->sides,
                  channels_of(x), layer_arg(layer, "depth_multiplier")->integer);
    if (!status_is_ok(context->builder.status))
        return (struct endpoint){ 0 };
    return apply_depthwise(context, layer, x, kernel, directions_of(layer) == 1);
}

static struct endpoint depthwise(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x)
{
    /* Keras 3 shortened the name of the variable. */
    const char *name = context->keras2 ? "depthwise_kernel" : "kernel";
    struct endpoint y = convolve_channels(context, layer, x, name);

    return y.node == NULL ? y : finish(context, layer, y);
}

static struct endpoint separable(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint y = convolve_channels(context, layer, x, "depthwise_kernel");

    if (y.node == NULL || !window_fits(context, layer, y))
        return y;
    const int64_t ones[] = { 1, 1, 1 };
    struct endpoint kernel = kernel_of(context, layer, "pointwise_kernel", "pointwise", ones,
                                       channels_of(y), layer_arg(layer, "filters")->integer);
    const struct attr attrs[] = {
        attr_window(b, "strides", 2, ones),
        attr_text("padding", "VALID"),
        ATTR_END,
    };
    y = build(b, "Conv2D", NULL, 2, (const struct endpoint[]){ y, kernel }, attrs);
    return finish(context, layer, y);
}

LAYER_CLASS(depthwise_conv2d, "DepthwiseConv2D", depthwise2d_args, depthwise);
LAYER_CLASS(depthwise_conv1d, "DepthwiseConv1D", depthwise1d_args, depthwise);
LAYER_CLASS(separable_conv2d, "SeparableConv2D", separable2d_args, separable);
LAYER_CLASS(separable_conv1d, "SeparableConv1D", separable1d_args, separable);

/* ---- transposed ---- */

static const struct layer_arg transposed3d_args[] = {
    { "filters", ARG_INT, REQUIRED },        WINDOW(ARG_TRIPLE),  PADDING,
    { "output_padding", ARG_VALUE, "null" }, OF_KERNEL("kernel"), BIAS_AND_ACTIVATION,
};
static const struct layer_arg transposed2d_args[] = {
    { "filters", ARG_INT, REQUIRED },        WINDOW(ARG_PAIR),    PADDING,
    { "output_padding", ARG_VALUE, "null" }, OF_KERNEL("kernel"), BIAS_AND_ACTIVATION,
};
static const struct layer_arg transposed1d_args[] = {
    { "filters", ARG_INT, REQUIRED },        WINDOW(ARG_SINGLE),  PADDING,
    { "output_padding", ARG_VALUE, "null" }, OF_KERNEL("kernel"), BIAS_AND_ACTIVATION,
};

/* Reads the argument output_padding: null, n, or a list with one number per direction; -1: null. */
static bool output_padding(const struct layer *layer, int directions, int64_t out[3])
{
    const struct json_value *value = layer_arg(layer, "output_padding")->value;
    bool list = value != NULL && value->kind == JSON_VALUE_LIST;

    for (int i = 0; i < 3; i++)
        out[i] = json_value_is_null(value) ? -1 : 0;
    if (json_value_is_null(value))
        return true;
    if (list && value->count != directions)
        return false;
    for (int i = 0; i < directions; i++) {
        const struct json_value *one = list ? &value->members[i] : value;
        if (one->kind != JSON_VALUE_INT || one->integer < 0 || one->integer > UINT16_MAX)
            return false;
        out[i + 3 - directions] = one->integer;
    }
    return true;
}

/* A side of the output is the stride times the input's side plus this: it is a side of an image
 * whose convolution has the input's. NO_SIDE: there is none. */
#define NO_SIDE INT64_MIN

static int64_t growth(const struct layer *layer, int direction, int64_t padding)
{
    int64_t size = layer_arg(layer, "kernel_size")->sides[direction];
    int64_t dilation = layer_arg(layer, "dilation_rate")->sides[direction];
    int64_t kernel = (size - 1) * dilation + 1; /* both are below 2^31 */
    int64_t stride = layer_arg(layer, "strides")->sides[direction];
    bool same = layer_arg(layer, "padding")->text[0] == 's';
    int64_t most = same ? 0 : kernel - 1;
    int64_t more = same ? 0 : kernel > stride ? kernel - stride : 0;

    if (padding >= 0)
        more = padding + (same ? kernel % 2 : kernel) - stride;
    return kernel <= INT32_MAX && more <= most && most - stride < more ? more : NO_SIDE;
}

/* The size of a side of the output as a scalar. A null node: none fits. */
static struct endpoint transposed_side(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x, int axis, int direction, int64_t padding)
{
    struct builder *b = &context->builder;
    int64_t more = growth(layer, direction, padding), in = endpoint_shape(x)->dims[axis];
    int64_t stride = layer_arg(layer, "strides")->sides[direction];

    if (more == NO_SIDE ||
        (in >= 0 && (in > (INT32_MAX - more) / stride || in * stride + more < 1)))
        return (struct endpoint){ 0 };
    if (in >= 0)
        return build_const_int(b, (int32_t)(in * stride + more));
    struct endpoint side =
        build_binary(b, "Mul", NULL, build_size(b, x, axis), build_const_int(b, (int32_t)stride));
    return build_binary(b, "AddV2", NULL, side, build_const_int(b, (int32_t)more));
}

static struct endpoint transposed(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x)
{
    struct builder *b = &context->builder;
    int directions = directions_of(layer);
    int64_t padding[3], filters = layer_arg(layer, "filters")->integer;
    struct endpoint sizes[5];

    refuse_groups(context, layer);
    if (!output_padding(layer, directions, padding))
        layer_fail(context, layer, "argument 'output_padding' wants null, n or a list of %d",
                   directions);
    x = image_of(context, layer, x);
    if (x.node == NULL || !status_is_ok(b->status))
        return x;
    int rank = endpoint_shape(x)->rank;
    sizes[0] = build_size(b, x, 0);
    for (int i = 1; i < rank - 1; i++) {
        int direction = i + 4 - rank;
        sizes[i] = directions == 1 && i == 1
                       ? build_const_int(b, 1)
                       : transposed_side(context, layer, x, i, direction, padding[direction]);
        if (sizes[i].node == NULL) {
            layer_fail(context, layer,
                       "no output of this kernel, stride and padding has the input's shape %s",
                       shape_text(endpoint_shape(x)));
            return x;
        }
    }
    sizes[rank - 1] = build_const_int(b, (int32_t)filters);
    const struct endpoint inputs[] = {
        build(b, "Pack", NULL, rank, sizes, NULL),
        kernel_of(context, layer, "kernel", "kernel", layer_arg(layer, "kernel_size")->sides,
                  filters, channels_of(x)),
        x,
    };
    struct endpoint y = convolution(
        context, layer, directions == 3 ? "Conv3DBackpropInputV2" : "Conv2DBackpropInput",
        directions, layer_arg(layer, "strides")->sides, layer_arg(layer, "dilation_rate")->sides, 3,
        inputs);
    return finish(context, layer, y);
}

LAYER_CLASS(conv3d_transpose, "Conv3DTranspose", transposed3d_args, transposed);
LAYER_CLASS(conv2d_transpose, "Conv2DTranspose", transposed2d_args, transposed);
LAYER_CLASS(conv1d_transpose, "Conv1DTranspose", transposed1d_args, transposed);
