/* op_image: operations on images [batch, height, width, channels], and pooling. */
#include <math.h>

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
    CHANNELS_LAST,
};

/* The result for integers is rounded, and has their type. */
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
    if (!dtype_is_floating(dtype))
        x = cast_to(context, build_unary(b, "Round", NULL, x), dtype);
    op_give(io, x);
}
OP_ARGS_CLASS(resize, "Resize", resize_args, images, resize_call);

/* ---- grey ---- */

static const struct layer_arg format_args[] = { CHANNELS_LAST };

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
    CHANNELS_LAST,
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
                                     build_const_float(b, 1) };
    struct endpoint kernel =
        build_unary(b, "MatrixDiag", NULL, build(b, "Fill", NULL, 2, ones, NULL));

    return build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 4, dims));
}

/* The numbers of each window in a row, by lines: [batch, …, …, height * width * channels]. */
static struct endpoint patches(struct builder *b, struct endpoint x, const int64_t size[3],
                               const int64_t step[3], const int64_t rate[3], const char *padding)
{
    const struct endpoint inputs[] = { x, patch_kernel(b, size, endpoint_shape(x)->dims[3]) };

    return build(b, "Conv2D", NULL, 2, inputs,
                 (const struct attr[]){ attr_window(b, "strides", 2, step),
                                        attr_window(b, "dilations", 2, rate),
                                        attr_text("padding", padding), ATTR_END });
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
    struct endpoint y = patches(b, x, size, step, rate, padding_of(layer));
    if (window_fits(context, layer, y))
        op_give(io, y);
}
OP_ARGS_CLASS(extract_patches, "ExtractPatches", patches_args, images, patches_call);

static const struct layer_arg unfold_args[] = {
    { "kernel_size", ARG_PAIR, REQUIRED },
    { "dilation", ARG_PAIR, "1" },
    { "padding", ARG_VALUE, "0" },
    { "stride", ARG_PAIR, "1" },
};

/* Reads zeros at both ends of the height and of the width: n or [n, m]. */
static bool read_margins(const struct json_value *value, int32_t margins[2])
{
    bool list = value->kind == JSON_VALUE_LIST;

    if (list && value->count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct json_value *one = list ? &value->members[i] : value;
        if (one->kind != JSON_VALUE_INT || one->integer < 0 || one->integer > PATCH_MAX)
            return false;
        margins[i] = (int32_t)one->integer;
    }
    return true;
}

/* Lays out the windows of x [batch, channels, height, width]: [batch, channels * h * w, windows].
 * Each channel is treated as an image. */
static void unfold_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct builder *b = &context->builder;
    const int64_t *size = layer_arg(layer, "kernel_size")->sides;
    struct endpoint x;
    int32_t margins[2];

    if (!read_images(context, layer, io, &x) || !layer_check_known(context, layer, x, 1))
        return;
    if (!read_margins(list_items(layer_arg(layer, "padding")->value), margins)) {
        layer_fail(context, layer, "argument 'padding': expected one or two sizes from 0 to %d",
                   PATCH_MAX);
        return;
    }
    if (size[1] > PATCH_MAX || size[2] > PATCH_MAX || size[1] * size[2] > PATCH_MAX) {
        layer_refuse(context, layer, "windows of more than %d numbers", PATCH_MAX);
        return;
    }
    const int64_t *dims = endpoint_shape(x)->dims, channels = dims[1];
    const int64_t images_of[] = { SIZE_REST, dims[2], dims[3], 1 };
    const int32_t paddings[] = { 0, 0, margins[0], margins[0], margins[1], margins[1], 0, 0 };
    struct endpoint y = build_reshape(b, x, x, 4, images_of);
    if (margins[0] > 0 || margins[1] > 0)
        y = pad_zeros(b, y, 4, paddings);
    y = patches(b, y, size, layer_arg(layer, "stride")->sides, layer_arg(layer, "dilation")->sides,
                "VALID");
    if (!window_fits(context, layer, y))
        return;
    const int64_t *made = endpoint_shape(y)->dims;
    const int64_t numbers[] = { channels, size[1], size[2], made[1], made[2] };
    if (!layer_check_size(context, layer, "the windows", COUNT(numbers), numbers))
        return;
    int64_t windows = made[1] * made[2];
    const int64_t split[] = { SIZE_REST, channels, windows, size[1] * size[2] };
    const int64_t joined[] = { SIZE_REST, channels * size[1] * size[2], windows };
    static const int32_t order[] = { 0, 1, 3, 2 };
    y = build_binary(b, "Transpose", NULL, build_reshape(b, y, y, 4, split),
                     build_const_ints(b, NULL, 4, order));
    op_give(io, build_reshape(b, y, y, 3, joined));
}
OP_ARGS_CLASS(unfold, "Unfold", unfold_args, op_x, unfold_call);

