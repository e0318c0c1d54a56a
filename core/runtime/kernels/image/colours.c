/*
 * colours: hue, saturation and contrast of images, whose last dimension has red, green and blue.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- RGBToHSV and HSVToRGB ---- */

#define PIXELS(s, T)                                                        \
    static T highest_##s(const T *x)                                        \
    {                                                                       \
        T high = x[0] < x[1] ? x[1] : x[0];                                 \
        return high < x[2] ? x[2] : high;                                   \
    }                                                                       \
    static T lowest_##s(const T *x)                                         \
    {                                                                       \
        T low = x[1] < x[0] ? x[1] : x[0];                                  \
        return x[2] < low ? x[2] : low;                                     \
    }                                                                       \
    static void to_hsv_##s(const T *rgb, T *hsv)                            \
    {                                                                       \
        T value = highest_##s(rgb), range = value - lowest_##s(rgb);        \
        T norm = 1 / range * ((T)1 / (T)6);                                 \
        T hue = rgb[0] == value   ? norm * (rgb[1] - rgb[2])                \
                : rgb[1] == value ? norm * (rgb[2] - rgb[0]) + (T)2 / (T)6  \
                                  : norm * (rgb[0] - rgb[1]) + (T)4 / (T)6; \
        hue = range > 0 ? hue : 0;                                          \
        hsv[1] = value > 0 ? range / value : 0;                             \
        hsv[0] = hue < 0 ? hue + 1 : hue;                                   \
        hsv[2] = value;                                                     \
    }                                                                       \
    static T share_##s(T x)                                                 \
    {                                                                       \
        x = x < 0 ? 0 : x;                                                  \
        return x > 1 ? 1 : x;                                               \
    }                                                                       \
    static void to_rgb_##s(const T *hsv, T *rgb)                            \
    {                                                                       \
        T hue = hsv[0] * 6, saturation = hsv[1], value = hsv[2];            \
        const T shares[] = { share_##s((T)fabs((double)(hue - 3)) - 1),     \
                             share_##s(2 - (T)fabs((double)(hue - 2))),     \
                             share_##s(2 - (T)fabs((double)(hue - 4))) };   \
        for (int i = 0; i < 3; i++)                                         \
            rgb[i] = (1 - saturation + saturation * shares[i]) * value;     \
    }                                                                       \
    static void rows_to_hsv_##s(const void *x, void *out, int64_t count)    \
    {                                                                       \
        for (int64_t i = 0; i < count; i += 3)                              \
            to_hsv_##s((const T *)x + i, (T *)out + i);                     \
    }                                                                       \
    static void rows_to_rgb_##s(const void *x, void *out, int64_t count)    \
    {                                                                       \
        for (int64_t i = 0; i < count; i += 3)                              \
            to_rgb_##s((const T *)x + i, (T *)out + i);                     \
    }
PIXELS(f32, float)
PIXELS(f64, double)

static struct status check_channels(const struct tensor *x, int rank_min)
{
    const struct shape *shape = &x->shape;
    if (shape->rank < rank_min && rank_min == 1)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be at least 1D%s",
                            shape_text(shape));
    if (shape->rank < rank_min)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be at least 3-D, got shape%s",
                            shape_text(shape));
    int64_t channels = shape->dims[shape->rank - 1];
    if (channels != 3 && rank_min == 1)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "input must have 3 channels but input only has %lld channels.",
                            (long long)channels);
    if (channels != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input must have 3 channels but instead has %lld channels.",
                            (long long)channels);
    return status_ok();
}

typedef void pixel_rows(const void *x, void *out, int64_t count);

static struct status convert(struct kernel_context *k, pixel_rows *narrow, pixel_rows *wide)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, floats;
    TRY(check_channels(x, 1));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (!dtype_is_half(x->dtype)) {
        (x->dtype == DT_DOUBLE ? wide : narrow)(x->data, out->data, x->size);
        return status_ok();
    }
    TRY(float_values(k, x, &floats));
    narrow(floats.data, floats.data, x->size);
    half_block_store(out->dtype, floats.data, out->data, x->size);
    tensor_release(&floats);
    return status_ok();
}

