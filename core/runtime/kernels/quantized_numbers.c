#include "runtime/kernels/quantized_numbers.h"

#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"

struct quantized_limits quantized_limits(enum dtype dtype)
{
    switch (dtype) {
    case DT_QUINT8:
        return (struct quantized_limits){ 0, UINT8_MAX };
    case DT_QINT8:
        return (struct quantized_limits){ INT8_MIN, INT8_MAX };
    case DT_QUINT16:
        return (struct quantized_limits){ 0, UINT16_MAX };
    case DT_QINT16:
        return (struct quantized_limits){ INT16_MIN, INT16_MAX };
    default:
        return (struct quantized_limits){ INT32_MIN, INT32_MAX };
    }
}

int32_t quantized_get(enum dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case DT_QUINT8:
        return ((const uint8_t *)x)[i];
    case DT_QINT8:
        return ((const int8_t *)x)[i];
    case DT_QUINT16:
        return ((const uint16_t *)x)[i];
    case DT_QINT16:
        return ((const int16_t *)x)[i];
    default:
        return ((const int32_t *)x)[i];
    }
}

void quantized_set(enum dtype dtype, void *x, int64_t i, int32_t value)
{
    size_t size = dtype_size(dtype);
    memcpy(at_bytes(x, i, size), &value, size); /* little-endian */
}

/* 2^bits: the integers of a type. */
static double steps_of(enum dtype dtype)
{
    struct quantized_limits limits = quantized_limits(dtype);
    return limits.highest - limits.lowest + 1;
}

float quantized_to_float(enum dtype dtype, int32_t x, const float range[2])
{
    double steps = steps_of(dtype);
    if (range[0] == range[1])
        return range[0];
    double scale = (double)(range[1] - range[0]) * (steps / (steps - 1)) / steps;
    double rounded = round((double)(range[0] / (float)scale)) * (double)(float)scale;
    /* TensorFlow's type qint32 converts by way of float */
    return (float)(rounded + ((double)(float)x - quantized_limits(dtype).lowest) * scale);
}

/* Before it is cut off at the limits of the type; `range` is not one number. */
static double unlimited(enum dtype dtype, float x, const float range[2])
{
    double steps = steps_of(dtype);
    double scale = steps / ((double)(range[1] - range[0]) * (steps / (steps - 1)));
    return round((double)x * scale) - round((double)range[0] * scale) +
           quantized_limits(dtype).lowest;
}

int32_t quantized_of_float(enum dtype dtype, float x, const float range[2])
{
    struct quantized_limits limits = quantized_limits(dtype);
    if (range[0] == range[1])
        return (int32_t)limits.lowest;
    double found = unlimited(dtype, x, range);
    return (int32_t)(!(found > limits.lowest) ? limits.lowest
                     : found > limits.highest ? limits.highest
                                              : found);
}

int64_t quantized_unlimited(enum dtype dtype, float x, const float range[2])
{
    if (range[0] == range[1])
        return (int64_t)quantized_limits(dtype).lowest;
    double found = unlimited(dtype, x, range);
    return found > -0x1p63 && found < 0x1p63 ? (int64_t)found : INT64_MIN; /* as on x86 */
}

struct quantized_line quantized_line(enum dtype dtype, const float range[2])
{
    struct quantized_limits limits = quantized_limits(dtype);
    double steps = steps_of(dtype) - 1;
    float width = range[1] - range[0];
    struct quantized_line line = { .low = range[0], .lowest = (float)limits.lowest };
    /* the greatest float that an int32 can hold */
    line.highest = dtype == DT_QINT32 ? 2147483520.0f : (float)limits.highest;
    if (width != 0) {
        line.scale = (float)((double)width / steps);
        line.zero = roundf(range[0] / line.scale) * line.scale - line.lowest * line.scale;
        line.back = (float)(steps / (double)width);
    }
    line.shift = roundf(range[0] * line.back) - line.lowest;
    return line;
}

int32_t quantized_line_of_float(const struct quantized_line *line, float x)
{
    float found = roundf(x * line->back) - line->shift;
    return (int32_t)(!(found > line->lowest) ? line->lowest
                     : found > line->highest ? line->highest
                                             : found);
}

struct status quantized_read_range(const struct kernel_context *k, int input, float out[2])
{
    for (int i = 0; i < 2; i++) {
        const struct tensor *x = kernel_input(k, input + i);
        if (x->size != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input %d must be a scalar, but has shape %s", input + i,
                                shape_text(&x->shape));
        out[i] = tensor_floats(x)[0];
        /* fixed point: the products must fit 64 bits */
        if (!(fabsf(out[i]) < 1e30f))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d must be finite, not %g",
                                input + i, (double)out[i]);
    }
    return status_ok();
}

struct status quantized_check_ranges(const struct kernel_context *k, const char *x_text,
                                     const char *y_text)
{
    float x[2], y[2];
    TRY(quantized_read_range(k, 2, x));
    TRY(quantized_read_range(k, 4, y));
    if (x[1] > x[0] && y[1] > y[0])
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "max_%s.", x[1] > x[0] ? y_text : x_text);
}

struct status quantized_set_range(struct kernel_context *k, int output, float low, float high)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(k, output, &scalar, &out));
    tensor_floats_mut(out)[0] = low;
    TRY(kernel_output(k, output + 1, &scalar, &out));
    tensor_floats_mut(out)[0] = high;
    return status_ok();
}

/* The distance of the numbers of two consecutive integers. */
static float step_of(enum dtype dtype, const float range[2])
{
    return (range[1] - range[0]) / (float)(steps_of(dtype) - 1);
}

void quantized_product_range(enum dtype a, const float a_range[2], enum dtype b,
                             const float b_range[2], float out[2])
{
    float step = step_of(a, a_range) * step_of(b, b_range);
    out[0] = step * (float)INT32_MIN;
    out[1] = step * (float)INT32_MAX;
}
