/* op_image: operations on images [batch, height, width, channels], and pooling. */
#include "layers/classes/image.h"
#include "layers/classes/op.h"

static const char *const images[] = { "images", NULL };
static const char *const pooled_inputs[] = { "inputs", NULL };

/* The images as floats. Returns false on failure. */
static bool read_images(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io, struct endpoint *out)
{
    *out = io->inputs[0].value;
    op_give(io, *out);
    return op_floats(context, layer, out) && layer_check_open(context, layer, *out, 4, 3);
}

/* Reads a number, or a list of `count` numbers, from 1 on into the last sides. */
static bool read_sides(struct layer_context *context, const struct layer *layer, const char *name,
                       int count, int64_t sides[3])
{
    const struct json_value *value = list_items(layer_arg(layer, name)->value);
    bool list = value->kind == JSON_VALUE_LIST, good = !list || value->count == count;

    for (int i = 0; i < 3; i++)
        sides[i] = 1;
    for (int i = 0; good && i < count; i++) {
        const struct json_value *side = list ? &value->members[i] : value;
        good = side->kind == JSON_VALUE_INT && side->integer >= 1 && side->integer <= INT32_MAX;
        sides[3 - count + i] = good ? side->integer : 1;
    }
    if (!good)
        layer_fail(context, layer, "argument '%s': got %s, expected %d positive integers, or one",
                   name, json_value_show(value, context->arena), count);
    return good;
}

/* ---- resize ---- */

static const struct layer_arg resize_args[] = {
    { "size", ARG_PAIR, REQUIRED },
    { "interpolation", ARG_CHOICE, INTERPOLATIONS },
    { "antialias", ARG_BOOL, "false" },
    { "crop_to_aspect_ratio", ARG_NONE, "false" },
    { "pad_to_aspect_ratio", ARG_NONE, "false" },
    { "fill_mode", ARG_CHOICE, "constant" },
    { "fill_value", ARG_NUMBER, "0" },
    DATA_FORMAT,
};

/* Of integers, the result is rounded and of their type. */
static void resize_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct builder *b = &context->builder;
    const int64_t *sides = layer_arg(layer, "size")->sides;
    enum dtype dtype = endpoint_dtype(io->inputs[0].value);
    struct endpoint x;

    if (!read_images(context, layer, io, &x))
        return;
    const int64_t sizes[] = { sides[1], sides[2], endpoint_shape(x)->dims[3] };
    if (!layer_check_size(context, layer, "pixels", 3, sizes))
        return;
    x = build_resized(b, x, sizes, layer_arg(layer, "interpolation")->text,
                      layer_arg(layer, "antialias")->boolean);
    if (dtype != DT_FLOAT)
        x = cast_to(context, build_unary(b, "Round", NULL, x), dtype);
    op_give(io, x);
}
OP_ARGS_CLASS(resize, "Resize", resize_args, images, resize_call);

/* ---- grey ---- */

static const struct layer_arg format_args[] = { DATA_FORMAT };

static void grey_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    static const float shares[] = { 0.2989f, 0.5870f, 0.1140f };
    const struct shape shape = shape_of(3);
    const struct tensor weights = tensor_borrow(DT_FLOAT, &shape, shares);
    struct builder *b = &context->builder;
    enum dtype dtype = endpoint_dtype(io->inputs[0].value);
    const int32_t last = 3;
    struct endpoint x;

    if (!read_images(context, layer, io, &x) || endpoint_shape(x)->dims[3] == 1)
        return;
    if (endpoint_shape(x)->dims[3] != 3) {
        layer_fail(context, layer, "images of shape %s, expected 1 or 3 channels",
                   shape_text(endpoint_shape(x)));
        return;
    }
    x = build_binary(b, "Mul", NULL, x, build_const(b, NULL, &weights));
    op_give(io, cast_to(context, op_over_axes(b, "Sum", x, 1, &last, true), dtype));
}
OP_ARGS_CLASS(rgb_to_grayscale, "RGBToGrayscale", format_args, images, grey_call);

/* ---- patches ---- */

static const struct layer_arg patches_args[] = {
    { "size", ARG_PAIR, REQUIRED },
    { "strides", ARG_NULL_OR_PAIR, "null" },
    { "dilation_rate", ARG_PAIR, "1" },
    PADDING,
    DATA_FORMAT,
};

/* Limit of the numbers in a patch, whose square is the size of the kernel. */
#define PATCH_MAX 4096

/* The identity as a kernel [height, width, channels, height * width * channels]. */
static struct endpoint patch_kernel(struct builder *b, const int64_t size[3], int64_t channels)
{
    int64_t length = size[1] * size[2] * channels;
    const int32_t dims[] = { (int32_t)size[1], (int32_t)size[2], (int32_t)channels,
                             (int32_t)length };
    const struct endpoint ones[] = { build_const_ints(b, NULL, 1, &dims[3]),
                                     build_const_float(b, NULL, 1) };
    struct endpoint kernel =
        build_unary(b, "MatrixDiag", NULL, build(b, "Fill", NULL, 2, ones, NULL));