static struct status to_hsv_compute(struct kernel_context *k)
{
    return convert(k, rows_to_hsv_f32, rows_to_hsv_f64);
}

static struct status to_rgb_compute(struct kernel_context *k)
{
    return convert(k, rows_to_rgb_f32, rows_to_rgb_f64);
}

/* ---- AdjustHue ---- */

/* The largest, the middle and the smallest channel, for each sixth of the hues. */
static const int orders[6][3] = { { 0, 1, 2 }, { 1, 0, 2 }, { 1, 2, 0 },
                                  { 2, 1, 0 }, { 2, 0, 1 }, { 0, 2, 1 } };

static int sixth_of(const float *rgb)
{
    float r = rgb[0], g = rgb[1], b = rgb[2];
    if (r < g)
        return b < r ? 1 : b > g ? 3 : 2;
    return b < g ? 0 : b > r ? 4 : 5;
}

/* x to [0, limit), where repeated additions would take forever. */
static float wrapped(float x, float limit)
{
    if (!(fabsf(x) < 1000 * limit))
        x = fmodf(x, limit);
    while (x < 0)
        x += limit;
    while (x >= limit)
        x -= limit;
    return x;
}

static void turn_hue(const float *rgb, float delta, float *out)
{
    const int *order = orders[sixth_of(rgb)];
    float high = rgb[order[0]], middle = rgb[order[1]], low = rgb[order[2]], hue = 0;
    int sixth = sixth_of(rgb);
    if (high != low) {
        float ratio = (middle - low) / (high - low);
        hue = (float)sixth + (sixth % 2 == 0 ? ratio : 1 - ratio);
    }
    hue = wrapped(hue + delta * 6, 6);
    sixth = hue >= 0 && hue < 6 ? (int)hue : 5; /* NaN */
    float ratio = hue - (float)sixth;
    ratio = sixth % 2 == 0 ? ratio : 1 - ratio;
    out[orders[sixth][0]] = high;
    out[orders[sixth][1]] = low + ratio * (high - low);
    out[orders[sixth][2]] = low;
}

/* ---- AdjustSaturation ---- */

static void scale_saturation(const float *rgb, float scale, float *out)
{
    float value = highest_f32(rgb), range = value - lowest_f32(rgb), norm = 1 / (6 * range);
    float hue = rgb[0] == value   ? norm * (rgb[1] - rgb[2])
                : rgb[1] == value ? (float)((double)(norm * (rgb[2] - rgb[0])) + 2.0 / 6.0)
                                  : (float)((double)(norm * (rgb[0] - rgb[1])) + 4.0 / 6.0);
    hue = range <= 0 ? 0 : hue;
    hue = hue < 0 ? hue + 1 : hue;
    float saturation = value > 0 ? range / value : 0;
    saturation = share_f32(saturation * scale);
    float strong = saturation * value, sixths = hue * 6;
    float part = strong * (1 - fabsf(wrapped(sixths, 2) - 1));
    float rest = value - strong;
    out[0] = out[1] = out[2] = rest;
    if (sixths >= 0 && sixths < 6) {
        out[orders[(int)sixths][0]] = strong + rest;
        out[orders[(int)sixths][1]] = part + rest;
    }
}

static struct status adjust(struct kernel_context *k, const char *name,
                            void (*pixel)(const float *rgb, float by, float *out))
{
    const struct tensor *x = kernel_input(k, 0), *by = kernel_input(k, 1);
    struct tensor *out;
    if (x->shape.rank >= 3 && by->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be scalar: %s", name,
                            shape_text(&by->shape));
    TRY(check_channels(x, 3));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i += 3)
        pixel(tensor_floats(x) + i, tensor_floats(by)[0], tensor_floats_mut(out) + i);
    return status_ok();
}

static struct status hue_compute(struct kernel_context *k)
{
    return adjust(k, "delta", turn_hue);
}

static struct status saturation_compute(struct kernel_context *k)
{
    return adjust(k, "scale", scale_saturation);
}

/* ---- AdjustContrastv2: away from the mean of the channel in its image ---- */

