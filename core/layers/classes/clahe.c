/* clahe: ContrastLimitedAdaptiveHistogramEqualization, which equalizes the histogram of each
 * channel in each tile of an image, in training and in exports. The formulas are Keras'. */
#include <math.h>

#include "layers/classes/augment.h"

#define LEVELS    256
#define LEVEL_MAX 255.0

static const struct layer_arg clahe_args[] = {
    { "value_range", ARG_VALUE, "[0, 255]" },
    { "clip_limit", ARG_NUMBER, "4" },
    { "tile_grid_size", ARG_PAIR, "8" },
    DATA_FORMAT,
};

/* An image has grid[0] rows of grid[1] tiles. Mirrored pixels fill up the last ones. */
struct tiling {
    int64_t image[2], grid[2], tile[2]; /* height and width */
    int64_t channels;
};

static int64_t padded(const struct tiling *t, int side)
{
    return t->grid[side] * t->tile[side];
}

static int64_t tile_pixels(const struct tiling *t)
{
    return t->tile[0] * t->tile[1];
}

static bool read_tiling(struct layer_context *context, const struct layer *layer, struct endpoint x,
                        struct tiling *t)
{
    const struct shape *shape = endpoint_shape(x);
    const int64_t *grid = layer_arg(layer, "tile_grid_size")->sides + 1;

    t->channels = shape->dims[3];
    for (int i = 0; i < 2; i++) {
        t->image[i] = shape->dims[1 + i];
        t->grid[i] = grid[i];
        t->tile[i] = (t->image[i] + grid[i] - 1) / grid[i];
        /* Mirroring can at most double the image. */
        if (padded(t, i) > 2 * t->image[i]) {
            layer_fail(context, layer,
                       "argument 'tile_grid_size': %lld tiles need %lld pixels, and the input's "
                       "shape %s has %lld",
                       (long long)grid[i], (long long)(padded(t, i) - t->image[i]),
                       shape_text(shape), (long long)t->image[i]);
            return false;
        }
    }
    const int64_t sizes[] = { t->grid[0] + 2, t->grid[1] + 2, LEVELS, t->channels };
    const int64_t pixels[] = { padded(t, 0), padded(t, 1), t->channels };
    return layer_check_size(context, layer, "the histograms", 4, sizes) &&
           layer_check_size(context, layer, "the tiles", 3, pixels);
}

/* Pads with mirrored pixels at the bottom and right: [batch, height, width, channels]. */
static struct endpoint fill_tiles(struct builder *b, struct endpoint x, const struct tiling *t)
{
    const int32_t after[2] = { (int32_t)(padded(t, 0) - t->image[0]),
                               (int32_t)(padded(t, 1) - t->image[1]) };
    const int32_t paddings[] = { 0, 0, 0, after[0], 0, after[1], 0, 0 };
    const struct shape shape = shape_of(4, 2);
    const struct tensor value = tensor_borrow(DT_INT32, &shape, paddings);
    const struct endpoint inputs[] = { x, build_const(b, NULL, &value) };

    if (after[0] == 0 && after[1] == 0)
        return x;
    return build(b, "MirrorPad", NULL, 2, inputs,
                 (const struct attr[]){ attr_text("mode", "SYMMETRIC"), ATTR_END });
}

/* The gray level, 0 to 255, of each value: int32. */
static struct endpoint levels_of(struct builder *b, struct endpoint x)
{
    const struct endpoint inputs[] = { build_cast(b, NULL, x, DT_INT32), build_const_int(b, 0),
                                       build_const_int(b, LEVELS - 1) };

    return build(b, "ClipByValue", NULL, 3, inputs, NULL);
}

/* The histogram of each tile and channel: float [batch · grid rows · grid columns · channels,
 * LEVELS]. */
