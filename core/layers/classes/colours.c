/* colours: layers that randomly change the colours of the images of each training batch, and
 * AutoContrast, which is not random. The formulas are Keras'. */
#include <math.h>

#include "layers/classes/augment.h"

#define BYTE_RANGE 255.0

static const double unit[] = { 0, 1 };

#define VALUE_RANGE                          \
    {                                        \
        "value_range", ARG_VALUE, "[0, 255]" \
    }
#define SEED                            \
    {                                   \
        "seed", ARG_NULL_OR_INT, "null" \
    }

static struct endpoint add(struct builder *b, struct endpoint x, struct endpoint y)
{
    return build_binary(b, "AddV2", NULL, x, y);
}

static struct endpoint subtract(struct builder *b, struct endpoint x, struct endpoint y)
{
    return build_binary(b, "Sub", NULL, x, y);
}

/* value - x */
static struct endpoint minus_from(struct builder *b, double value, struct endpoint x)
{
    return subtract(b, build_const_float(b, (float)value), x);
}

/* The arguments of a layer that changes colours, and whether it does. */
struct colour_change {
    double factor[2], values[2];
};

static bool read_colours(struct layer_context *context, const struct layer *layer,
                         struct endpoint x, double least, struct colour_change *out)
{
    return augment_range(context, layer, "factor", least, out->factor) &&
           augment_value_range(context, layer, out->values) && augment_changes(context, layer, x);
}

/* Checks that there are three channels: red, green, blue. */
static bool has_colours(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    if (!status_is_ok(context->builder.status))
        return false;
    if (endpoint_shape(x)->dims[3] == 3)
        return true;
    layer_fail(context, layer, "the input's shape %s has not 3 channels",
               shape_text(endpoint_shape(x)));
    return false;
}

static const struct layer_arg random_value_args[] = {
    { "factor", ARG_VALUE, REQUIRED },
    VALUE_RANGE,
    SEED,
    DATA_FORMAT,
};

/* ---- light ---- */

static struct endpoint change_brightness(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x, const struct colour_change *colours)
{
    struct builder *b = &context->builder;
    struct endpoint delta =
        build_by_number(b, "Mul", augment_draw(context, layer, x, colours->factor),
                        colours->values[1] - colours->values[0]);

    return augment_clip(b, add(b, x, delta), colours->values);
}

static struct endpoint random_brightness_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    struct colour_change colours;

    return read_colours(context, layer, x, -1, &colours)
               ? change_brightness(context, layer, x, &colours)
               : x;
}
FLOAT_LAYER_CLASS(random_brightness, "RandomBrightness", random_value_args,
                  random_brightness_build);

/* Reduces the pixels of each channel of each image: [batch, 1, 1, channels]. */
static struct endpoint over_pixels(struct builder *b, const char *op, struct endpoint x)
{
    static const int32_t pixels[] = { 1, 2 };
    const struct attr kept[] = { attr_bool("keep_dims", true), ATTR_END };
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, 2, pixels) };

    return build(b, op, NULL, 2, inputs, kept);
}

/* Scales the distance of each channel from its mean. */
static struct endpoint change_contrast(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x, const struct colour_change *colours)
{
    struct builder *b = &context->builder;
    const double range[] = { 1 - colours->factor[0], 1 + colours->factor[1] };
    struct endpoint mean = over_pixels(b, "Mean", x);
    struct endpoint away =
        build_binary(b, "Mul", NULL, subtract(b, x, mean), augment_draw(context, layer, x, range));

    return augment_clip(b, add(b, away, mean), colours->values);
}

static struct endpoint random_contrast_build(struct layer_context *context,
                                             const struct layer *layer, struct endpoint x)
{
    struct colour_change colours;

    return read_colours(context, layer, x, 0, &colours)
               ? change_contrast(context, layer, x, &colours)
               : x;
}
FLOAT_LAYER_CLASS(random_contrast, "RandomContrast", random_value_args, random_contrast_build);

static const struct layer_arg auto_contrast_args[] = {
    VALUE_RANGE,
    DATA_FORMAT,
};

