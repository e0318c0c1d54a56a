/* elastic: RandomElasticTransform, which displaces the pixels of each image of a training batch
 * by smoothed noise. Source: RandomElasticTransform, elastic_transform and map_coordinates in
 * keras/src. */

#include "layers/classes/augment.h"

static const struct layer_arg random_elastic_transform_args[] = {
    { "factor", ARG_VALUE, "1.0" }, /* the share of the images */
    { "scale", ARG_VALUE, "1.0" },  /* strength of the displacement */
    { "interpolation", ARG_CHOICE, "bilinear nearest" },
    { "fill_mode", ARG_CHOICE, "reflect constant wrap nearest" },
    { "fill_value", ARG_NUMBER, "0" },
    { "value_range", ARG_VALUE, "[0, 255]" },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

#define SIGMA_SHARE 0.05 /* of the shorter side, at scale 1: standard deviation of the smoothing */
#define ALPHA_SHARE 0.1  /* of the longer side, at scale 1: the displacement */
#define SCALE_MIN   1e-6 /* one draw in 2^23 is 0, which would lead to 0 / 0 */

static struct endpoint binary(struct builder *b, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(b, op, NULL, x, y);
}

/* ---- the noise ---- */

/* A Gaussian of this sigma, cut off at three times floor(sigma), in a window of `radius`:
 * [size]. */
static struct endpoint cut_bell(struct layer_context *context, int64_t radius,
                                struct endpoint sigma)
{
    struct builder *b = &context->builder;
    struct endpoint places = augment_places(context, shape_of(2 * radius + 1), (double)-radius);
    struct endpoint limit = build_by_number(b, "Mul", build_unary(b, "Floor", NULL, sigma), 3);
    struct endpoint inside = binary(b, "LessEqual", build_unary(b, "Abs", NULL, places), limit);

    return augment_bell(context, places, sigma, inside);
}

/* Smooths [batch, height, width, 1] along one side. */
static struct endpoint smooth(struct builder *b, struct endpoint x, struct endpoint window,
                              bool down)
{
    static const int64_t ones[] = { 1, 1, 1, 1 };
    int32_t size = (int32_t)endpoint_shape(window)->dims[0];
    const int32_t dims[] = { down ? size : 1, down ? 1 : size, 1, 1 };
    const struct endpoint inputs[] = { x, binary(b, "Reshape", window,
                                                 build_const_ints(b, NULL, 4, dims)) };
    const struct attr attrs[] = { attr_ints(b, "strides", 4, ones), attr_text("padding", "SAME"),
                                  ATTR_END };

    return build(b, "Conv2D", NULL, 2, inputs, attrs);
}

/* Draws the displacement of each pixel, used both to the right and down: [batch, height, width,
 * 1]. `most`: the largest scale. */
static struct endpoint draw_distance(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x, struct endpoint scale, double most)
{
    static const int32_t begin[4] = { 0 }, size[] = { -1, -1, -1, 1 };
    struct builder *b = &context->builder;
    const int64_t *dims = endpoint_shape(x)->dims;
    double shorter = (double)(dims[1] < dims[2] ? dims[1] : dims[2]);
    double longer = (double)(dims[1] > dims[2] ? dims[1] : dims[2]);
    int64_t radius = 3 * (int64_t)(most * SIGMA_SHARE * shorter);
    struct endpoint sigma =
        build_by_number(b, "Mul", build_by_number(b, "Mul", scale, SIGMA_SHARE), shorter);
    struct endpoint alpha =
        build_by_number(b, "Mul", build_by_number(b, "Mul", scale, ALPHA_SHARE), longer);
    struct endpoint shape = build_unary(b, "Shape", NULL, build_slice(b, NULL, x, 4, begin, size));
    struct endpoint noise = binary(b, "StatelessRandomNormal", shape, augment_seed(context, layer));

    noise = binary(b, "Mul", noise, sigma);
    if (radius > 0) {
        struct endpoint window = cut_bell(context, radius, sigma);
        noise = smooth(b, smooth(b, noise, window, true), window, false);
    }
    return binary(b, "Mul", noise, alpha);
}

/* ---- reading at other places ---- */

/* A neighbouring pixel: its int32 index along a side, and its weight. */
struct neighbour {
    struct endpoint index, weight;
    struct endpoint inside; /* bool; a null node: all are inside */
};

/* Maps indices outside of the side, which has `size` pixels, back into it. */
static void fill(struct layer_context *context, const char *mode, int64_t size,
                 struct neighbour *out)
{
    struct builder *b = &context->builder;
    struct endpoint i = out->index, zero = build_const_int(b, 0);
    struct endpoint end = build_const_int(b, (int32_t)size),
                    twice = build_const_int(b, (int32_t)(2 * size)),
                    last = build_const_int(b, (int32_t)size - 1);
    const struct endpoint clipped[] = { i, zero, last };

    if (strcmp(mode, "wrap") == 0) {
        out->index = binary(b, "FloorMod", i, end);
        return;
    }
    if (strcmp(mode, "reflect") == 0) {
        i = binary(b, "FloorMod", build_unary(b, "Abs", NULL, i), twice);
        struct endpoint back = binary(b, "Sub", binary(b, "Sub", twice, i), build_const_int(b, 1));
        out->index = build_select(b, binary(b, "Less", i, end), i, back);
        return;
    }
    if (strcmp(mode, "constant") == 0)
        out->inside =
            binary(b, "LogicalAnd", binary(b, "GreaterEqual", i, zero), binary(b, "Less", i, end));
    out->index = build(b, "ClipByValue", NULL, 3, clipped, NULL);
}

/* Finds the neighbours of positions along a side; returns their number. */
static int find_neighbours(struct layer_context *context, const struct layer *layer,
                           struct endpoint places, int64_t size, struct neighbour out[2])
{
    struct builder *b = &context->builder;
    bool nearest = strcmp(layer_arg(layer, "interpolation")->text, "nearest") == 0;
    const char *mode = layer_arg(layer, "fill_mode")->text;
    struct endpoint lower = build_unary(b, nearest ? "Round" : "Floor", NULL, places);
    struct endpoint one = build_const_float(b, 1), rest = binary(b, "Sub", places, lower);
    struct endpoint index = build_cast(b, NULL, lower, DT_INT32);
    int count = nearest ? 1 : 2;

    out[0] =
        (struct neighbour){ .index = index, .weight = nearest ? one : binary(b, "Sub", one, rest) };
    out[1] = (struct neighbour){ .index = binary(b, "AddV2", index, build_const_int(b, 1)),
                                 .weight = rest };
    for (int i = 0; i < count; i++)
        fill(context, mode, size, &out[i]);
    return count;
}

/* The index of each pixel's image: int32 [batch, height, width, 1]. */
static struct endpoint image_numbers(struct builder *b, struct endpoint pixels)
{
    static const int32_t first[] = { 0 }, one[] = { 1 }, dims[] = { -1, 1, 1, 1 };
    const struct endpoint zero = build_const_int(b, 0);
    struct endpoint rows =
        build_slice(b, NULL, build_unary(b, "Shape", NULL, pixels), 1, first, one);
    struct endpoint numbers = binary(b, "Reshape", build_range(b, binary(b, "Sum", rows, zero)),
                                     build_const_ints(b, NULL, 4, dims));

    return binary(b, "AddV2", numbers, build_unary(b, "ZerosLike", NULL, pixels));
}

/* Reads the pixels at these indices, multiplied by their weights. */
static struct endpoint read_pixels(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, const struct neighbour *row,
                                   const struct neighbour *column)
{
    struct builder *b = &context->builder;
    const struct endpoint parts[] = { image_numbers(b, row->index), row->index, column->index,
                                      build_const_int(b, 3) };
    struct endpoint pixels = binary(b, "GatherNd", x, build(b, "ConcatV2", NULL, 4, parts, NULL));

    if (row->inside.node != NULL)
        pixels = build_select(b, binary(b, "LogicalAnd", row->inside, column->inside), pixels,
                              build_const_float(b, (float)layer_arg(layer, "fill_value")->number));
    return binary(b, "Mul", binary(b, "Mul", row->weight, column->weight), pixels);
}

static struct endpoint move_pixels(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, struct endpoint distance)
{
    struct builder *b = &context->builder;
    int64_t height = endpoint_shape(x)->dims[1], width = endpoint_shape(x)->dims[2];
    struct endpoint down = augment_places(context, shape_of(1, height, 1, 1), 0),
                    right = augment_places(context, shape_of(1, 1, width, 1), 0), sum = { 0 };
    struct neighbour rows[2], columns[2];

    find_neighbours(context, layer, binary(b, "AddV2", down, distance), height, rows);
    int count =
        find_neighbours(context, layer, binary(b, "AddV2", right, distance), width, columns);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            struct endpoint part = read_pixels(context, layer, x, &rows[i], &columns[k]);
            sum = sum.node == NULL ? part : binary(b, "AddV2", sum, part);
        }
    return sum;
}