static struct endpoint count_levels(struct builder *b, struct endpoint levels,
                                    const struct tiling *t)
{
    static const int32_t by_tile[] = { 0, 1, 3, 5, 2, 4 };
    const int64_t apart[] = { t->grid[0], t->tile[0], t->grid[1], t->tile[1], t->channels },
                  rows[] = { tile_pixels(t) };
    const struct shape none = shape_of(0);
    const struct tensor no_weights = tensor_borrow(DT_FLOAT, &none, NULL);
    struct endpoint tiles =
        build_binary(b, "Transpose", NULL, build_reshape_rows(b, levels, 5, apart),
                     build_const_ints(b, NULL, 6, by_tile));
    const struct endpoint inputs[] = { build_reshape_rows(b, tiles, 1, rows),
                                       build_const_int(b, LEVELS),
                                       build_const(b, NULL, &no_weights) };

    return build(b, "DenseBincount", NULL, 3, inputs, NULL);
}

/* Clips each count at `limit` pixels, and spreads the excess evenly over all levels. */
static struct endpoint limit_counts(struct builder *b, struct endpoint counts, double limit)
{
    const double range[] = { 0, limit };
    struct endpoint kept = augment_clip(b, counts, range);
    struct endpoint excess = augment_of_rows(b, "Sum", build_binary(b, "Sub", NULL, counts, kept));

    return build_binary(b, "AddV2", NULL, kept, build_by_number(b, "RealDiv", excess, LEVELS));
}

/* The lookup table of each tile: a level maps to the share of pixels up to it, scaled to 0 …
 * 255. */
static struct endpoint spread_levels(struct builder *b, struct endpoint counts,
                                     const struct tiling *t)
{
    static const double bytes[] = { 0, LEVEL_MAX };
    struct endpoint sums = build_binary(b, "Cumsum", NULL, counts, build_const_int(b, 1));
    struct endpoint first = augment_of_rows(b, "Min", sums);
    struct endpoint all =
        build_binary(b, "Sub", NULL, build_const_float(b, (float)tile_pixels(t)), first);
    struct endpoint none = build_by_number(b, "Equal", all, 0);
    struct endpoint ones = build_unary(b, "OnesLike", NULL, all);
    struct endpoint above =
        build_by_number(b, "Mul", build_binary(b, "Sub", NULL, sums, first), LEVEL_MAX);

    return augment_clip(
        b, build_binary(b, "RealDiv", NULL, above, build_select(b, none, ones, all)), bytes);
}

/* Repeats the tiles at the edges, so that every pixel has four tiles around it: [batch, (grid
 * rows + 2) · (grid columns + 2) · channels · LEVELS]. */
static struct endpoint repeat_edges(struct builder *b, struct endpoint table,
                                    const struct tiling *t)
{
    static const int32_t paddings[] = { 0, 0, 1, 1, 1, 1, 0, 0 };
    const int64_t apart[] = { t->grid[0], t->grid[1], t->channels * LEVELS },
                  rows[] = { (t->grid[0] + 2) * (t->grid[1] + 2) * t->channels * LEVELS };
    const struct shape shape = shape_of(4, 2);
    const struct tensor value = tensor_borrow(DT_INT32, &shape, paddings);
    const struct endpoint inputs[] = { build_reshape_rows(b, table, 3, apart),
                                       build_const(b, NULL, &value) };
    const struct attr attrs[] = { attr_text("mode", "SYMMETRIC"), ATTR_END };

    return build_reshape_rows(b, build(b, "MirrorPad", NULL, 2, inputs, attrs), 1, rows);
}

/* Finds the position of the pixels of a row or column between tile centers: the tile before
 * each, counting the repeated one, and the weight of the tile after it. */
static void place_pixels(int64_t pixels, int64_t tile, int32_t *before, float *weight)
{
    for (int64_t i = 0; i < pixels; i++) {
        float at = ((float)i - (float)tile / 2.0f) / (float)tile + 1.0f;
        before[i] = (int32_t)floorf(at);
        weight[i] = at - floorf(at);
    }
}

/* A constant [1, height, 1, 1] or [1, 1, width, 1]. */
static struct endpoint const_along(struct builder *b, int side, int64_t count, const float *values)
{
    const struct shape shape = side == 0 ? shape_of(1, count, 1, 1) : shape_of(1, 1, count, 1);
    const struct tensor value = tensor_borrow(DT_FLOAT, &shape, values);

    return build_const(b, NULL, &value);
}

