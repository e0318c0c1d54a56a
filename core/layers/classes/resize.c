/* resize: Resizing, CenterCrop and RandomCrop, which bring images to one size. */
#include "layers/classes/augment.h"

/* The current and the wanted height and width of an image. */
struct image_size {
    int64_t height, width;
};

static const struct layer_arg resizing_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    { "interpolation", ARG_CHOICE, "bilinear nearest" },
    { "crop_to_aspect_ratio", ARG_BOOL, "false" },
    { "pad_to_aspect_ratio", ARG_BOOL, "false" },
    { "fill_mode", ARG_CHOICE, "constant" },
    { "fill_value", ARG_NUMBER, "0" },
    { "antialias", ARG_NONE, "false" },
    DATA_FORMAT,
};
static const struct layer_arg center_crop_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    DATA_FORMAT,
};

static struct image_size size_of(struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);

    return (struct image_size){ shape->dims[1], shape->dims[2] };
}

/* a · b / c in floats, with Keras' rounding. */
static int64_t in_proportion(int64_t a, int64_t b, int64_t c)
{
    return (int64_t)((float)(a * b) / (float)c);
}

/* Crops the `size` pixels in the middle. */
static struct endpoint crop(struct builder *b, struct endpoint x, struct image_size size)
{
    struct image_size all = size_of(x);
    const int32_t begin[] = { 0, (int32_t)((all.height - size.height) / 2),
                              (int32_t)((all.width - size.width) / 2), 0 };
    const int32_t sizes[] = { -1, (int32_t)size.height, (int32_t)size.width, -1 };
    return size.height == all.height && size.width == all.width
               ? x
               : build_slice(b, NULL, x, 4, begin, sizes);
}

/* Crops the largest centred part that has the aspect ratio of `wanted`. */
static struct endpoint crop_to_ratio(struct builder *b, struct endpoint x, struct image_size wanted)
{
    struct image_size all = size_of(x),
                      size = { in_proportion(all.width, wanted.height, wanted.width),
                               in_proportion(all.height, wanted.width, wanted.height) };

    size.height = size.height > all.height ? all.height : size.height < 1 ? 1 : size.height;
    size.width = size.width > all.width ? all.width : size.width < 1 ? 1 : size.width;
    return crop(b, x, size);
}

/* Pads equally on both sides to the aspect ratio of `wanted`. */
static struct endpoint pad_to_ratio(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x, struct image_size wanted)
{
    struct builder *b = &context->builder;
    struct image_size all = size_of(x);
    int64_t height = in_proportion(all.width, wanted.height, wanted.width);
    int64_t width = in_proportion(all.height, wanted.width, wanted.height);
    int64_t above = height > all.height ? (height - all.height) / 2 : 0;
    int64_t before = width > all.width ? (width - all.width) / 2 : 0;
    const int64_t sizes[] = { all.height + 2 * above, all.width + 2 * before,
                              endpoint_shape(x)->dims[3] };

    if (above + before == 0 || !layer_check_size(context, layer, "padded pixels", 3, sizes))
        return x;
    const int32_t margins[4][2] = {
        [1] = { (int32_t)above, (int32_t)above }, [2] = { (int32_t)before, (int32_t)before }
    };
    const struct shape shape = shape_of(4, 2);
    const struct tensor paddings = tensor_borrow(DT_INT32, &shape, margins);
    const struct endpoint inputs[] = {
        x, build_const(b, NULL, &paddings),
        build_const_float(b, NULL, (float)layer_arg(layer, "fill_value")->number)
    };
    return build(b, "PadV2", NULL, 3, inputs, NULL);
}

static struct endpoint resize(struct builder *b, struct endpoint x, struct image_size wanted,
                              const char *interpolation)
{
    const int32_t size[] = { (int32_t)wanted.height, (int32_t)wanted.width };
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, 2, size) };
    const struct attr attrs[] = { attr_bool("half_pixel_centers", true), ATTR_END };

    return build(b,
                 strcmp(interpolation, "nearest") == 0 ? "ResizeNearestNeighbor" : "ResizeBilinear",
                 NULL, 2, inputs, attrs);
}