    return build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 4, dims));
}

/* Square patches side by side are blocks; any others are a convolution, as in Keras. */
static void patches_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct arg_value *strides = layer_arg(layer, "strides");
    const int64_t *size = layer_arg(layer, "size")->sides,
                  *rate = layer_arg(layer, "dilation_rate")->sides,
                  *step = strides->is_null ? size : strides->sides;
    struct endpoint x;

    if (!read_images(context, layer, io, &x))
        return;
    const int64_t *dims = endpoint_shape(x)->dims;
    bool side_by_side = size[1] == size[2] && step[1] == size[1] && step[2] == size[2] &&
                        size[1] > 1 && dims[1] >= 0 && dims[2] >= 0 && dims[1] % size[1] == 0 &&
                        dims[2] % size[2] == 0 && rate[1] == 1 && rate[2] == 1;
    if (side_by_side) {
        op_give(io, build(b, "SpaceToDepth", NULL, 1, &x,
                          (const struct attr[]){ attr_int("block_size", size[1]), ATTR_END }));
        return;
    }
    if (size[1] > PATCH_MAX || size[2] > PATCH_MAX || dims[3] > PATCH_MAX ||
        size[1] * size[2] * dims[3] > PATCH_MAX) {
        layer_refuse(context, layer, "patches of more than %d numbers that overlap or leave a rest",
                     PATCH_MAX);
        return;
    }
    const struct endpoint inputs[] = { x, patch_kernel(b, size, dims[3]) };
    struct endpoint y =
        build(b, "Conv2D", NULL, 2, inputs,
              (const struct attr[]){ attr_window(b, "strides", 2, step),
                                     attr_window(b, "dilations", 2, rate),
                                     attr_text("padding", padding_of(layer)), ATTR_END });
    if (window_fits(context, layer, y))
        op_give(io, y);
}
OP_ARGS_CLASS(extract_patches, "ExtractPatches", patches_args, images, patches_call);

/* ---- pooling ---- */

static const struct layer_arg pool_args[] = {
    { "pool_size", ARG_VALUE, REQUIRED },
    { "strides", ARG_VALUE, "null" },
    PADDING,
    DATA_FORMAT,
};

static void pool(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                 const char *flat, const char *volume)
{
    struct endpoint x = io->inputs[0].value;
    int directions = endpoint_shape(x)->rank - 2;
    int64_t size[3], strides[3];

    op_give(io, x);
    if (directions < 1 || directions > 3) {
        layer_fail(context, layer, "the input has shape %s, expected rank 3 to 5",
                   shape_text(endpoint_shape(x)));
        return;
    }
    const char *step =
        json_value_is_null(layer_arg(layer, "strides")->value) ? "pool_size" : "strides";
    if (op_floats(context, layer, &x) &&
        read_sides(context, layer, "pool_size", directions, size) &&
        read_sides(context, layer, step, directions, strides))
        op_give(io, build_pooled(context, layer, x, directions, directions == 3 ? volume : flat,
                                 size, strides));
}

static void max_pool_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    pool(context, layer, io, "MaxPool", "MaxPool3D");
}
OP_ARGS_CLASS(max_pool, "MaxPool", pool_args, pooled_inputs, max_pool_call);

static void average_pool_call(struct layer_context *context, const struct layer *layer,
                              struct layer_io *io)
{
    pool(context, layer, io, "AvgPool", "AvgPool3D");
}
OP_ARGS_CLASS(average_pool, "AveragePool", pool_args, pooled_inputs, average_pool_call);

/* ---- blocks ---- */

static const struct layer_arg block_args[] = {
    { "block_size", ARG_INT, REQUIRED },
    DATA_FORMAT,
};

static void blocks(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                   const char *op)
{
    const struct attr attrs[] = { attr_int("block_size", layer_arg(layer, "block_size")->integer),
                                  ATTR_END };
    struct endpoint x;

    if (read_images(context, layer, io, &x))
        op_give(io, build(&context->builder, op, NULL, 1, &x, attrs));
}

static void space_to_depth_call(struct layer_context *context, const struct layer *layer,
                                struct layer_io *io)
{
    blocks(context, layer, io, "SpaceToDepth");
}
OP_ARGS_CLASS(space_to_depth, "SpaceToDepth", block_args, op_x, space_to_depth_call);

static void depth_to_space_call(struct layer_context *context, const struct layer *layer,
                                struct layer_io *io)
{
    blocks(context, layer, io, "DepthToSpace");
}
OP_ARGS_CLASS(depth_to_space, "DepthToSpace", block_args, op_x, depth_to_space_call);