/* ---- margins ---- */

#define MARGINS(kind)                                                                              \
    { "top_" kind, ARG_NULL_OR_INT, "null" }, { "left_" kind, ARG_NULL_OR_INT, "null" },           \
        { "bottom_" kind, ARG_NULL_OR_INT, "null" }, { "right_" kind, ARG_NULL_OR_INT, "null" },   \
        { "target_height", ARG_NULL_OR_INT, "null" }, { "target_width", ARG_NULL_OR_INT, "null" }, \
        CHANNELS_LAST
static const struct layer_arg padding_args[] = { MARGINS("padding") };
static const struct layer_arg cropping_args[] = { MARGINS("cropping") };

/* The margins before and after the height or width `size`; one may follow from the size of the
 * result. sign: 1 if they are added, -1 if they are cut off. Returns false if they do not fit. */
static bool margins_of(const struct layer *layer, const char *const names[3], int64_t size,
                       int sign, int32_t out[2])
{
    const struct arg_value *target = layer_arg(layer, names[2]);
    const struct arg_value *given[] = { layer_arg(layer, names[0]), layer_arg(layer, names[1]) };
    int64_t ends[2] = { 0, 0 };

    for (int i = 0; i < 2; i++) {
        if (!given[i]->is_null && (given[i]->integer < 0 || given[i]->integer > INT32_MAX))
            return false;
        ends[i] = given[i]->is_null ? -1 : given[i]->integer;
    }
    if (!target->is_null && (size < 0 || target->integer < 1 || target->integer > INT32_MAX))
        return false;
    for (int i = 0; i < 2; i++)
        if (ends[i] < 0 && !target->is_null)
            ends[i] = sign * (target->integer - size) - ends[1 - i];
    bool fits = ends[0] >= 0 && ends[1] >= 0 && ends[0] <= INT32_MAX && ends[1] <= INT32_MAX;
    if (size >= 0 && fits) {
        int64_t made = size + sign * (ends[0] + ends[1]);
        fits = made >= 1 && made <= INT32_MAX && (target->is_null || made == target->integer);
    }
    out[0] = (int32_t)ends[0];
    out[1] = (int32_t)ends[1];
    return fits;
}

/* Reads the margins of images [batch, height, width, channels]. */
static bool read_frame(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io, const char *const names[2][3], int sign,
                       int32_t margins[4])
{
    struct endpoint x = io->inputs[0].value;

    if (!layer_check_open(context, layer, x, 4, 3))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!layer_arg(layer, names[i][2])->is_null && endpoint_shape(x)->dims[i + 1] < 0)
            return layer_check_known(context, layer, x, i + 1);
        if (!margins_of(layer, names[i], endpoint_shape(x)->dims[i + 1], sign, &margins[2 * i])) {
            layer_fail(context, layer,
                       "the margins do not fit images %s: expected two of '%s', '%s' and '%s'",
                       shape_text(endpoint_shape(x)), names[i][0], names[i][1], names[i][2]);
            return false;
        }
    }
    return true;
}

static void pad_images_call(struct layer_context *context, const struct layer *layer,
                            struct layer_io *io)
{
    static const char *const names[2][3] = {
        { "top_padding", "bottom_padding", "target_height" },
        { "left_padding", "right_padding", "target_width" },
    };
    int32_t m[4];

    if (!read_frame(context, layer, io, names, 1, m))
        return;
    const int32_t paddings[] = { 0, 0, m[0], m[1], m[2], m[3], 0, 0 };
    op_give(io, pad_zeros(&context->builder, io->inputs[0].value, 4, paddings));
}
OP_ARGS_CLASS(pad_images, "PadImages", padding_args, images, pad_images_call);

static void crop_images_call(struct layer_context *context, const struct layer *layer,
                             struct layer_io *io)
{
    static const char *const names[2][3] = {
        { "top_cropping", "bottom_cropping", "target_height" },
        { "left_cropping", "right_cropping", "target_width" },
    };
    int32_t m[4];

    if (!read_frame(context, layer, io, names, -1, m))
        return;
    const struct shape *shape = endpoint_shape(io->inputs[0].value);
    if (!layer_check_known(context, layer, io->inputs[0].value, 1))
        return;
    const int32_t begin[] = { 0, m[0], m[2], 0 };
    const int32_t size[] = { -1, (int32_t)shape->dims[1] - m[0] - m[1],
                             (int32_t)shape->dims[2] - m[2] - m[3], -1 };
    op_give(io, build_slice(&context->builder, NULL, io->inputs[0].value, 4, begin, size));
}
OP_ARGS_CLASS(crop_images, "CropImages", cropping_args, images, crop_images_call);

/* ---- blur ---- */

static const struct layer_arg blur_args[] = {
    { "kernel_size", ARG_PAIR, "3" },
    { "sigma", ARG_VALUE, "1.0" },
    CHANNELS_LAST,
};

