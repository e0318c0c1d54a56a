/* equalization: Equalization, which equalizes the histogram of each channel of the images in a
 * training batch. Source: keras/src/layers/preprocessing/image_preprocessing/equalization.py. */
#include <math.h>

#include "layers/classes/augment.h"

#define BYTE_MAX 255.0
#define BINS_MAX (1 << 20)

static const struct layer_arg equalization_args[] = {
    { "value_range", ARG_VALUE, "[0, 255]" },
    { "bins", ARG_INT, "256" },
    DATA_FORMAT,
};

/* Truncates numbers to integers from 0 to bins - 1. */
static struct endpoint bin_of(struct builder *b, struct endpoint x, int32_t bins)
{
    const struct endpoint inputs[] = { build_cast(b, NULL, x, DT_INT32), build_const_int(b, 0),
                                       build_const_int(b, bins - 1) };

    return build(b, "ClipByValue", NULL, 3, inputs, NULL);
}

/* The number of values in each bin: double [channels, bins]. */
static struct endpoint histogram(struct builder *b, struct endpoint x, int32_t bins)
{
    const struct shape none = shape_of(0);
    const struct tensor no_weights = tensor_borrow(DT_DOUBLE, &none, NULL);
    struct endpoint at = build_by_number(b, "Mul", x, bins - 1);
    const struct endpoint inputs[] = { bin_of(b, build_by_number(b, "RealDiv", at, BYTE_MAX), bins),
                                       build_const_int(b, bins),
                                       build_const(b, NULL, &no_weights) };

    return build(b, "DenseBincount", NULL, 3, inputs, NULL);
}

/* The new value of each bin: the cumulative share of the values up to it, not counting the first
 * non-empty bin, scaled to 0 … 255. */
static struct endpoint shares(struct builder *b, struct endpoint counts)
{
    const struct endpoint summed[] = { counts, build_const_int(b, 1) };
    struct endpoint zero = build_const_double(b, 0), one = build_const_double(b, 1),
                    most = build_const_double(b, BYTE_MAX);
    struct endpoint sums = build(b, "Cumsum", NULL, 2, summed, NULL);
    struct endpoint empty = build_binary(b, "LessEqual", NULL, sums, zero);
    struct endpoint first =
        augment_of_rows(b, "Min", build_select(b, empty, build_const_double(b, INFINITY), sums));
    struct endpoint all = build_binary(b, "Sub", NULL, augment_of_rows(b, "Max", sums), first);
    struct endpoint below = build_select(b, build_binary(b, "Equal", NULL, all, zero), one, all);
    struct endpoint above =
        build_binary(b, "Mul", NULL, build_binary(b, "Sub", NULL, sums, first), most);
    const struct endpoint limits[] = {
        build_unary(b, "Rint", NULL, build_binary(b, "RealDiv", NULL, above, below)), zero, most
    };

    return build(b, "ClipByValue", NULL, 3, limits, NULL);
}

/* Equalizes x [channels, values], from 0 to 255. A channel of one constant value is unchanged. */
static struct endpoint equalize(struct builder *b, struct endpoint x, int32_t bins)
{
    struct endpoint counts = histogram(b, x, bins);
    struct endpoint used = build_binary(b, "Greater", NULL, counts, build_const_double(b, 0));
    struct endpoint several = build_binary(
        b, "Greater", NULL, augment_of_rows(b, "Sum", build_cast(b, NULL, used, DT_INT32)),
        build_const_int(b, 1));
    struct endpoint at =
        build_by_number(b, "Mul", build_by_number(b, "RealDiv", x, BYTE_MAX), bins - 1);
    const struct endpoint inputs[] = { build_cast(b, NULL, shares(b, counts), DT_FLOAT),
                                       bin_of(b, at, bins), build_const_int(b, 1) };
    const struct attr attrs[] = { attr_int("batch_dims", 1), ATTR_END };

    return build_select(b, several, build(b, "GatherV2", NULL, 3, inputs, attrs), x);
}

/* x · scale + offset, which maps one range to the other. */
static struct endpoint rescale(struct builder *b, struct endpoint x, const double from[2],
                               const double to[2])
{
    double scale = (to[1] - to[0]) / (from[1] - from[0]), offset = to[0] - from[0] * scale;

    return build_by_number(b, "AddV2", build_by_number(b, "Mul", x, scale), offset);
}

static struct endpoint equalization_build(struct layer_context *context, const struct layer *layer,
                                          struct endpoint x)
{
    static const int32_t to_rows[] = { 3, 0, 1, 2 }, to_images[] = { 1, 2, 3, 0 };
    static const double bytes[] = { 0, BYTE_MAX };
    struct builder *b = &context->builder;
    int64_t bins = layer_arg(layer, "bins")->integer;
    double values[2];

    if (!augment_value_range(context, layer, values))
        return x;
    if (bins > BINS_MAX)
        layer_refuse(context, layer, "argument 'bins': only up to %d are implemented", BINS_MAX);
    if (!augment_changes(context, layer, x) || endpoint_shape(x)->dims[3] < 1)
        return x;
    const struct endpoint images = x;
    const int64_t rows[] = { SIZE_OF(3), SIZE_REST },
                  apart[] = { SIZE_OF(3), SIZE_OF(0), SIZE_OF(1), SIZE_OF(2) };
    x = build_binary(b, "Transpose", NULL, rescale(b, x, values, bytes),
                     build_const_ints(b, NULL, 4, to_rows));
    x = equalize(b, build_reshape(b, x, images, 2, rows), (int32_t)bins);
    x = build_reshape(b, x, images, 4, apart);
    x = build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, 4, to_images));
    return rescale(b, x, bytes, values);
}
FLOAT_LAYER_CLASS(equalization, "Equalization", equalization_args, equalization_build);
