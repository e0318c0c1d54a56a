/* image: layers of volumes, [batch, depth, height, width, channels], of images,
 * [batch, height, width, channels], and of sequences, [batch, steps, channels]; convolutions are in
 * conv.c. */
#include "layers/classes/image.h"

const char *padding_of(const struct layer *layer)
{
    return layer_arg(layer, "padding")->text[0] == 's' ? "SAME" : "VALID";
}

struct attr attr_window(struct builder *b, const char *name, int directions, const int64_t sides[3])
{
    if (directions == 3)
        return attr_ints(b, name, 5, (const int64_t[]){ 1, sides[0], sides[1], sides[2], 1 });
    return attr_ints(b, name, 4, (const int64_t[]){ 1, sides[1], sides[2], 1 });
}

bool window_fits(struct layer_context *context, const struct layer *layer, struct endpoint y)
{
    if (!status_is_ok(context->builder.status))
        return false;
    const struct shape *shape = endpoint_shape(y);
    bool left = true;
    for (int i = 1; i < shape->rank - 1; i++)
        left = left && shape->dims[i] != 0;
    if (!left)
        layer_fail(context, layer, "nothing is left: its output has shape %s", shape_text(shape));
    return left;
}

struct endpoint pad_zeros(struct builder *b, struct endpoint x, int rank, const int32_t *paddings)
{
    const struct shape shape = shape_of(rank, 2);
    struct tensor value = tensor_borrow(DT_INT32, &shape, paddings);

    return build_binary(b, "Pad", NULL, x, build_const(b, NULL, &value));
}

struct endpoint build_filtered(struct builder *b, struct endpoint x, struct endpoint kernel)
{
    static const int64_t ones[] = { 1, 1, 1, 1 };
    const struct shape *shape = endpoint_shape(kernel);
    const int32_t dims[] = { (int32_t)shape->dims[0], (int32_t)shape->dims[1], 1, 1 };
    const int32_t copies[] = { 1, 1, (int32_t)endpoint_shape(x)->dims[3], 1 };
    struct endpoint one =
        build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 4, dims));
    const struct endpoint inputs[] = { x, build_binary(b, "Tile", NULL, one,
                                                       build_const_ints(b, NULL, 4, copies)) };
    const struct attr attrs[] = { attr_ints(b, "strides", 4, ones), attr_text("padding", "SAME"),
                                  ATTR_END };

    return build(b, "DepthwiseConv2dNative", NULL, 2, inputs, attrs);
}

struct endpoint image_of_sequence(struct builder *b, struct endpoint x)
{
    return build_expand_dims(b, x, 1);
}

struct endpoint sequence_of_image(struct builder *b, struct endpoint x)
{
    const int64_t height = 1;
    const struct attr attrs[] = { attr_ints(b, "squeeze_dims", 1, &height), ATTR_END };

    return build(b, "Squeeze", NULL, 1, &x, attrs);
}

/* ---- pooling ---- */

static const struct layer_arg pooling3d_args[] = {
    { "pool_size", ARG_TRIPLE, "2" },
    { "strides", ARG_NULL_OR_TRIPLE, "null" },
    PADDING,
    DATA_FORMAT,
};
static const struct layer_arg pooling2d_args[] = {
    { "pool_size", ARG_PAIR, "2" },
    { "strides", ARG_NULL_OR_PAIR, "null" }, /* null: the pool size */
    PADDING,
    DATA_FORMAT,
};
static const struct layer_arg pooling1d_args[] = {
    { "pool_size", ARG_SINGLE, "2" },
    { "strides", ARG_NULL_OR_SINGLE, "null" },
    PADDING,
    DATA_FORMAT,
};