/* Stretches each channel to the full range, unless all its pixels are equal. */
static struct endpoint auto_contrast_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    static const double bytes[] = { 0, BYTE_RANGE };
    struct builder *b = &context->builder;
    double values[2];

    if (!augment_range(context, layer, "value_range", -INFINITY, values) ||
        !augment_has_pixels(context, layer, x))
        return x;
    struct endpoint moved = augment_move_range(b, x, values, bytes);
    struct endpoint low = over_pixels(b, "Min", moved), high = over_pixels(b, "Max", moved);
    struct endpoint scale =
        build_binary(b, "RealDiv", NULL, build_const_float(b, BYTE_RANGE), subtract(b, high, low));
    struct endpoint offset = build_binary(b, "Mul", NULL, build_unary(b, "Neg", NULL, low), scale);
    moved = add(b, build_binary(b, "Mul", NULL, moved, scale), offset);
    moved = augment_move_range(b, augment_clip(b, moved, bytes), bytes, values);
    return build_select(b, build_unary(b, "IsNan", NULL, moved), x, moved);
}
FLOAT_LAYER_CLASS(auto_contrast, "AutoContrast", auto_contrast_args, auto_contrast_build);

/* ---- hue, saturation, value ---- */

/* One channel: [batch, height, width, 1]. */
static struct endpoint channel(struct builder *b, struct endpoint x, int32_t index)
{
    const int32_t begin[] = { 0, 0, 0, index }, size[] = { -1, -1, -1, 1 };
    return build_slice(b, NULL, x, 4, begin, size);
}

/* Replaces channel `index` of an image. */
static struct endpoint replace_channel(struct builder *b, struct endpoint x, int index,
                                       struct endpoint by)
{
    struct endpoint parts[4] = { [3] = build_const_int(b, 3) };

    for (int32_t i = 0; i < 3; i++)
        parts[i] = i == index ? by : channel(b, x, i);
    return build(b, "ConcatV2", NULL, 4, parts, NULL);
}

/* -1 for half of the images, and 1 for the others: [batch, 1, 1, 1]. */
static struct endpoint draw_sign(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint side = build_by_number(b, "Sub", augment_draw(context, layer, x, unit), 0.5);

    return build_by_number(b, "Mul", build_unary(b, "Sign", NULL, side), -1);
}

/* Rotates the hue by up to half a turn. */
static struct endpoint change_hue(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x, const struct colour_change *colours)
{
    struct builder *b = &context->builder;
    struct endpoint turn =
        build_by_number(b, "Mul", augment_draw(context, layer, x, colours->factor), 0.5);

    turn = build_binary(b, "Mul", NULL, turn, draw_sign(context, layer, x));
    x = build_unary(b, "RGBToHSV", NULL, augment_move_range(b, x, colours->values, unit));
    struct endpoint hue = add(b, channel(b, x, 0), turn);
    hue = build_select(b, build_by_number(b, "Greater", hue, 1), build_by_number(b, "Sub", hue, 1),
                       hue);
    hue = build_select(b, build_by_number(b, "Less", hue, 0), build_by_number(b, "AddV2", hue, 1),
                       hue);
    x = build_unary(b, "HSVToRGB", NULL, replace_channel(b, x, 0, hue));
    return augment_move_range(b, augment_clip(b, x, unit), unit, colours->values);
}

static struct endpoint random_hue_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    struct colour_change colours;

    return read_colours(context, layer, x, 0, &colours) && has_colours(context, layer, x)
               ? change_hue(context, layer, x, &colours)
               : x;
}
FLOAT_LAYER_CLASS(random_hue, "RandomHue", random_value_args, random_hue_build);

/* Multiplies saturations by f / (1 - f). */
static struct endpoint change_saturation(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x, const struct colour_change *colours)
{
    struct builder *b = &context->builder;
    struct endpoint f = augment_draw(context, layer, x, colours->factor);
    struct endpoint rest = build_by_number(b, "AddV2", minus_from(b, 1, f), 1e-7);

