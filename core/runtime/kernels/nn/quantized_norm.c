/*
 * quantized_norm: QuantizedInstanceNorm and QuantizedBatchNormWithGlobalNormalization.
 */
#include <float.h>
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"

/* ---- QuantizedInstanceNorm ---- */

struct instance_state {
    bool range_given;
    float given[2], epsilon, least_width;
};

static struct status instance_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct instance_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(node, "output_range_given", &state->range_given));
    TRY(node_attr_float(node, "given_y_min", &state->given[0]));
    TRY(node_attr_float(node, "given_y_max", &state->given[1]));
    TRY(node_attr_float(node, "variance_epsilon", &state->epsilon));
    TRY(node_attr_float(node, "min_separation", &state->least_width));
    if (state->range_given && !(state->given[0] < state->given[1]))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "given_y_min must be less than given_y_max : %g >= %g",
                            (double)state->given[0], (double)state->given[1]);
    return status_ok();
}

/* x [n, area, c] as numbers, each channel of an image with mean 0 and variance 1. */
static struct status normalise(struct kernel_context *k, const struct quantized_line *line,
                               const struct tensor *x, float *out)
{
    const struct instance_state *state = kernel_state(k);
    const uint8_t *bytes = x->data;
    int64_t n = x->shape.dims[0], c = x->shape.dims[3], area = x->shape.dims[1] * x->shape.dims[2];
    for (int64_t i = 0; i < n * c; i++) {
        int64_t first = i / c * area * c + i % c;
        double sum = 0, squares = 0;
        TRY(kernel_check(k));
        for (int64_t p = 0; p < area; p++)
            sum += (double)quantized_line_to_float(line, bytes[first + p * c]);
        double mean = sum / (double)area;
        for (int64_t p = 0; p < area; p++) {
            double far = (double)quantized_line_to_float(line, bytes[first + p * c]) - mean;
            squares += far * far;
        }
        double scale = 1 / sqrt(squares / (double)area + (double)state->epsilon);
        for (int64_t p = 0; p < area; p++) {
            double value = (double)quantized_line_to_float(line, bytes[first + p * c]);
            out[first + p * c] = (float)((value - mean) * scale);
        }
    }
    return status_ok();
}

static void range_of_numbers(const float *x, int64_t count, float least_width, float range[2])
{
    range[0] = FLT_MAX;
    range[1] = -FLT_MAX;
    for (int64_t i = 0; i < count; i++) {
        range[0] = x[i] < range[0] ? x[i] : range[0];
        range[1] = x[i] > range[1] ? x[i] : range[1];
    }
    if (range[1] - range[0] < least_width)
        range[1] = range[0] + least_width;
}

static struct status instance_compute(struct kernel_context *k)
{
    const struct instance_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    float in[2], range[2] = { state->given[0], state->given[1] };
    struct tensor numbers, *out;
    TRY(quantized_read_range(k, 1, in));
    if (x->shape.rank != 4 || x->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input must be 4-dimensional, with elements: %s",
                            shape_text(&x->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(kernel_scratch(k, DT_FLOAT, &x->shape, &numbers));
    struct quantized_line line = quantized_line(x->dtype, in);
    struct status status = normalise(k, &line, x, numbers.data);
    if (status_is_ok(status) && !state->range_given)
        range_of_numbers(numbers.data, numbers.size, state->least_width, range);
    struct quantized_line to = quantized_line(out->dtype, range);
    for (int64_t i = 0; i < out->size && status_is_ok(status); i++)
        ((uint8_t *)out->data)[i] =
            (uint8_t)quantized_line_of_float(&to, tensor_floats(&numbers)[i]);
    tensor_release(&numbers);
    TRY(status);
    return quantized_set_range(k, 1, range[0], range[1]);
}

/* ---- QuantizedBatchNormWithGlobalNormalization: in fixed point ---- */

struct batch_state {
    float epsilon;
    bool scales; /* by gamma */
};

static struct status batch_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct batch_state *state = prepare_state(p, sizeof *state, NULL);
    enum dtype out;
    TRY(node_attr_float(node, "variance_epsilon", &state->epsilon));
    TRY(node_attr_bool(node, "scale_after_normalization", &state->scales));
    TRY(node_attr_type(node, "out_type", &out));
    if (out == DT_QINT32)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for a result of %s", node->op_name,
                        node->name, dtype_name(out));
}