struct endpoint build_pooled(struct layer_context *context, const struct layer *layer,
                             struct endpoint x, int directions, const char *op,
                             const int64_t size[3], const int64_t strides[3])
{
    struct builder *b = &context->builder;

    if (!layer_check_open(context, layer, x, directions + 2, directions + 1))
        return x;
    if (directions == 1)
        x = image_of_sequence(b, x);
    const struct attr attrs[] = {
        attr_window(b, "ksize", directions, size),
        attr_window(b, "strides", directions, strides),
        attr_text("padding", padding_of(layer)),
        ATTR_END,
    };
    struct endpoint y = build(b, op, NULL, 1, &x, attrs);
    window_fits(context, layer, y);
    return directions == 1 ? sequence_of_image(b, y) : y;
}

static struct endpoint pooling(struct layer_context *context, const struct layer *layer,
                               struct endpoint x, int directions, const char *op)
{
    const int64_t *size = layer_arg(layer, "pool_size")->sides;
    const struct arg_value *strides = layer_arg(layer, "strides");

    return build_pooled(context, layer, x, directions, op, size,
                        strides->is_null ? size : strides->sides);
}

static const struct layer_arg global_args[] = {
    DATA_FORMAT,
    { "keepdims", ARG_BOOL, "false" },
};

/* Reduces all dimensions but the batch and the channels. */
static struct endpoint global_pooling(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x, int rank, const char *op)
{
    struct builder *b = &context->builder;

    if (!layer_check_open(context, layer, x, rank, rank))
        return x;
    struct endpoint axes = build_const_ints(b, NULL, rank - 2, (const int32_t[]){ 1, 2, 3 });
    const struct attr attrs[] = { attr_bool("keep_dims", layer_arg(layer, "keepdims")->boolean),
                                  ATTR_END };
    return build(b, op, NULL, 2, (const struct endpoint[]){ x, axes }, attrs);
}