/* Keras displaces by the same noise in both directions. */
static struct endpoint random_elastic_transform_build(struct layer_context *context,
                                                      const struct layer *layer, struct endpoint x)
{
    static const double unit[] = { 0, 1 };
    struct builder *b = &context->builder;
    double share[2], scales[2], values[2];

    if (!augment_range(context, layer, "factor", 0, share) ||
        !augment_range(context, layer, "scale", 0, scales) ||
        !augment_value_range(context, layer, values))
        return x;
    if (scales[0] < 0 || scales[1] > 1) {
        layer_fail(context, layer, "argument 'scale': expected numbers from 0 to 1");
        return x;
    }
    if (!layer_check_rank(context, layer, x, 4) || !augment_changes(context, layer, x) ||
        !augment_sides_fit(context, layer, x) || scales[1] == 0 || share[1] == 0)
        return x;
    struct endpoint probability = augment_draw(context, layer, x, share);
    struct endpoint moves = binary(b, "Less", augment_draw(context, layer, x, unit), probability);
    struct endpoint scale = binary(b, "StatelessRandomUniform", build_const_ints(b, NULL, 0, NULL),
                                   augment_seed(context, layer));
    scale = build_by_number(b, "Mul", scale, scales[1] - scales[0]);
    scale = build_by_number(b, "AddV2", scale, scales[0]);
    scale = build_by_number(b, "Maximum", scale, SCALE_MIN);
    struct endpoint distance = draw_distance(context, layer, x, scale, scales[1]);
    struct endpoint moved = move_pixels(context, layer, x, distance);
    return augment_clip(b, build_select(b, moves, moved, x), values);
}
FLOAT_LAYER_CLASS(random_elastic_transform, "RandomElasticTransform", random_elastic_transform_args,
                  random_elastic_transform_build);
