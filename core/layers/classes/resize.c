/* resize: Resizing, CenterCrop and RandomCrop, which bring images to one size. */
#include "layers/classes/augment.h"

/* The number of pixels down and across, or the first of them: int32 scalars. */
struct image_size {
    struct endpoint sides[2];
};

static const struct layer_arg resizing_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    { "interpolation", ARG_CHOICE, INTERPOLATIONS },
    { "crop_to_aspect_ratio", ARG_BOOL, "false" },
    { "pad_to_aspect_ratio", ARG_BOOL, "false" },
    { "fill_mode", ARG_CHOICE, "constant" },
    { "fill_value", ARG_NUMBER, "0" },
    { "antialias", ARG_BOOL, "false" },
    DATA_FORMAT,
};
static const struct layer_arg center_crop_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    DATA_FORMAT,
};

static struct image_size size_of(struct builder *b, struct endpoint x)
{
    return (struct image_size){ { build_size(b, x, 1), build_size(b, x, 2) } };
}

static struct image_size constant_size(struct builder *b, const int64_t sides[2])
{
    return (struct image_size){ { build_const_int(b, (int32_t)sides[0]),
                                  build_const_int(b, (int32_t)sides[1]) } };
}

static struct endpoint by_int(struct builder *b, const char *op, struct endpoint x, int64_t number)
{
    return build_binary(b, op, NULL, x, build_const_int(b, (int32_t)number));
}

/* The size with each side in proportion to the other one as in `wanted`, with Keras' rounding. */
static struct image_size in_proportion(struct builder *b, struct image_size size,
                                       const int64_t wanted[2])
{
    struct image_size out;

    for (int i = 0; i < 2; i++) {
        struct endpoint other = build_cast(b, NULL, size.sides[1 - i], DT_FLOAT);
        other = build_by_number(b, "Mul", other, (double)wanted[i]);
        other = build_by_number(b, "RealDiv", other, (double)wanted[1 - i]);
        out.sides[i] = build_cast(b, NULL, other, DT_INT32);
    }
    return out;
}

/* Half of the pixels by which `all` is larger than `part`, rounded down. */
static struct image_size half_of_rest(struct builder *b, struct image_size all,
                                      struct image_size part)
{
    struct image_size out;

    for (int i = 0; i < 2; i++)
        out.sides[i] =
            by_int(b, "FloorDiv", build_binary(b, "Sub", NULL, all.sides[i], part.sides[i]), 2);
    return out;
}

static struct endpoint crop(struct builder *b, struct endpoint x, struct image_size begin,
                            struct image_size size)
{
    struct endpoint zero = build_const_int(b, 0), rest = build_const_int(b, -1);
    const struct endpoint begins[] = { zero, begin.sides[0], begin.sides[1], zero };
    const struct endpoint sizes[] = { rest, size.sides[0], size.sides[1], rest };
    const struct endpoint inputs[] = { x, build(b, "Pack", NULL, 4, begins, NULL),
                                       build(b, "Pack", NULL, 4, sizes, NULL) };

    return build(b, "Slice", NULL, 3, inputs, NULL);
}

/* The size of the largest part that has the aspect ratio of `wanted`. */
static struct image_size size_of_ratio(struct builder *b, struct endpoint x,
                                       const int64_t wanted[2])
{
    struct image_size all = size_of(b, x), size = in_proportion(b, all, wanted);

    for (int i = 0; i < 2; i++)
        size.sides[i] =
            by_int(b, "Maximum", build_binary(b, "Minimum", NULL, all.sides[i], size.sides[i]), 1);
    return size;
}

static struct endpoint crop_to_ratio(struct builder *b, struct endpoint x, const int64_t wanted[2])
{
    struct image_size size = size_of_ratio(b, x, wanted);

    return crop(b, x, half_of_rest(b, size_of(b, x), size), size);
}

/* The margins [4, 2] of images whose size is known, in the same arithmetic as graph_margins. They
 * are a constant, from which the shape of the padded images follows; layers of weights need that
 * shape. A null node: failure. */
static struct endpoint constant_margins(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x, const int64_t wanted[2])
{
    const int64_t *all = endpoint_shape(x)->dims + 1;
    int32_t margins[4][2] = { 0 };
    int64_t sizes[3] = { [2] = all[2] };
    const struct shape shape = shape_of(4, 2);
    const struct tensor paddings = tensor_borrow(DT_INT32, &shape, margins);

    for (int i = 0; i < 2; i++) {
        int64_t side = (int64_t)((float)(all[1 - i] * wanted[i]) / (float)wanted[1 - i]);
        int64_t margin = side > all[i] ? (side - all[i]) / 2 : 0;
        sizes[i] = all[i] + 2 * margin;
        margins[i + 1][0] = margins[i + 1][1] = (int32_t)margin;
    }
    if (!layer_check_size(context, layer, "padded pixels", 3, sizes))
        return (struct endpoint){ 0 };
    return build_const(&context->builder, NULL, &paddings);
}