/* A class whose function is one expression of `context`, `layer` and `x`. */
#define EXPRESSION_CLASS(noun, name, list, expression)                                            \
    static struct endpoint noun##_build(struct layer_context *context, const struct layer *layer, \
                                        struct endpoint x)                                        \
    {                                                                                             \
        return expression;                                                                        \
    }                                                                                             \
    LAYER_CLASS(noun, name, list, noun##_build)

EXPRESSION_CLASS(max_pooling3d, "MaxPooling3D", pooling3d_args,
                 pooling(context, layer, x, 3, "MaxPool3D"));
EXPRESSION_CLASS(average_pooling3d, "AveragePooling3D", pooling3d_args,
                 pooling(context, layer, x, 3, "AvgPool3D"));
EXPRESSION_CLASS(max_pooling2d, "MaxPooling2D", pooling2d_args,
                 pooling(context, layer, x, 2, "MaxPool"));
EXPRESSION_CLASS(max_pooling1d, "MaxPooling1D", pooling1d_args,
                 pooling(context, layer, x, 1, "MaxPool"));
EXPRESSION_CLASS(average_pooling2d, "AveragePooling2D", pooling2d_args,
                 pooling(context, layer, x, 2, "AvgPool"));
EXPRESSION_CLASS(average_pooling1d, "AveragePooling1D", pooling1d_args,
                 pooling(context, layer, x, 1, "AvgPool"));
EXPRESSION_CLASS(global_max_pooling3d, "GlobalMaxPooling3D", global_args,
                 global_pooling(context, layer, x, 5, "Max"));
EXPRESSION_CLASS(global_average_pooling3d, "GlobalAveragePooling3D", global_args,
                 global_pooling(context, layer, x, 5, "Mean"));
EXPRESSION_CLASS(global_max_pooling2d, "GlobalMaxPooling2D", global_args,
                 global_pooling(context, layer, x, 4, "Max"));
EXPRESSION_CLASS(global_max_pooling1d, "GlobalMaxPooling1D", global_args,
                 global_pooling(context, layer, x, 3, "Max"));
EXPRESSION_CLASS(global_average_pooling2d, "GlobalAveragePooling2D", global_args,
                 global_pooling(context, layer, x, 4, "Mean"));

/* The mean over the unmasked steps. */
static void global_average_pooling1d_call(struct layer_context *context, const struct layer *layer,
                                          struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value, mask = io_mask(io);

    io->outputs_count = 1;
    io->outputs[0].value = x;
    if (!layer_check_open(context, layer, x, 3, 3))
        return;
    if (layer_is_channels_first(layer))
        x = build_channels_moved(b, x, false);
    if (mask.node != NULL) {
        mask = build_expand_dims(b, mask, 2);
        x = build_select(b, mask, x, build_const_float(b, 0));
        mask = build_cast(b, NULL, mask, DT_FLOAT);
        x = build_binary(b, "RealDiv", NULL, global_pooling(context, layer, x, 3, "Sum"),
                         global_pooling(context, layer, mask, 3, "Sum"));
    } else {
        x = global_pooling(context, layer, x, 3, "Mean");
    }
    if (layer_is_channels_first(layer) && layer_arg(layer, "keepdims")->boolean)
        x = build_channels_moved(b, x, true);
    io->outputs[0].value = x;
}

static const char *const pooling_call_args[] = { "inputs", "mask", NULL };
const struct layer_class layer_global_average_pooling1d = {
    .name = "GlobalAveragePooling1D",
    .args = global_args,
    .args_count = (int)COUNT(global_args),
    .call = global_average_pooling1d_call,
    .call_args = pooling_call_args,
};

/* ---- padding and cropping ---- */

static const struct layer_arg zero_padding3d_args[] = {
    { "padding", ARG_VALUE, "[[1, 1], [1, 1], [1, 1]]" },
    DATA_FORMAT,
};
static const struct layer_arg cropping3d_args[] = {
    { "cropping", ARG_VALUE, "[[1, 1], [1, 1], [1, 1]]" },
    DATA_FORMAT,
};
static const struct layer_arg zero_padding2d_args[] = {
    { "padding", ARG_VALUE, "[[1, 1], [1, 1]]" },
    DATA_FORMAT,
};
static const struct layer_arg zero_padding1d_args[] = {
    { "padding", ARG_VALUE, "1" },
    DATA_FORMAT,
};
static const struct layer_arg cropping2d_args[] = {
    { "cropping", ARG_VALUE, "[[0, 0], [0, 0]]" },
    DATA_FORMAT,
};
static const struct layer_arg cropping1d_args[] = {
    { "cropping", ARG_VALUE, "[1, 1]" },
};

static bool margin(const struct json_value *value, int32_t *out)
{
    bool good =
        value->kind == JSON_VALUE_INT && value->integer >= 0 && value->integer <= UINT16_MAX;

    *out = good ? (int32_t)value->integer : 0;
    return good;
}

/* n, or [before, after] */
static bool margins_of_side(const struct json_value *value, int32_t out[2])
{
    if (margin(value, &out[0])) {
        out[1] = out[0];
        return true;
    }
    return value->kind == JSON_VALUE_LIST && value->count == 2 &&
           margin(&value->members[0], &out[0]) && margin(&value->members[1], &out[1]);
}

/* n, a list of n for each direction, or a list of [before, after]. */
static bool margins_of_sides(const struct json_value *value, int directions, int32_t *out)
{
    bool listed = value->kind == JSON_VALUE_LIST && value->count == directions;

    if (!listed && value->kind != JSON_VALUE_INT)
        return false;
    for (int i = 0; i < directions; i++)
        if (!margins_of_side(listed ? &value->members[i] : value, &out[2 * i]))
            return false;
    return true;
}

/* Reads an argument into [rank][before, after]. Returns false on failure. */
static bool read_margins(struct layer_context *context, const struct layer *layer, const char *name,
                         int rank, int32_t out[5 * 2])
{
    static const char *const wanted[] = {
        "n or [before, after]",
        "n, [height, width] or [[top, bottom], [left, right]]",
        "n, [depth, height, width] or a list of [before, after] for each",
    };
    const struct json_value *value = layer_arg(layer, name)->value;

    if (rank == 3 ? margins_of_side(value, &out[2]) : margins_of_sides(value, rank - 2, &out[2]))
        return true;
    layer_fail(context, layer, "argument '%s' wants %s", name, wanted[rank - 3]);
    return false;
}

static struct endpoint zero_padding(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x, int rank)
{
    int32_t paddings[5 * 2] = { 0 };

    if (!layer_check_open(context, layer, x, rank, rank) ||
        !read_margins(context, layer, "padding", rank, paddings))
        return x;
    return pad_zeros(&context->builder, x, rank, paddings);
}

/* x without the margins, which are counted from both ends, of dimensions of any size. */
static struct endpoint crop_open(struct builder *b, struct endpoint x, int rank,
                                 const int32_t *margins)
{
    int32_t begin[5], end[5], step[5];
    int end_mask = 0;

    for (int i = 0; i < rank; i++) {
        begin[i] = margins[2 * i];
        end[i] = -margins[2 * i + 1];
        step[i] = 1;
        end_mask |= end[i] == 0 ? 1 << i : 0;
    }
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, rank, begin),
                                       build_const_ints(b, NULL, rank, end),
                                       build_const_ints(b, NULL, rank, step) };
    return build(b, "StridedSlice", NULL, 4, inputs,
                 (const struct attr[]){ attr_int("end_mask", end_mask), ATTR_END });
}

