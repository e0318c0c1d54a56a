/*
 * quantized_channels: RequantizationRangePerChannel and RequantizePerChannel: from 32 bits to eight
 * with a range for each channel. The integer 0 means 0 in all of these ranges.
 */
#include <float.h>
#include <math.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"

#define STEPS 0x1p31f /* integers of either sign */

/* One pair for each channel, which is the last dimension of input 0. */
static struct status check_ranges(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *low = kernel_input(k, 1), *high = kernel_input(k, 2);
    if (x->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be in NHWC format, not %s",
                            shape_text(&x->shape));
    for (int i = 1; i <= 2; i++)
        if (kernel_input(k, i)->size != x->shape.dims[3] || kernel_input(k, i)->shape.rank != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input_min and input_max must have an element for each of the "
                                "%lld channels, not %s and %s",
                                (long long)x->shape.dims[3], shape_text(&low->shape),
                                shape_text(&high->shape));
    return status_ok();
}

/* The greatest magnitude in the channel's range. */
static float magnitude(const struct kernel_context *k, int64_t channel)
{
    float low = fabsf(tensor_floats(kernel_input(k, 1))[channel]);
    float high = fabsf(tensor_floats(kernel_input(k, 2))[channel]);
    return low < high ? high : low;
}

/* ---- RequantizationRangePerChannel ---- */

static struct status range_prepare(struct prepare_context *p)
{
    return node_attr_float(prepare_node(p), "clip_value_max",
                           prepare_state(p, sizeof(float), NULL));
}

static struct status range_compute(struct kernel_context *k)
{
    const float *clip = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    TRY(check_ranges(k));
    if (x->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must not be empty");
    int64_t depth = x->shape.dims[3];
    float found = FLT_MIN;
    bool has_negative = false;
    for (int64_t channel = 0; channel < depth; channel++) {
        int64_t most = 0;
        TRY(kernel_check(k));
        for (int64_t i = channel; i < x->size; i += depth) {
            int64_t value = (int64_t)(float)((const int32_t *)x->data)[i];
            has_negative = has_negative || value < 0;
            value = value < 0 ? -value : value;
            most = value > most ? value : most;
        }
        float range = magnitude(k, channel) * (float)most / STEPS;
        found = range > found ? range : found;
    }
    found = found > *clip ? *clip : found;
    return quantized_set_range(k, 0, has_negative ? -found : 0, found);
}

/* ---- RequantizePerChannel ---- */

static struct status requantize_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype dtype;
    TRY(node_attr_type(node, "T", &dtype));
    if (dtype == DT_QINT32)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for an input of %s", node->op_name,
                        node->name, dtype_name(dtype));
}

static struct status requantize_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    float wanted[2];
    struct tensor *out;
    TRY(check_ranges(k));
    TRY(quantized_read_range(k, 3, wanted));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->dtype == DT_QINT8 && !(wanted[0] < 0))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "If out_type is QINT8, requested_output_max must be non negative, got "
                            "%g",
                            (double)wanted[0]);
    int64_t depth = x->shape.dims[3];
    float low = out->dtype == DT_QINT8 ? INT8_MIN : 0;
    float high = out->dtype == DT_QINT8 ? INT8_MAX : UINT8_MAX;
    float most = fabsf(wanted[0]) < fabsf(wanted[1]) ? fabsf(wanted[1]) : fabsf(wanted[0]);
    for (int64_t channel = 0; channel < depth && x->size > 0; channel++) {
        float scale = high * (magnitude(k, channel) / most / STEPS);
        TRY(kernel_check(k));
        for (int64_t i = channel; i < x->size; i += depth) {
            float value = (float)((const int32_t *)x->data)[i] * scale;
            value = value > low ? value : low;
            quantized_set(out->dtype, out->data, i, (int32_t)rintf(value < high ? value : high));
        }
    }
    return quantized_set_range(k, 1, wanted[0], wanted[1]);
}

static const struct kernel rows[] = {
    { "RequantizationRangePerChannel", DTYPES(DT_QINT32), .prepare = range_prepare,
      .compute = range_compute, .costly = true },
    { "RequantizePerChannel", DTYPES(DT_QUINT8) | DTYPES(DT_QINT8), "out_type",
      .prepare = requantize_prepare, .compute = requantize_compute, .costly = true },
};
const struct kernel_table kernels_quantized_channels = { rows, COUNT(rows) };