/* The margins [4, 2] of images whose size only the graph knows. */
static struct endpoint graph_margins(struct builder *b, struct endpoint x, const int64_t wanted[2])
{
    static const int32_t pairs[] = { 4, 2 };
    struct image_size all = size_of(b, x);
    struct image_size margins = half_of_rest(b, in_proportion(b, all, wanted), all);
    struct endpoint list[8];

    for (int i = 0; i < 8; i++)
        list[i] = i >= 2 && i < 6 ? by_int(b, "Maximum", margins.sides[i / 2 - 1], 0)
                                  : build_const_int(b, 0);
    return build_binary(b, "Reshape", NULL, build(b, "Pack", NULL, 8, list, NULL),
                        build_const_ints(b, NULL, 2, pairs));
}

/* Pads equally on both sides to the aspect ratio of `wanted`. */
static struct endpoint pad_to_ratio(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x, const int64_t wanted[2])
{
    struct builder *b = &context->builder;
    const int64_t *dims = endpoint_shape(x)->dims;
    const struct endpoint inputs[] = {
        x,
        dims[1] < 0 || dims[2] < 0 ? graph_margins(b, x, wanted)
                                   : constant_margins(context, layer, x, wanted),
        build_const_float(b, (float)layer_arg(layer, "fill_value")->number),
    };
    return build(b, "PadV2", NULL, 3, inputs, NULL);
}

/* Keras' interpolations. `filtered`: the kernel of ScaleAndTranslate, which an antialiased image
 * takes, and without an op any. */
static const struct {
    const char *name, *op, *filtered;
} interpolations[] = {
    { "bilinear", "ResizeBilinear", "triangle" },
    { "nearest", "ResizeNearestNeighbor", NULL },
    { "bicubic", "ResizeBicubic", "keyscubic" },
    { "lanczos3", NULL, "lanczos3" },
    { "lanczos5", NULL, "lanczos5" },
};

/* Resizes with the convolution kernel of this name. */
static struct endpoint resize_filtered(struct builder *b, struct endpoint x, struct endpoint size,
                                       const char *kernel, bool antialias)
{
    struct image_size all = size_of(b, x);
    struct endpoint old = build(b, "Pack", NULL, 2, all.sides, NULL),
                    zero = build_const_float(b, 0);
    const struct endpoint shifts[] = { zero, zero };
    const struct endpoint inputs[] = { x, size,
                                       build_binary(b, "RealDiv", NULL,
                                                    build_cast(b, NULL, size, DT_FLOAT),
                                                    build_cast(b, NULL, old, DT_FLOAT)),
                                       build(b, "Pack", NULL, 2, shifts, NULL) };
    return build(b, "ScaleAndTranslate", NULL, 4, inputs,
                 (const struct attr[]){ attr_text("kernel_type", kernel),
                                        attr_bool("antialias", antialias), ATTR_END });
}

struct endpoint build_resized_to(struct builder *b, struct endpoint x, struct endpoint size,
                                 const char *interpolation, bool antialias)
{
    const struct endpoint inputs[] = { x, size };
    const struct attr attrs[] = { attr_bool("half_pixel_centers", true), ATTR_END };
    size_t i = 0;

    while (strcmp(interpolations[i].name, interpolation) != 0)
        i++;
    if (interpolations[i].filtered != NULL && (antialias || interpolations[i].op == NULL))
        return resize_filtered(b, x, size, interpolations[i].filtered, antialias);
    return build(b, interpolations[i].op, NULL, 2, inputs, attrs);
}

struct endpoint build_resized(struct builder *b, struct endpoint x, const int64_t wanted[2],
                              const char *interpolation, bool antialias)
{
    const int32_t size[] = { (int32_t)wanted[0], (int32_t)wanted[1] };

    return build_resized_to(b, x, build_const_ints(b, NULL, 2, size), interpolation, antialias);
}

/* Checks the input, and determines the height and width of the output. */
static bool read_size(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int64_t out[2])
{
    if (!layer_check_open(context, layer, x, 4, 3))
        return false;
    const int64_t *given = endpoint_shape(x)->dims + 1;
    out[0] = layer_arg(layer, "height")->integer;
    out[1] = layer_arg(layer, "width")->integer;
    const int64_t sizes[] = { out[0], out[1], given[2] };
    if (given[0] == 0 || given[1] == 0) {
        layer_fail(context, layer, "the input's shape %s has no pixels",
                   shape_text(endpoint_shape(x)));
        return false;
    }
    return layer_check_size(context, layer, "pixels", 3, sizes) &&
           layer_check_size(context, layer, "pixels", 2, given);
}

/* Is a side known to be below this size? */
static bool is_smaller(struct endpoint x, const int64_t size[2])
{
    const int64_t *sides = endpoint_shape(x)->dims + 1;

    return (sides[0] >= 0 && sides[0] < size[0]) || (sides[1] >= 0 && sides[1] < size[1]);
}