/* Weights e^(-place² / 2σ²) around the middle, of sum 1. */
static void bell(float *out, int64_t size, double sigma)
{
    double sum = 0;

    for (int64_t i = 0; i < size; i++) {
        double place = ((double)i - (double)(size - 1) / 2) / sigma;
        out[i] = (float)exp(-0.5 * place * place);
        sum += out[i];
    }
    for (int64_t i = 0; i < size; i++)
        out[i] = (float)(out[i] / sum);
}

static void blur_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct builder *b = &context->builder;
    const int64_t *size = layer_arg(layer, "kernel_size")->sides;
    const struct json_value *value = list_items(layer_arg(layer, "sigma")->value);
    bool list = value->kind == JSON_VALUE_LIST;
    double sigmas[2] = { 0, 0 };
    struct endpoint x;

    if (!read_images(context, layer, io, &x))
        return;
    bool good = !list || value->count == 2;
    for (int i = 0; good && i < 2; i++)
        good = json_value_number(list ? &value->members[i] : value, &sigmas[i]) && sigmas[i] > 0;
    if (!good || size[1] > PATCH_MAX || size[2] > PATCH_MAX || size[1] * size[2] > PATCH_MAX) {
        layer_fail(context, layer,
                   "expected two positive numbers 'sigma', and a kernel of at most %d numbers",
                   PATCH_MAX);
        return;
    }
    /* The first size and sigma are Keras' width. If the sizes differ, Keras lays the rows of that
     * window one after the other into one of the other form. */
    float *weights = ARENA_ARRAY(context->arena, float, size[1] * size[2] + size[1] + size[2]);
    float *across = weights + size[1] * size[2], *down = across + size[1];
    bell(across, size[1], sigmas[0]);
    bell(down, size[2], sigmas[1]);
    for (int64_t i = 0; i < size[1] * size[2]; i++)
        weights[i] = down[i / size[1]] * across[i % size[1]];
    const struct shape shape = shape_of(size[1], size[2]);
    const struct tensor kernel = tensor_borrow(DT_FLOAT, &shape, weights);
    op_give(io, build_filtered(b, x, build_const(b, NULL, &kernel)));
}
OP_ARGS_CLASS(gaussian_blur, "GaussianBlur", blur_args, images, blur_call);

/* ---- affine maps ---- */

static const struct layer_arg affine_args[] = {
    { "interpolation", ARG_CHOICE, "bilinear nearest" },
    { "fill_mode", ARG_CHOICE, "constant nearest wrap reflect" },
    { "fill_value", ARG_NUMBER, "0" },
    CHANNELS_LAST,
};
static const char *const affine_inputs[] = { "images", "transform", NULL };

/* A transform [8] for all images, or one for each: [batch, 8]. */
static void affine_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io_tensor(io, "images").value, map = io_tensor(io, "transform").value;
    const int64_t sides[] = { SIZE_OF(1), SIZE_OF(2) };
    const int32_t one_map[] = { 1, 8 };
    struct tensor numbers;

    if (x.node == NULL || !op_floats(context, layer, &x) ||
        !layer_check_open(context, layer, x, 4, 3)) {
        layer_fail(context, layer, "argument 'images' of a call is no tensor");
        return;
    }
    if (map.node == NULL && op_numbers(context, io, "transform", &numbers) && numbers.size == 8)
        map = build_binary(b, "Reshape", NULL, build_const(b, NULL, &numbers),
                           build_const_ints(b, NULL, 2, one_map));
    else if (map.node == NULL || endpoint_shape(map)->rank != 2 ||
             endpoint_shape(map)->dims[1] != 8 || !op_floats(context, layer, &map)) {
        layer_fail(context, layer, "argument 'transform': expected 8 numbers, or [batch, 8]");
        return;
    }
    const struct endpoint inputs[] = { x, map, build_sizes(b, x, 2, sides),
                                       build_const_float(
                                           b, (float)layer_arg(layer, "fill_value")->number) };
    op_give(io, build(b, "ImageProjectiveTransformV3", NULL, 4, inputs,
                      (const struct attr[]){ attr_upper(context, layer, "interpolation"),
                                             attr_upper(context, layer, "fill_mode"), ATTR_END }));
}
OP_ARGS_CLASS(affine_transform, "AffineTransform", affine_args, affine_inputs, affine_call);

/* ---- pooling ---- */

static const struct layer_arg pool_args[] = {
    { "pool_size", ARG_VALUE, REQUIRED },
    { "strides", ARG_VALUE, "null" },
    PADDING,
    CHANNELS_LAST,
};

static void pool(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                 const char *flat, const char *volume)
{
    struct endpoint x = io->inputs[0].value;
    int directions = endpoint_shape(x)->rank - 2;
    int64_t size[3], strides[3];

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
    CHANNELS_LAST,
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
