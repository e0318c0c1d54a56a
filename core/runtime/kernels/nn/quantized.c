/*
 * quantized: numbers as integers of a range. QuantizeV2 and Dequantize, to them and back;
 * Requantize, QuantizeDownAndShrinkRange and RequantizationRange, from 32 bits to eight.
 *
 * An integer type has lowest .. highest for the range min .. max. The modes differ in how they
 * round, and in whether 0 is a number of the range (SCALED, MIN_FIRST).
 */
#include <float.h>
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"

enum quantize_mode { MIN_COMBINED, MIN_FIRST, SCALED };

struct quantized_state {
    enum quantize_mode mode;
    bool narrow, half_to_even;
    int64_t axis; /* -1: one range for all elements */
    float least_range;
};

static struct status quantized_prepare(struct prepare_context *p)
{
    static const char *const modes[] = { "MIN_COMBINED", "MIN_FIRST", "SCALED" };
    const struct node *node = prepare_node(p);
    struct quantized_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode, rounding = { 0 };
    enum dtype out = DT_FLOAT;
    TRY(node_attr_string(node, "mode", &mode));
    TRY(node_attr_bool(node, "narrow_range", &state->narrow));
    TRY(node_attr_int(node, "axis", &state->axis));
    if (node_attr(node, "round_mode") != NULL) {
        TRY(node_attr_string(node, "round_mode", &rounding));
        TRY(node_attr_float(node, "ensure_minimum_range", &state->least_range));
    }
    if (node_attr(node, "dtype") != NULL)
        TRY(node_attr_type(node, "dtype", &out));
    int found = BYTES_FIND(mode, modes);
    if (found >= 0)
        state->mode = (enum quantize_mode)found;
    if (out != DT_FLOAT && state->mode != MIN_COMBINED)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "When output type is bfloat16, Mode string must be 'MIN_COMBINED', is "
                            "'%.*s'",
                            (int)mode.size, mode.data);
    state->half_to_even = bytes_equal(rounding, bytes_of("HALF_TO_EVEN"));
    if (rounding.size > 0 && state->half_to_even && state->mode != SCALED)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode "
                            "is '%.*s'.",
                            (int)mode.size, mode.data);
    return status_ok();
}

/* Keeps the low bits. A number that no int32 can hold becomes the lowest, as on x86, but NaN 0. */
static void set_quantized(enum dtype dtype, void *x, int64_t i, float number)
{
    int32_t value = isnan(number)                            ? 0
                    : number >= -0x1p31f && number < 0x1p31f ? (int32_t)number
                                                             : INT32_MIN;
    size_t size = dtype_size(dtype);
    memcpy(at_bytes(x, i, size), &value, size); /* little-endian */
}

/* The ranges of elements [outer, slices, inner]: one for each slice, or one for all. */
struct slicing {
    int64_t outer, slices, inner;
};

static struct status find_slicing(const struct kernel_context *k, struct slicing *out)
{
    const struct quantized_state *state = kernel_state(k);
    int64_t axis = state->axis;
    const struct tensor *x = kernel_input(k, 0);
    *out = (struct slicing){ .outer = 1, .slices = 1, .inner = x->size };
    if (axis >= x->shape.rank || axis < -1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Axis must be less than input dimension(%d), got %lld", x->shape.rank,
                            (long long)axis);
    if (axis >= 0)
        *out = (struct slicing){ shape_outer(&x->shape, (int)axis), x->shape.dims[axis],
                                 shape_inner(&x->shape, (int)axis) };
    if (state->mode == MIN_FIRST && out->slices != 1)
        return kernel_error(k, STATUS_UNIMPLEMENTED,
                            "MIN_FIRST mode is not implemented for %s with axis != -1.",
                            kernel_node(k)->op_name);
    for (int i = 1; i <= 2; i++) {
        const struct tensor *range = kernel_input(k, i);
        if (range->size != out->slices || (axis >= 0 && range->shape.rank != 1))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input_%s_range must have %lld elements, one for each index of "
                                "axis %lld, but has shape %s",
                                i == 1 ? "min" : "max", (long long)out->slices, (long long)axis,
                                shape_text(&range->shape));
    }
    return status_ok();
}

/* ---- QuantizeV2 ---- */

struct quantizer {
    enum dtype dtype;
    enum quantize_mode mode;
    bool half_to_even;
    float low, high; /* the range */
    float scale;
    float shift; /* MIN_COMBINED: to the lowest integer; MIN_FIRST: what is taken away */
};

static float scale_of_side(double integer, float number)
{
    return integer * (double)number > 0 ? (float)integer / number : FLT_MAX;
}

static void quantizer_scale(struct quantizer *q, const struct quantized_limits *limits, bool narrow)
{
    double lowest = limits->lowest + narrow;
    float from_low = scale_of_side(lowest, q->low),
          from_high = scale_of_side(limits->highest, q->high);
    q->scale = from_low < from_high ? from_low : from_high;
    q->low = (float)lowest / q->scale;
    q->high = (float)limits->highest / q->scale;
}

