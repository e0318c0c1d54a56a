/* patches: layers that randomly change regions of the images of each training batch. The
 * formulas are Keras'. */
#include <math.h>

#include "layers/classes/augment.h"

static const double unit[] = { 0, 1 };

#define VALUE_RANGE                          \
    {                                        \
        "value_range", ARG_VALUE, "[0, 255]" \
    }

/* ---- RandomSharpness ---- */

static const struct layer_arg random_sharpness_args[] = {
    { "factor", ARG_VALUE, REQUIRED },
    VALUE_RANGE,
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Moves an image towards a smoothed copy, or away from it. */
static struct endpoint random_sharpness_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    static const float smooth[] = { 1 / 13.f, 1 / 13.f, 1 / 13.f, 1 / 13.f, 5 / 13.f,
                                    1 / 13.f, 1 / 13.f, 1 / 13.f, 1 / 13.f };
    const struct shape square = shape_of(3, 3);
    const struct tensor filter = tensor_borrow(DT_FLOAT, &square, smooth);
    struct builder *b = &context->builder;
    double factor[2], values[2];

    if (!augment_range(context, layer, "factor", 0, factor) ||
        !augment_range(context, layer, "value_range", -INFINITY, values) ||
        !augment_changes(context, layer, x))
        return x;
    struct endpoint smoothed = build_filtered(b, x, build_const(b, NULL, &filter));
    struct endpoint twice = build_by_number(b, "Mul", augment_draw(context, layer, x, factor), 2);
    struct endpoint share = build_binary(b, "Sub", NULL, build_const_float(b, 1), twice);
    struct endpoint move =
        build_binary(b, "Mul", NULL, share, build_binary(b, "Sub", NULL, smoothed, x));
    return augment_clip(b, build_binary(b, "AddV2", NULL, x, move), values);
}
FLOAT_LAYER_CLASS(random_sharpness, "RandomSharpness", random_sharpness_args,
                  random_sharpness_build);

/* ---- RandomGaussianBlur ---- */