static struct endpoint cropping(struct layer_context *context, const struct layer *layer,
                                struct endpoint x, int rank)
{
    struct builder *b = &context->builder;
    int32_t margins[5 * 2] = { 0 }, begin[5] = { 0 }, size[5] = { -1 };
    bool is_open = false;

    if (!layer_check_open(context, layer, x, rank, rank) ||
        !read_margins(context, layer, "cropping", rank, margins))
        return x;
    for (int i = 1; i < rank; i++) {
        int64_t dim = endpoint_shape(x)->dims[i], left = dim - margins[2 * i] - margins[2 * i + 1];
        if (dim >= 0 && left < 1) {
            layer_fail(context, layer, "nothing of the input's shape %s is left",
                       shape_text(endpoint_shape(x)));
            return x;
        }
        is_open |= dim < 0;
        begin[i] = margins[2 * i];
        size[i] = (int32_t)left;
    }
    return is_open ? crop_open(b, x, rank, margins) : build_slice(b, NULL, x, rank, begin, size);
}

EXPRESSION_CLASS(zero_padding3d, "ZeroPadding3D", zero_padding3d_args,
                 zero_padding(context, layer, x, 5));
EXPRESSION_CLASS(cropping3d, "Cropping3D", cropping3d_args, cropping(context, layer, x, 5));
EXPRESSION_CLASS(zero_padding2d, "ZeroPadding2D", zero_padding2d_args,
                 zero_padding(context, layer, x, 4));
EXPRESSION_CLASS(zero_padding1d, "ZeroPadding1D", zero_padding1d_args,
                 zero_padding(context, layer, x, 3));
EXPRESSION_CLASS(cropping2d, "Cropping2D", cropping2d_args, cropping(context, layer, x, 4));
EXPRESSION_CLASS(cropping1d, "Cropping1D", cropping1d_args, cropping(context, layer, x, 3));

/* ---- upsampling ---- */

static const struct layer_arg up_sampling3d_args[] = {
    { "size", ARG_TRIPLE, "2" },
    DATA_FORMAT,
};
static const struct layer_arg up_sampling2d_args[] = {
    { "size", ARG_PAIR, "2" },
    DATA_FORMAT,
    { "interpolation", ARG_CHOICE, "nearest bilinear bicubic lanczos3 lanczos5" },
};
static const struct layer_arg up_sampling1d_args[] = {
    { "size", ARG_SINGLE, "2" },
};

/* Repeats each element along dimension i: [.., dim, inner..] is reshaped to [-1, 1, inner..] and
 * tiled, which has a gradient. The inner dimensions are one unless one of them is open. */