    f = build_binary(b, "RealDiv", NULL, f, rest);
    x = build_unary(b, "RGBToHSV", NULL, x);
    struct endpoint saturation = build_binary(b, "Mul", NULL, channel(b, x, 1), f);
    saturation = augment_clip(b, saturation, colours->values);
    return build_unary(b, "HSVToRGB", NULL, replace_channel(b, x, 1, saturation));
}

static struct endpoint random_saturation_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    struct colour_change colours;

    return read_colours(context, layer, x, -1, &colours) && has_colours(context, layer, x)
               ? change_saturation(context, layer, x, &colours)
               : x;
}
FLOAT_LAYER_CLASS(random_saturation, "RandomSaturation", random_value_args,
                  random_saturation_build);

/* ---- all of the above ---- */

static const struct layer_arg random_color_jitter_args[] = {
    VALUE_RANGE,
    { "brightness_factor", ARG_NULL_OR_VALUE, "null" },
    { "contrast_factor", ARG_NULL_OR_VALUE, "null" },
    { "saturation_factor", ARG_NULL_OR_VALUE, "null" },
    { "hue_factor", ARG_NULL_OR_VALUE, "null" },
    SEED,
    DATA_FORMAT,
};

static const struct {
    const char *argument;
    double least;
    bool of_colours;
    struct endpoint (*change)(struct layer_context *context, const struct layer *layer,
                              struct endpoint x, const struct colour_change *colours);
} jitters[] = {
    { "brightness_factor", -1, false, change_brightness },
    { "contrast_factor", 0, false, change_contrast },
    { "saturation_factor", -1, true, change_saturation },
    { "hue_factor", 0, true, change_hue },
};

static struct endpoint random_color_jitter_build(struct layer_context *context,
                                                 const struct layer *layer, struct endpoint x)
{
    struct endpoint given = x;
    struct colour_change colours;

    for (size_t i = 0; i < COUNT(jitters); i++) {
        if (json_value_is_null(layer_arg(layer, jitters[i].argument)->value))
            continue;
        if (!augment_range(context, layer, jitters[i].argument, jitters[i].least, colours.factor) ||
            !augment_range(context, layer, "value_range", -INFINITY, colours.values) ||
            !augment_changes(context, layer, given) ||
            (jitters[i].of_colours && !has_colours(context, layer, given)))
            return given;
        x = jitters[i].change(context, layer, x, &colours);
    }
    return x;
}
FLOAT_LAYER_CLASS(random_color_jitter, "RandomColorJitter", random_color_jitter_args,
                  random_color_jitter_build);

/* ---- grey ---- */

static const struct layer_arg random_grayscale_args[] = {
    { "factor", ARG_NUMBER, "0.5" },
    SEED,
    DATA_FORMAT,
};

/* The luminance: [batch, height, width, 1]. */
static struct endpoint grey_of(struct builder *b, struct endpoint x)
{
    static const double weights[] = { 0.2989, 0.587, 0.114 };
    struct endpoint sum = build_by_number(b, "Mul", channel(b, x, 0), weights[0]);

    for (int32_t i = 1; i < 3; i++)
        sum = add(b, sum, build_by_number(b, "Mul", channel(b, x, i), weights[i]));
    return sum;
}

/* bool [batch, 1, 1, 1]: true for an image with this probability. */
static struct endpoint draw_chance(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x, double probability)
{
    return build_by_number(&context->builder, "Less", augment_draw(context, layer, x, unit),
                           probability);
}

static struct endpoint random_grayscale_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    double factor = layer_arg(layer, "factor")->number;

    if (!(factor >= 0 && factor <= 1)) {
        layer_fail(context, layer, "argument 'factor': got %g, expected 0 <= factor <= 1", factor);
        return x;
    }
    if (!augment_changes(context, layer, x) || !has_colours(context, layer, x))
        return x;
    return build_select(b, draw_chance(context, layer, x, factor), grey_of(b, x), x);
}
FLOAT_LAYER_CLASS(random_grayscale, "RandomGrayscale", random_grayscale_args,
                  random_grayscale_build);