/* Widens the range to hold 0, and to the least width. */
static struct quantizer quantizer_make(const struct quantized_state *state, enum dtype dtype,
                                       float low, float high)
{
    struct quantized_limits limits = quantized_limits(dtype);
    float most = fmaxf(1, fmaxf(fabsf(low), fabsf(high)));
    struct quantizer q = { .dtype = dtype,
                           .mode = state->mode,
                           .half_to_even = state->half_to_even };
    q.low = fminf(0, low);
    q.high = fmaxf(0, fmaxf(high, q.low + most * state->least_range));
    if (state->mode == SCALED) {
        quantizer_scale(&q, &limits, state->narrow);
    } else if (state->mode == MIN_FIRST) {
        double steps = limits.highest - limits.lowest;
        q.scale = q.low == q.high ? 0 : (float)(steps / (double)(q.high - q.low));
        q.shift = roundf(q.low * q.scale) - (float)limits.lowest;
    } else {
        q.scale = ((float)limits.highest - (float)limits.lowest) / (q.high - q.low);
        q.shift = limits.lowest < 0 ? ((float)limits.highest - (float)limits.lowest + 1) / 2 : 0;
    }
    return q;
}

static float clamp(float x, float low, float high)
{
    float below = high < x ? high : x; /* NaN passes, as in TensorFlow */
    return below < low ? low : below;
}

static float quantize_one(const struct quantizer *q, float x)
{
    struct quantized_limits limits;
    switch (q->mode) {
    case SCALED:
        x = clamp(x, q->low, q->high) * q->scale;
        return q->half_to_even ? rintf(x) : roundf(x);
    case MIN_FIRST:
        limits = quantized_limits(q->dtype);
        if (isnan(x))
            return q->dtype == DT_QINT32 ? (float)limits.lowest : x;
        return clamp(roundf(x * q->scale) - q->shift, (float)limits.lowest,
                     /* the greatest float that an int32 can hold */
                     q->dtype == DT_QINT32 ? 2147483520.0f : (float)limits.highest);
    default:
        x = (clamp(x, q->low, q->high) - q->low) * q->scale;
        return q->shift > 0 ? roundf(x - q->shift) : x + 0.5f;
    }
}

static struct status quantize_v2_compute(struct kernel_context *k)
{
    const struct quantized_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct slicing s;
    struct tensor *out, *low, *high;
    TRY(find_slicing(k, &s));
    struct shape range = state->axis >= 0 ? shape_of(s.slices) : shape_scalar();
    for (int64_t c = 0; c < s.slices; c++)
        if (tensor_floats(kernel_input(k, 1))[c] > tensor_floats(kernel_input(k, 2))[c])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input_max_range must be larger than input_min_range.");
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_output(k, 1, &range, &low));
    TRY(kernel_output(k, 2, &range, &high));
    for (int64_t c = 0; c < s.slices; c++) {
        struct quantizer q = quantizer_make(state, out->dtype, tensor_floats(kernel_input(k, 1))[c],
                                            tensor_floats(kernel_input(k, 2))[c]);
        TRY(kernel_check(k));
        tensor_floats_mut(low)[c] = q.low;
        tensor_floats_mut(high)[c] = q.high;
        for (int64_t o = 0; x->size > 0 && o < s.outer; o++)
            for (int64_t i = 0; i < s.inner; i++) {
                int64_t at = (o * s.slices + c) * s.inner + i;
                set_quantized(out->dtype, out->data, at, quantize_one(&q, tensor_floats(x)[at]));
            }
    }
    return status_ok();
}

/* ---- Dequantize: (integer + before) · scale + after ---- */

struct dequantizer {
    float before, scale, after;
};

static struct dequantizer dequantizer_make(const struct quantized_state *state, enum dtype dtype,
                                           float low, float high)
{
    struct quantized_limits limits = quantized_limits(dtype);
    float lowest = (float)limits.lowest, highest = (float)limits.highest;
    float from_low = low / (float)(limits.lowest + state->narrow), from_high = high / highest;
    switch (state->mode) {
    case SCALED:
        return (struct dequantizer){ .scale = lowest == 0 || from_low < from_high ? from_high
                                                                                  : from_low };
    case MIN_FIRST: {
        float scale = (high - low) / (float)(limits.highest - limits.lowest);
        float rounded = low == high ? low : roundf(low / scale) * scale;
        return (struct dequantizer){ .scale = scale, .after = rounded - lowest * scale };
    }
    default:
        return (struct dequantizer){ .before = lowest < 0 ? (highest - lowest + 1) / 2 : 0,
                                     .scale = (high - low) / (highest - lowest),
                                     .after = low };
    }
}

static struct status dequantize_compute(struct kernel_context *k)
{
    const struct quantized_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct slicing s;
    struct tensor *out;
    TRY(find_slicing(k, &s));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t c = 0; c < s.slices; c++) {
        struct dequantizer d =
            dequantizer_make(state, x->dtype, tensor_floats(kernel_input(k, 1))[c],
                             tensor_floats(kernel_input(k, 2))[c]);
        TRY(kernel_check(k));
        for (int64_t o = 0; x->size > 0 && o < s.outer; o++)
            for (int64_t i = 0; i < s.inner; i++) {
                int64_t at = (o * s.slices + c) * s.inner + i;
                float number =
                    ((float)quantized_get(x->dtype, x->data, at) + d.before) * d.scale + d.after;
                if (out->dtype == DT_FLOAT)
                    tensor_floats_mut(out)[at] = number;
                else
                    half_block_store(out->dtype, &number, (uint16_t *)out->data + at, 1);
            }
    }
    return status_ok();
}