static struct endpoint repeat_along(struct builder *b, struct endpoint x, int i, int64_t times)
{
    const struct shape shape = *endpoint_shape(x);
    int64_t dims[SHAPE_RANK_MAX], apart[SHAPE_RANK_MAX + 1] = { SIZE_REST, 1 }, inner = 1;
    int32_t multiples[SHAPE_RANK_MAX + 1] = { 1, (int32_t)times };
    int count = 2;
    struct endpoint y;

    for (int k = 0; k < shape.rank; k++)
        dims[k] = SIZE_OF(k);
    dims[i] = shape.dims[i] < 0 ? SIZE_REST : shape.dims[i] * times;
    for (int k = i + 1; k < shape.rank; k++) {
        inner = shape.dims[k] < 0 || inner < 0 ? -1 : inner * shape.dims[k];
        apart[count++] = SIZE_OF(k);
    }
    if (inner >= 0) {
        count = 3;
        apart[2] = inner;
    }
    for (int k = 2; k < count; k++)
        multiples[k] = 1;
    y = build_reshape(b, x, x, count, apart);
    y = build_binary(b, "Tile", NULL, y, build_const_ints(b, NULL, count, multiples));
    return build_reshape(b, y, x, shape.rank, dims);
}

/* Images of `times` the height and width, whose pixels lie between those of x. */
static struct endpoint enlarge(struct builder *b, struct endpoint x, const int64_t times[2],
                               const char *interpolation)
{
    struct endpoint sizes[2];

    for (int i = 0; i < 2; i++)
        sizes[i] = build_binary(b, "Mul", NULL, build_size(b, x, 1 + i),
                                build_const_int(b, (int32_t)times[i]));
    return build_resized_to(b, x, build(b, "Pack", NULL, 2, sizes, NULL), interpolation, false);
}

/* The same, rounded if the pixels are integers, as in Keras. */
static struct endpoint enlarge_like(struct layer_context *context, struct endpoint x,
                                    const int64_t times[2], const char *interpolation)
{
    struct builder *b = &context->builder;
    struct endpoint y = enlarge(b, cast_to(context, x, DT_FLOAT), times, interpolation);

    return dtype_is_floating(endpoint_dtype(x)) ? y : build_unary(b, "Round", NULL, y);
}

static struct endpoint up_sampling(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, int rank)
{
    const int64_t *sides = layer_arg(layer, "size")->sides;

    if (!layer_check_open(context, layer, x, rank, rank))
        return x;
    const struct shape shape = *endpoint_shape(x);
    int64_t sizes[8] = { 0 };
    memcpy(sizes, shape.dims + 1, (size_t)(rank - 1) * sizeof *sizes);
    memcpy(sizes + rank - 1, sides, 3 * sizeof *sides);
    if (!layer_check_size(context, layer, "the output", rank + 2, sizes))
        return x;
    const char *interpolation = rank == 4 ? layer_arg(layer, "interpolation")->text : "nearest";
    if (strcmp(interpolation, "nearest") != 0)
        return enlarge_like(context, x, sides + 1, interpolation);
    for (int i = rank - 2; i > 0; i--)
        if (sides[i + 4 - rank] > 1 && status_is_ok(context->builder.status))
            x = repeat_along(&context->builder, x, i, sides[i + 4 - rank]);
    return x;
}

EXPRESSION_CLASS(up_sampling3d, "UpSampling3D", up_sampling3d_args,
                 up_sampling(context, layer, x, 5));
static struct endpoint up_sampling2d_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    return cast_to(context, up_sampling(context, layer, x, 4), DT_FLOAT);
}
const struct layer_class layer_up_sampling2d = {
    .name = "UpSampling2D",
    .args = up_sampling2d_args,
    .args_count = (int)COUNT(up_sampling2d_args),
    .build = up_sampling2d_build,
    .inputs = LAYER_TAKES_NUMBERS,
};
EXPRESSION_CLASS(up_sampling1d, "UpSampling1D", up_sampling1d_args,
                 up_sampling(context, layer, x, 3));