/* The range of the result: numbers below a million, with 10 fractional bits. */
static const float batch_range[2] = { -(1 << 20), 1 << 20 };

/* MEAN, VARIANCE, BETA and GAMMA are inputs 3, 6, 9 and 12, each followed by its range. */
enum batch_input { MEAN, VARIANCE, BETA, GAMMA, BATCH_INPUTS };

static int32_t fixed(float x)
{
    return quantized_of_float(DT_QINT32, x, batch_range);
}

/* The channel's factor and addend, as integers of the result. */
static void channel_line(const struct kernel_context *k, float ranges[BATCH_INPUTS][2],
                         int64_t channel, int32_t *factor, int32_t *addend)
{
    const struct batch_state *state = kernel_state(k);
    float values[BATCH_INPUTS];
    for (int i = 0; i < BATCH_INPUTS; i++)
        values[i] = quantized_to_float(
            DT_QUINT8, ((const uint8_t *)kernel_input(k, 3 + 3 * i)->data)[channel], ranges[i]);
    float scale = 1.0f / sqrtf(values[VARIANCE] + state->epsilon);
    if (state->scales)
        scale *= values[GAMMA];
    *factor = fixed(scale);
    *addend = fixed(-values[MEAN] * scale + values[BETA]);
}

static struct status check_batch(struct kernel_context *k, float ranges[BATCH_INPUTS][2])
{
    static const char *const names[] = { "mean", "var", "beta", "gamma" };
    const struct shape *x = &kernel_input(k, 0)->shape;
    if (x->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(x));
    for (int i = 0; i < BATCH_INPUTS; i++) {
        const struct shape *shape = &kernel_input(k, 3 + 3 * i)->shape;
        TRY(quantized_read_range(k, 4 + 3 * i, ranges[i]));
        if (shape->rank != 1 || shape->dims[0] != x->dims[3])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "%s must be 1-dimensional, with an element for each of %lld "
                                "channels: %s",
                                names[i], (long long)x->dims[3], shape_text(shape));
    }
    return status_ok();
}

static struct status batch_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    float in[2], ranges[BATCH_INPUTS][2];
    struct tensor *out;
    TRY(quantized_read_range(k, 1, in));
    TRY(check_batch(k, ranges));
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t c = x->shape.dims[3];
    int32_t one = fixed(1);
    for (int64_t channel = 0; channel < c && x->size > 0; channel++) {
        int32_t factor, addend;
        channel_line(k, ranges, channel, &factor, &addend);
        TRY(kernel_check(k));
        for (int64_t i = channel; i < x->size; i += c) {
            float number = quantized_to_float(DT_QUINT8, ((const uint8_t *)x->data)[i], in);
            int32_t product = (int32_t)((uint32_t)fixed(number) * (uint32_t)factor);
            ((int32_t *)out->data)[i] = (int32_t)((uint32_t)(product / one) + (uint32_t)addend);
        }
    }
    return quantized_set_range(k, 1, batch_range[0], batch_range[1]);
}

static const struct kernel rows[] = {
    { "QuantizedInstanceNorm", DTYPES(DT_QUINT8), .prepare = instance_prepare,
      .compute = instance_compute, .costly = true },
    { "QuantizedBatchNormWithGlobalNormalization", DTYPES(DT_QUINT8), "Tinput",
      .prepare = batch_prepare, .compute = batch_compute, .costly = true },
};
const struct kernel_table kernels_quantized_norm = { rows, COUNT(rows) };