/* Interpolates from a to b by the weight, with Keras' rounding. */
static struct endpoint between(struct builder *b, struct endpoint from, struct endpoint to,
                               struct endpoint weight)
{
    struct endpoint rest = build_binary(b, "Sub", NULL, build_const_float(b, 1), weight);

    return build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, from, rest),
                        build_binary(b, "Mul", NULL, to, weight));
}

/* Applies the tables of one of the four tiles around each pixel, `down` below and `right` beside
 * the first one: [batch, height, width, channels]. */
static struct endpoint look_up(struct builder *b, struct arena *arena, struct endpoint table,
                               struct endpoint levels, const struct tiling *t,
                               int32_t *const before[2], int down, int right)
{
    int64_t height = padded(t, 0), width = padded(t, 1), i = 0;
    const int64_t row = height * width * t->channels, images[] = { height, width, t->channels };
    const struct shape shape = shape_of(1, row);
    int32_t *starts = arena_alloc(arena, (size_t)row * sizeof *starts);

    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++)
            for (int64_t c = 0; c < t->channels; c++) {
                int64_t tile = (before[0][y] + down) * (t->grid[1] + 2) + before[1][x] + right;
                starts[i++] = (int32_t)((tile * t->channels + c) * LEVELS);
            }
    const struct tensor value = tensor_borrow(DT_INT32, &shape, starts);
    const struct endpoint inputs[] = { table,
                                       build_binary(b, "AddV2", NULL,
                                                    build_reshape_rows(b, levels, 1, &row),
                                                    build_const(b, NULL, &value)),
                                       build_const_int(b, 1) };
    const struct attr attrs[] = { attr_int("batch_dims", 1), ATTR_END };
    return build_reshape_rows(b, build(b, "GatherV2", NULL, 3, inputs, attrs), 3, images);
}

/* Interpolates each pixel between the results of the four tiles around it. */
static struct endpoint blend_tiles(struct layer_context *context, struct endpoint table,
                                   struct endpoint levels, const struct tiling *t)
{
    struct builder *b = &context->builder;
    int32_t *before[2];
    struct endpoint weight[2], rows[2];

    for (int side = 0; side < 2; side++) {
        size_t count = (size_t)padded(t, side);
        float *weights = arena_alloc(context->arena, count * sizeof *weights);
        before[side] = arena_alloc(context->arena, count * sizeof *before[side]);
        place_pixels(padded(t, side), t->tile[side], before[side], weights);
        weight[side] = const_along(b, side, padded(t, side), weights);
    }
    for (int down = 0; down < 2; down++)
        rows[down] =
            between(b, look_up(b, context->arena, table, levels, t, before, down, 0),
                    look_up(b, context->arena, table, levels, t, before, down, 1), weight[1]);
    return between(b, rows[0], rows[1], weight[0]);
}

static struct endpoint cut_image(struct builder *b, struct endpoint x, const struct tiling *t)
{
    const int32_t begin[4] = { 0 }, size[] = { -1, (int32_t)t->image[0], (int32_t)t->image[1], -1 };
    return build_slice(b, NULL, x, 4, begin, size);
}

static struct endpoint clahe_build(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    static const double bytes[] = { 0, LEVEL_MAX };
    struct builder *b = &context->builder;
    double clip = layer_arg(layer, "clip_limit")->number, values[2];
    struct tiling t;

    if (!augment_value_range(context, layer, values) || !augment_has_pixels(context, layer, x) ||
        !layer_check_known(context, layer, x, 1) || !read_tiling(context, layer, x, &t))
        return x;
    struct endpoint levels =
        levels_of(b, fill_tiles(b, augment_move_range(b, x, values, bytes), &t));
    struct endpoint counts = count_levels(b, levels, &t);
    if (clip > 0)
        counts = limit_counts(b, counts, clip * (double)tile_pixels(&t) / LEVELS);
    struct endpoint table = repeat_edges(b, spread_levels(b, counts, &t), &t);
    return augment_move_range(b, cut_image(b, blend_tiles(context, table, levels, &t), &t), bytes,
                              values);
}
FLOAT_LAYER_CLASS(clahe, "ContrastLimitedAdaptiveHistogramEqualization", clahe_args, clahe_build);