/* Blends colours with grey. */
static struct endpoint random_color_degeneration_build(struct layer_context *context,
                                                       const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct colour_change colours;

    if (!read_colours(context, layer, x, -1, &colours) || !has_colours(context, layer, x))
        return x;
    struct endpoint towards = build_binary(b, "Mul", NULL, subtract(b, grey_of(b, x), x),
                                           augment_draw(context, layer, x, colours.factor));
    return augment_clip(b, add(b, x, towards), colours.values);
}
FLOAT_LAYER_CLASS(random_color_degeneration, "RandomColorDegeneration", random_value_args,
                  random_color_degeneration_build);

/* ---- values ---- */

static const struct layer_arg random_invert_args[] = {
    { "factor", ARG_VALUE, "1" },
    VALUE_RANGE,
    SEED,
    DATA_FORMAT,
};

static struct endpoint random_invert_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    struct builder *b = &context->builder;
    struct colour_change colours;

    if (!read_colours(context, layer, x, 0, &colours))
        return x;
    struct endpoint probability = augment_draw(context, layer, x, colours.factor);
    struct endpoint chance =
        build_binary(b, "Less", NULL, augment_draw(context, layer, x, unit), probability);
    return build_select(b, chance, minus_from(b, colours.values[1], x), x);
}
FLOAT_LAYER_CLASS(random_invert, "RandomInvert", random_invert_args, random_invert_build);

/* Keeps a random number of the 8 bits of a value: 1 … 8. The upper end of the range is drawn
 * only if it is the only number. */
static struct endpoint random_posterization_build(struct layer_context *context,
                                                  const struct layer *layer, struct endpoint x)
{
    static const double bytes[] = { 0, BYTE_RANGE };
    struct builder *b = &context->builder;
    struct colour_change colours;

    if (!read_colours(context, layer, x, 1, &colours))
        return x;
    if (!(colours.factor[0] >= 1 && colours.factor[1] <= 8)) {
        layer_fail(context, layer, "argument 'factor': expected numbers of bits, 1 to 8");
        return x;
    }
    struct endpoint bits =
        build_unary(b, "Floor", NULL, augment_draw(context, layer, x, colours.factor));
    struct endpoint two = build_const_float(b, 2);
    struct endpoint step = build_binary(b, "Pow", NULL, two, minus_from(b, 8, bits));
    struct endpoint whole =
        build_unary(b, "Floor", NULL, augment_move_range(b, x, colours.values, bytes));
    whole = build_unary(b, "Floor", NULL, build_binary(b, "RealDiv", NULL, whole, step));
    return augment_move_range(b, build_binary(b, "Mul", NULL, whole, step), bytes, colours.values);
}
FLOAT_LAYER_CLASS(random_posterization, "RandomPosterization", random_value_args,
                  random_posterization_build);

static const struct layer_arg solarization_args[] = {
    { "addition_factor", ARG_VALUE, "0" },
    { "threshold_factor", ARG_VALUE, "0" },
    VALUE_RANGE,
    SEED,
    DATA_FORMAT,
};

/* Adds to the values, and inverts those above a threshold. As in Keras, only the upper ends of
 * both ranges are fractions of 255. */
static struct endpoint solarization_build(struct layer_context *context, const struct layer *layer,
                                          struct endpoint x)
{
    static const double bytes[] = { 0, BYTE_RANGE };
    struct builder *b = &context->builder;
    double additions[2], thresholds[2], values[2];

    if (!augment_range(context, layer, "addition_factor", 0, additions) ||
        !augment_range(context, layer, "threshold_factor", 0, thresholds) ||
        !augment_range(context, layer, "value_range", -INFINITY, values) ||
        !augment_changes(context, layer, x))
        return x;
    additions[1] *= BYTE_RANGE;
    thresholds[1] *= BYTE_RANGE;
    struct endpoint moved = augment_move_range(b, x, values, bytes);
    moved = augment_clip(b, add(b, moved, augment_draw(context, layer, x, additions)), bytes);
    struct endpoint below =
        build_binary(b, "Less", NULL, moved, augment_draw(context, layer, x, thresholds));
    moved = build_select(b, below, moved, minus_from(b, BYTE_RANGE, moved));
    return augment_move_range(b, moved, bytes, values);
}
FLOAT_LAYER_CLASS(solarization, "Solarization", solarization_args, solarization_build);