/* ---- from 32 bits to eight ---- */

/* Keeps far ranges from overflowing: sums of clamped numbers fit 64 bits. */
static int64_t to_fixed(double x)
{
    const double most = 0x1p60;
    return (int64_t)(x < -most ? -most : x > most ? most : x);
}

/* In fixed point, with 16 fractional bits, as TensorFlow computes. */
static void requantize_to_quint8(const int32_t *x, int64_t count, const float in[2],
                                 const float range[2], uint8_t *out)
{
    const double one = 1 << 16;
    float in_width = in[1] - in[0], width = range[1] - range[0];
    float rezero = (in[0] + in[1]) / 2, reciprocal = width == 0 ? 0 : 255.0f / width;
    double scale = width == 0 ? 0 : 255.0 * one * (double)in_width / (double)width;
    double least = width == 0 ? 0 : one * ((double)range[0] * 255.0) / (double)width;
    int64_t fixed_scale = to_fixed(scale);
    int64_t offset = to_fixed((double)(rezero * reciprocal * (float)one)) - to_fixed(least);
    for (int64_t i = 0; i < count; i++) {
        uint64_t product = (uint64_t)(int64_t)(float)x[i] * (uint64_t)fixed_scale; /* may wrap */
        int64_t value = (((int64_t)product >> 32) + offset + (1 << 15)) >> 16;
        out[i] = (uint8_t)(value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value);
    }
}

static struct status requantize(struct kernel_context *k, const float in[2], const float range[2])
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(quantized_set_range(k, 1, range[0], range[1]));
    if (out->dtype == DT_QUINT8)
        requantize_to_quint8(x->data, x->size, in, range, out->data);
    else
        for (int64_t i = 0; i < x->size; i++)
            ((int8_t *)out->data)[i] = (int8_t)quantized_of_float(
                DT_QINT8, quantized_to_float(DT_QINT32, ((const int32_t *)x->data)[i], in), range);
    return status_ok();
}

/* The rows below are chosen by the type of the result. */
static struct status requantize_prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    enum dtype dtype;
    TRY(node_attr_type(node, "Tinput", &dtype));
    if (dtype == DT_QINT32)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for an input of %s, only of %s",
                        node->op_name, node->name, dtype_name(dtype), dtype_name(DT_QINT32));
}

static struct status requantize_compute(struct kernel_context *k)
{
    float in[2], range[2];
    TRY(quantized_read_range(k, 1, in));
    TRY(quantized_read_range(k, 3, range));
    if (!(range[0] <= 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "requested_output_min must be <= 0, but got %g", (double)range[0]);
    if (!(range[1] >= range[0]))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "requested_output_max must be >= requested_output_min, but got %g and "
                            "%g",
                            (double)range[1], (double)range[0]);
    return requantize(k, in, range);
}

/* The part of their range that the integers use, widened to hold 0. */
static void used_range(const struct tensor *x, const float in[2], float out[2])
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = 0; i < x->size; i++) {
        int32_t value = ((const int32_t *)x->data)[i];
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    out[0] = fminf(0, quantized_to_float(DT_QINT32, least, in));
    out[1] = quantized_to_float(DT_QINT32, most, in);
}

static struct status range_compute(struct kernel_context *k)
{
    float in[2], used[2];
    TRY(quantized_read_range(k, 1, in));
    if (kernel_input(k, 0)->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must not be empty");
    used_range(kernel_input(k, 0), in, used);
    return quantized_set_range(k, 0, used[0], used[1]);
}

static struct status shrink_compute(struct kernel_context *k)
{
    float in[2], used[2];
    TRY(quantized_read_range(k, 1, in));
    if (kernel_input(k, 0)->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must not be empty");
    used_range(kernel_input(k, 0), in, used);
    return requantize(k, in, used);
}

static const struct kernel rows[] = {
    { "QuantizeV2", DTYPES_QUANTIZED, "T", .prepare = quantized_prepare,
      .compute = quantize_v2_compute, .costly = true },
    { "Dequantize", DTYPES_QUANTIZED, "T", .prepare = quantized_prepare,
      .compute = dequantize_compute, .costly = true },
    { "Requantize", DTYPES(DT_QUINT8) | DTYPES(DT_QINT8), "out_type", .prepare = requantize_prepare,
      .compute = requantize_compute, .costly = true },
    { "RequantizationRange", DTYPES(DT_QINT32), "Tinput", .compute = range_compute,
      .costly = true },
    { "QuantizeDownAndShrinkRange", DTYPES(DT_QUINT8), "out_type", .prepare = requantize_prepare,
      .compute = shrink_compute, .costly = true },
};
const struct kernel_table kernels_quantized = { rows, COUNT(rows) };