static const struct layer_arg random_gaussian_blur_args[] = {
    { "factor", ARG_VALUE, "1" }, /* the probability */
    { "kernel_size", ARG_PAIR, "3" },
    { "sigma", ARG_VALUE, "1" },
    VALUE_RANGE,
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Draws one number for all images of the batch, uniform in the range. */
static struct endpoint draw_one(struct layer_context *context, const struct layer *layer,
                                const double range[2])
{
    struct builder *b = &context->builder;
    struct endpoint number =
        build_binary(b, "StatelessRandomUniform", NULL, build_const_ints(b, NULL, 0, NULL),
                     augment_seed(context, layer));

    return build_by_number(b, "AddV2", build_by_number(b, "Mul", number, range[1] - range[0]),
                           range[0]);
}

/* A Gaussian centred in a window: [size]. */
static struct endpoint middle_bell(struct layer_context *context, int64_t size,
                                   struct endpoint sigma)
{
    struct endpoint places = augment_places(context, shape_of(size), (double)(1 - size) / 2);

    return augment_bell(context, places, sigma, (struct endpoint){ 0 });
}

/* The kernel [size, size]. Keras also accepts non-square sizes, but then mixes up their rows. */
static struct endpoint bell_of_two(struct layer_context *context, const struct layer *layer,
                                   int64_t size, const double sigma[2])
{
    struct builder *b = &context->builder;
    struct endpoint across = build_by_number(b, "AddV2", draw_one(context, layer, sigma), 1e-6);
    struct endpoint down = build_by_number(b, "AddV2", draw_one(context, layer, sigma), 1e-6);
    struct endpoint column = build_expand_dims(b, middle_bell(context, size, down), 1);

    return build_binary(b, "Mul", NULL, column, middle_bell(context, size, across));
}

#define BLUR_MAX 1000 /* pixels; a larger window is a mistake */

static struct endpoint random_gaussian_blur_build(struct layer_context *context,
                                                  const struct layer *layer, struct endpoint x)
{
    const int64_t *size = layer_arg(layer, "kernel_size")->sides;
    struct builder *b = &context->builder;
    double factor[2], sigma[2], values[2];

    if (!augment_range(context, layer, "factor", 0, factor) ||
        !augment_range(context, layer, "sigma", 0, sigma) ||
        !augment_range(context, layer, "value_range", -INFINITY, values))
        return x;
    if (size[1] != size[2] || size[1] > BLUR_MAX) {
        layer_fail(context, layer, "argument 'kernel_size': expected a square of up to %d",
                   BLUR_MAX);
        return x;
    }
    if (!augment_changes(context, layer, x))
        return x;
    struct endpoint probability = augment_draw(context, layer, x, factor);
    struct endpoint chance =
        build_binary(b, "Less", NULL, augment_draw(context, layer, x, unit), probability);
    struct endpoint filter = bell_of_two(context, layer, size[1], sigma);
    struct endpoint blurred = build_filtered(b, x, filter);
    return augment_clip(b, build_select(b, chance, blurred, x), values);
}
FLOAT_LAYER_CLASS(random_gaussian_blur, "RandomGaussianBlur", random_gaussian_blur_args,
                  random_gaussian_blur_build);

/* ---- RandomErasing ---- */

static const struct layer_arg random_erasing_args[] = {
    { "factor", ARG_VALUE, "1" }, /* the probability */
    { "scale", ARG_VALUE, "[0.02, 0.33]" },
    { "fill_value", ARG_NULL_OR_VALUE, "null" },
    VALUE_RANGE,
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Draws the erased span along a direction, see augment_draw_span. */
static struct endpoint draw_span(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x, int direction, const double scale[2])
{
    struct endpoint share =
        build_unary(&context->builder, "Sqrt", NULL, augment_draw(context, layer, x, scale));

    return augment_draw_span(context, layer, x, direction, share);
}

/* The values that replace erased pixels: the argument, or noise. */
static struct endpoint filling(struct layer_context *context, const struct layer *layer,
                               struct endpoint x, const double values[2])
{
    struct builder *b = &context->builder;
    const struct json_value *value = layer_arg(layer, "fill_value")->value;
    float numbers[3];
    double number = 0;

    if (json_value_is_null(value)) {
        struct endpoint noise =
            build_binary(b, "StatelessRandomNormal", NULL, build_unary(b, "Shape", NULL, x),
                         augment_seed(context, layer));
        return build_by_number(b, "Mul", noise, values[1]);
    }
    bool list = value->kind == JSON_VALUE_LIST;
    int count = list ? value->count : 1;
    bool valid = !list || (count == 3 && endpoint_shape(x)->dims[3] == 3);
    for (int i = 0; valid && i < count; i++) {
        valid = json_value_number(list ? &value->members[i] : value, &number);
        numbers[i] = (float)number;
    }
    if (!valid) {
        layer_fail(context, layer,
                   "argument 'fill_value': expected a number, or one for each of 3 channels");
        return x;
    }
    const struct shape shape = shape_of(count);
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, numbers);
    return build_const(b, NULL, &tensor);
}

static struct endpoint random_erasing_build(struct layer_context *context,
                                            const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    double factor[2], scale[2], values[2];

    if (!augment_range(context, layer, "factor", 0, factor) ||
        !augment_range(context, layer, "scale", 0, scale) ||
        !augment_range(context, layer, "value_range", -INFINITY, values))
        return x;
    if (scale[0] < 0 || scale[1] > 1) {
        layer_fail(context, layer, "argument 'scale': expected shares of an image, 0 to 1");
        return x;
    }
    if (!augment_changes(context, layer, x) || !augment_sides_fit(context, layer, x))
        return x;
    struct endpoint erased =
        build_binary(b, "LogicalAnd", NULL, draw_span(context, layer, x, 2, scale),
                     draw_span(context, layer, x, 1, scale));
    struct endpoint probability = augment_draw(context, layer, x, factor);
    struct endpoint chance =
        build_binary(b, "Less", NULL, augment_draw(context, layer, x, unit), probability);
    erased = build_binary(b, "LogicalAnd", NULL, erased, chance);
    struct endpoint filled = augment_clip(b, filling(context, layer, x, values), values);
    return build_select(b, erased, filled, x);
}
FLOAT_LAYER_CLASS(random_erasing, "RandomErasing", random_erasing_args, random_erasing_build);
