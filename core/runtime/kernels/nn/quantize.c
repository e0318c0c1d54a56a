/*
 * quantize: QuantizeAndDequantize, which rounds numbers to what an integer of some bits could hold,
 * with one range for all or one for each index of an axis.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define BITS_MAX 62

struct quantize_state {
    bool is_signed, range_given, narrow, half_up;
    bool range_fixed; /* V1 has the range as attributes, the others as inputs */
    float low, high;
    int64_t bits; /* V3 has them as an input */
    int64_t axis; /* -1: one range */
};

static struct status quantize_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct quantize_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode = bytes_of("HALF_TO_EVEN");
    if (node_attr(node, "num_bits") != NULL)
        TRY(node_attr_int(node, "num_bits", &state->bits));
    if (node_attr(node, "round_mode") != NULL)
        TRY(node_attr_string(node, "round_mode", &mode));
    state->half_up = bytes_equal(mode, bytes_of("HALF_UP"));
    TRY(node_attr_bool(node, "signed_input", &state->is_signed));
    TRY(node_attr_bool(node, "range_given", &state->range_given));
    state->range_fixed = node->op->inputs_count == 1;
    if (state->range_fixed) {
        state->axis = -1;
        TRY(node_attr_float(node, "input_min", &state->low));
        return node_attr_float(node, "input_max", &state->high);
    }
    TRY(node_attr_bool(node, "narrow_range", &state->narrow));
    return node_attr_int(node, "axis", &state->axis);
}

/* The range that the integers cover, and the factor to them and back, in the type of the input. */
struct quantized_range {
    double low, high;
    double scale, back;
};

/* Widens the range so that 0 is an integer, and rounds as float arithmetic does. */
#define FIND_RANGE(name, T, MAX)                                                                   \
    static struct quantized_range name(T low, T high, int64_t least, int64_t most)                 \
    {                                                                                              \
        T bottom = (T)least, top = (T)most, back;                                                  \
        T from_low = bottom * low > 0 ? bottom / low : MAX;                                        \
        T from_high = top * high > 0 ? top / high : MAX;                                           \
        T scale = from_low < from_high ? from_low : from_high;                                     \
        if (from_low < from_high) {                                                                \
            back = low / bottom;                                                                   \
            high = top * back;                                                                     \
        } else {                                                                                   \
            back = high / top;                                                                     \
            low = bottom * back;                                                                   \
        }                                                                                          \
        return (struct quantized_range){ (double)low, (double)high, (double)scale, (double)back }; \
    }
FIND_RANGE(find_range_f32, float, FLT_MAX)
FIND_RANGE(find_range_f64, double, DBL_MAX)

#define ROUND_RUN(name, T, floor, rint)                                                       \
    static void name(const struct quantize_state *state, const struct quantized_range *range, \
                     const void *x_, void *out_, int64_t count)                               \
    {                                                                                         \
        const T *x = x_, low = (T)range->low, high = (T)range->high, scale = (T)range->scale, \
                back = (T)range->back;                                                        \
        T *out = out_;                                                                        \
        for (int64_t i = 0; i < count; i++) {                                                 \
            T value = x[i];                                                                   \
            if (state->range_given) {                                                         \
                value = value > high ? high : value; /* low may lie above high */             \
                value = value < low ? low : value;                                            \
            }                                                                                 \
            value *= scale;                                                                   \
            out[i] = (state->half_up ? floor(value + (T)0.5) : rint(value)) * back;           \
        }                                                                                     \
    }
ROUND_RUN(round_run_f32, float, floorf, rintf)
ROUND_RUN(round_run_f64, double, floor, rint)

/* The least and the greatest of the numbers of one index of the axis. */
static void find_limits(const struct tensor *x, int64_t outer, int64_t count, int64_t inner,
                        int64_t index, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double value = floating_element(x, (o * count + index) * inner + i);
            *low = value < *low ? value : *low;
            *high = value > *high ? value : *high;
        }
}

static struct status read_bits(const struct kernel_context *k, int64_t *bits)
{
    const struct quantize_state *state = kernel_state(k);
    *bits = state->bits;
    if (kernel_inputs_count(k) == 4) {
        if (kernel_input(k, 3)->size != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "num_bits must be a scalar, not %s",
                                shape_text(&kernel_input(k, 3)->shape));
        *bits = tensor_index(kernel_input(k, 3), 0);
    }
    if (*bits < 1 + state->is_signed || *bits > BITS_MAX + state->is_signed)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "num_bits is out of range: %lld with signed_input_ %d",
                            (long long)*bits, state->is_signed);
    return status_ok();
}

/* The range of one index: given, or that of the numbers. */
static struct status range_of(const struct kernel_context *k, const struct tensor *x, int64_t outer,
                              int64_t count, int64_t inner, int64_t index, int64_t bits,
                              struct quantized_range *out)
{
    const struct quantize_state *state = kernel_state(k);
    double low, high;
    if (state->range_given) {
        low = state->range_fixed ? (double)state->low : floating_element(kernel_input(k, 1), index);
        high =
            state->range_fixed ? (double)state->high : floating_element(kernel_input(k, 2), index);
        if (!(low <= high))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Invalid range: input_min %g > input_max %g", low, high);
    } else {
        find_limits(x, outer, count, inner, index, &low, &high);
    }
    int64_t most = ((int64_t)1 << (bits - state->is_signed)) - 1;
    int64_t least = state->is_signed ? -most - !state->narrow : 0;
    *out = x->dtype == DT_FLOAT ? find_range_f32((float)low, (float)high, least, most)
                                : find_range_f64(low, high, least, most);
    return status_ok();
}

static struct status quantize_compute(struct kernel_context *k)
{
    const struct quantize_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t bits, outer = 1, count = 1, inner = x->size;
    struct tensor *out;
    TRY(read_bits(k, &bits));
    if (state->axis < -1 || state->axis >= x->shape.rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Axis should be -1 or in [0, %d), not %lld",
                            x->shape.rank, (long long)state->axis);
    if (state->axis >= 0) {
        outer = shape_outer(&x->shape, (int)state->axis);
        count = x->shape.dims[state->axis];
        inner = shape_inner(&x->shape, (int)state->axis);
    }
    for (int i = 1; i < 3 && state->range_given && !state->range_fixed; i++)
        if (kernel_input(k, i)->size != count)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must have %lld elements, not %s",
                                i == 1 ? "input_min" : "input_max", (long long)count,
                                shape_text(&kernel_input(k, i)->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    size_t size = dtype_size(x->dtype);
    for (int64_t index = 0; index < count && x->size > 0; index++) {
        struct quantized_range range = { 0 };
        TRY(range_of(k, x, outer, count, inner, index, bits, &range));
        for (int64_t o = 0; o < outer; o++) {
            int64_t at = (o * count + index) * inner;
            const void *from = at_bytes_const(x->data, at, size);
            void *to = at_bytes(out->data, at, size);
            if (x->dtype == DT_FLOAT)
                round_run_f32(state, &range, from, to, inner);
            else
                round_run_f64(state, &range, from, to, inner);
        }
    }
    return status_ok();
}

#define QUANTIZE(op)                                                                \
    {                                                                               \
        op, DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T", .prepare = quantize_prepare, \
                                                       .compute = quantize_compute  \
    }
static const struct kernel rows[] = {
    QUANTIZE("QuantizeAndDequantize"),
    QUANTIZE("QuantizeAndDequantizeV2"),
    QUANTIZE("QuantizeAndDequantizeV3"),
    QUANTIZE("QuantizeAndDequantizeV4"),
};
const struct kernel_table kernels_quantize = { rows, COUNT(rows) };