static struct endpoint resizing_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    struct builder *b = &context->builder;
    bool crops = layer_arg(layer, "crop_to_aspect_ratio")->boolean;
    bool pads = layer_arg(layer, "pad_to_aspect_ratio")->boolean;
    int64_t wanted[2];

    if (!read_size(context, layer, x, wanted))
        return x;
    if (crops && pads) {
        layer_fail(context, layer,
                   "only one of 'crop_to_aspect_ratio' and 'pad_to_aspect_ratio' can be true");
        return x;
    }
    if (crops)
        x = crop_to_ratio(b, x, wanted);
    const int64_t sizes[] = { SIZE_OF(0), wanted[0], wanted[1], SIZE_OF(3) };
    struct endpoint y = pads ? pad_to_ratio(context, layer, x, wanted) : x;
    y = build_resized(b, y, wanted, layer_arg(layer, "interpolation")->text,
                      layer_arg(layer, "antialias")->boolean);
    if (!pads || !status_is_ok(b->status) || endpoint_shape(y)->dims[3] >= 0)
        return y;
    /* The graph's margins leave the channels open. */
    return build_binary(b, "Reshape", NULL, y, build_sizes(b, x, 4, sizes));
}
FLOAT_LAYER_CLASS(resizing, "Resizing", resizing_args, resizing_build);

/* Are both sides of `all` larger ("Greater") than those of `part`, or as large? A bool scalar. */
static struct endpoint both_sides(struct builder *b, const char *op, struct image_size all,
                                  struct image_size part)
{
    return build_binary(b, "LogicalAnd", NULL,
                        build_binary(b, op, NULL, all.sides[0], part.sides[0]),
                        build_binary(b, op, NULL, all.sides[1], part.sides[1]));
}

static struct image_size choose_size(struct builder *b, struct endpoint condition,
                                     struct image_size then, struct image_size otherwise)
{
    struct image_size out;

    for (int i = 0; i < 2; i++)
        out.sides[i] = build_select(b, condition, then.sides[i], otherwise.sides[i]);
    return out;
}

/* Images that are too small are cropped to the aspect ratio and enlarged. If only the graph knows
 * their size, it also resizes large ones, from the result's size to itself. */
static struct endpoint center_crop_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct builder *b = &context->builder;
    int64_t wanted[2];

    if (!read_size(context, layer, x, wanted))
        return x;
    const int64_t *sides = endpoint_shape(x)->dims + 1;
    if (is_smaller(x, wanted))
        return build_resized(b, crop_to_ratio(b, x, wanted), wanted, "bilinear", false);
    struct image_size all = size_of(b, x), size = constant_size(b, wanted);
    if (sides[0] >= 0 && sides[1] >= 0)
        return crop(b, x, half_of_rest(b, all, size), size);
    size =
        choose_size(b, both_sides(b, "GreaterEqual", all, size), size, size_of_ratio(b, x, wanted));
    x = crop(b, x, half_of_rest(b, all, size), size);
    return build_resized(b, x, wanted, "bilinear", false);
}
FLOAT_LAYER_CLASS(center_crop, "CenterCrop", center_crop_args, center_crop_build);

static const struct layer_arg random_crop_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Draws an integer below `end`, for all images of the batch. */
static struct endpoint draw_place(struct layer_context *context, const struct layer *layer,
                                  struct endpoint end)
{
    struct builder *b = &context->builder;
    struct endpoint number =
        build_binary(b, "StatelessRandomUniform", NULL, build_const_ints(b, NULL, 0, NULL),
                     augment_seed(context, layer));

    number = build_binary(b, "Mul", NULL, number, build_cast(b, NULL, end, DT_FLOAT));
    return build_cast(b, NULL, number, DT_INT32);
}

/* In a training batch of images that are larger than the result, takes the same random part of
 * each, as in Keras. Otherwise takes the largest centred part with the aspect ratio of the
 * result, as Keras 3 documents. Keras 3's code instead passes the images of an evaluation
 * unchanged, and the layers after it fail. */
static struct endpoint random_crop_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct builder *b = &context->builder;
    int64_t wanted[2];

    if (!read_size(context, layer, x, wanted))
        return x;
    struct image_size all = size_of(b, x), size = size_of_ratio(b, x, wanted);
    struct image_size begin = half_of_rest(b, all, size), part = constant_size(b, wanted);
    if (context->mode == LAYERS_TRAIN &&
        !is_smaller(x, (const int64_t[]){ wanted[0] + 1, wanted[1] + 1 })) {
        struct endpoint larger = both_sides(b, "Greater", all, part);
        struct image_size drawn;
        for (int i = 0; i < 2; i++)
            drawn.sides[i] =
                draw_place(context, layer, by_int(b, "Sub", all.sides[i], wanted[i] - 1));
        begin = choose_size(b, larger, drawn, begin);
        size = choose_size(b, larger, part, size);
    }
    return build_resized(b, crop(b, x, begin, size), wanted, "bilinear", false);
}
FLOAT_LAYER_CLASS(random_crop, "RandomCrop", random_crop_args, random_crop_build);