/* Checks the input, and determines the output size. */
static bool read_size(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      struct image_size *out)
{
    if (!layer_check_rank(context, layer, x, 4))
        return false;
    *out = (struct image_size){ layer_arg(layer, "height")->integer,
                                layer_arg(layer, "width")->integer };
    const int64_t sizes[] = { out->height, out->width, endpoint_shape(x)->dims[3] };
    const int64_t given[] = { size_of(x).height, size_of(x).width };
    if (given[0] < 1 || given[1] < 1) {
        layer_fail(context, layer, "the input's shape %s has no pixels",
                   shape_text(endpoint_shape(x)));
        return false;
    }
    return layer_check_size(context, layer, "pixels", 3, sizes) &&
           layer_check_size(context, layer, "pixels", 2, given);
}

static struct endpoint resizing_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    struct builder *b = &context->builder;
    bool crops = layer_arg(layer, "crop_to_aspect_ratio")->boolean;
    bool pads = layer_arg(layer, "pad_to_aspect_ratio")->boolean;
    struct image_size wanted;

    if (!read_size(context, layer, x, &wanted))
        return x;
    if (crops && pads) {
        layer_fail(context, layer,
                   "only one of 'crop_to_aspect_ratio' and 'pad_to_aspect_ratio' can be true");
        return x;
    }
    if (crops)
        x = crop_to_ratio(b, x, wanted);
    if (pads)
        x = pad_to_ratio(context, layer, x, wanted);
    return resize(b, x, wanted, layer_arg(layer, "interpolation")->text);
}
LAYER_CLASS(resizing, "Resizing", resizing_args, resizing_build);

/* An image that is too small is cropped to the aspect ratio and enlarged. */
static struct endpoint center_crop_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct builder *b = &context->builder;
    struct image_size wanted;

    if (!read_size(context, layer, x, &wanted))
        return x;
    if (size_of(x).height >= wanted.height && size_of(x).width >= wanted.width)
        return crop(b, x, wanted);
    x = crop_to_ratio(b, x, wanted);
    return resize(b, x, wanted, "bilinear");
}
LAYER_CLASS(center_crop, "CenterCrop", center_crop_args, center_crop_build);

static const struct layer_arg random_crop_args[] = {
    { "height", ARG_INT, REQUIRED },
    { "width", ARG_INT, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Draws an integer below `end`, for all images of the batch: int32 [1]. */
static struct endpoint draw_place(struct layer_context *context, const struct layer *layer,
                                  int64_t end)
{
    static const int32_t one[] = { 1 };
    struct builder *b = &context->builder;
    struct endpoint number =
        build_binary(b, "StatelessRandomUniform", NULL, build_const_ints(b, NULL, 1, one),
                     augment_seed(context, layer));

    number = build_by_number(b, "Mul", number, (double)end);
    return build_cast(b, NULL, number, DT_INT32);
}

/* Crops at the same random position in all images of a batch, as in Keras. */
static struct endpoint crop_anywhere(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x, struct image_size wanted)
{
    static const int32_t zero[] = { 0 };
    struct builder *b = &context->builder;
    const int32_t sizes[] = { -1, (int32_t)wanted.height, (int32_t)wanted.width, -1 };
    const struct endpoint begin[] = {
        build_const_ints(b, NULL, 1, zero),
        draw_place(context, layer, size_of(x).height - wanted.height + 1),
        draw_place(context, layer, size_of(x).width - wanted.width + 1),
        build_const_ints(b, NULL, 1, zero), build_const_int(b, NULL, 0)
    };
    const struct endpoint inputs[] = { x, build(b, "ConcatV2", NULL, 5, begin, NULL),
                                       build_const_ints(b, NULL, 4, sizes) };

    return build(b, "Slice", NULL, 3, inputs, NULL);
}

/* If the image is too small, or outside of training, takes the largest centred part with the
 * aspect ratio of the result, as Keras 3 documents. Keras 3's code instead passes the images of
 * an evaluation unchanged, and the layers after it fail. */
static struct endpoint random_crop_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct image_size wanted;

    if (!read_size(context, layer, x, &wanted))
        return x;
    if (context->mode == LAYERS_TRAIN && size_of(x).height > wanted.height &&
        size_of(x).width > wanted.width)
        return crop_anywhere(context, layer, x, wanted);
    x = crop_to_ratio(&context->builder, x, wanted);
    return resize(&context->builder, x, wanted, "bilinear");
}
LAYER_CLASS(random_crop, "RandomCrop", random_crop_args, random_crop_build);