static float channel_mean(const float *x, int64_t pixels, int64_t channels, int64_t c)
{
    double sum = 0;
    for (int64_t i = c; i < pixels * channels; i += channels)
        sum += (double)x[i];
    return (float)(sum / (double)pixels);
}

static void stretch_image(const float *x, int64_t pixels, int64_t channels, float factor,
                          float *out)
{
    for (int64_t c = 0; c < channels; c++) {
        float mean = channel_mean(x, pixels, channels, c);
        for (int64_t i = c; i < pixels * channels; i += channels)
            out[i] = x[i] * factor + mean * (1 - factor);
    }
}

static struct status contrast_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *factor = kernel_input(k, 1);
    const struct shape *shape = &x->shape;
    struct tensor *out;
    if (shape->rank < 3)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be at least 3-D, got shape%s",
                            shape_text(shape));
    if (factor->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "contrast_factor must be scalar: %s",
                            shape_text(&factor->shape));
    TRY(kernel_output(k, 0, shape, &out));
    const int64_t *dims = shape->dims + shape->rank - 3;
    for (int64_t at = 0; at < x->size; at += dims[0] * dims[1] * dims[2])
        stretch_image(tensor_floats(x) + at, dims[0] * dims[1], dims[2], tensor_floats(factor)[0],
                      tensor_floats_mut(out) + at);
    return status_ok();
}

/* ---- AdjustContrast: the same of any type, within limits ---- */

/* Like stretch_image, but differs if the mean is not finite. */
static void stretch_from_mean(const float *x, int64_t pixels, int64_t channels, float factor,
                              float *out)
{
    for (int64_t c = 0; c < channels; c++) {
        float mean = channel_mean(x, pixels, channels, c);
        for (int64_t i = c; i < pixels * channels; i += channels)
            out[i] = (x[i] - mean) * factor + mean;
    }
}

static struct status limited_compute(struct kernel_context *k)
{
    static const char *const names[] = { "contrast_factor", "min_value", "max_value" };
    const struct tensor *x = kernel_input(k, 0);
    const struct shape *shape = &x->shape;
    const struct tensor *numbers[3];
    struct tensor *out, floats;
    if (shape->rank < 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be at least 3-D, got shape%s",
                            shape_text(shape));
    for (int i = 0; i < 3; i++)
        TRY(kernel_scalar(k, 1 + i, names[i], &numbers[i]));
    TRY(kernel_output(k, 0, shape, &out));
    TRY(float_values(k, x, &floats));
    const int64_t *dims = shape->dims + shape->rank - 3;
    float low = tensor_floats(numbers[1])[0], high = tensor_floats(numbers[2])[0];
    for (int64_t at = 0; at < x->size; at += dims[0] * dims[1] * dims[2])
        stretch_from_mean(tensor_floats(&floats) + at, dims[0] * dims[1], dims[2],
                          tensor_floats(numbers[0])[0], tensor_floats_mut(out) + at);
    for (int64_t i = 0; i < out->size; i++) {
        float value = tensor_floats(out)[i];
        value = value < low ? low : value;
        tensor_floats_mut(out)[i] = value > high ? high : value;
    }
    tensor_release(&floats);
    return status_ok();
}

#define DTYPES_LIMITED                                                                             \
    (DTYPES(DT_UINT8) | DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_INT32) | DTYPES(DT_INT64) | \
     DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE))
static const struct kernel rows[] = {
    { "RGBToHSV", DTYPES_FLOATING, .compute = to_hsv_compute },
    { "HSVToRGB", DTYPES_FLOATING, .compute = to_rgb_compute },
    { "AdjustHue", DTYPES(DT_FLOAT), .compute = hue_compute },
    { "AdjustSaturation", DTYPES(DT_FLOAT), .compute = saturation_compute },
    { "AdjustContrastv2", DTYPES(DT_FLOAT), .compute = contrast_compute },
    { "AdjustContrast", DTYPES_LIMITED, .compute = limited_compute },
};
const struct kernel_table kernels_colours = { rows, COUNT(rows) };
