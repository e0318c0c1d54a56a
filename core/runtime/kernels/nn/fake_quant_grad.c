/*
 * fake_quant_grad: the gradients of FakeQuantWithMinMax*, and QuantizeAndDequantizeV4Grad. As if
 * nothing were rounded: it flows on inside the range; what is outside is min or max itself.
 */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/fake_quant.h"

/* One channel in each `stride` numbers. */
struct channel_grad {
    const float *dy, *x;
    float *dx;
    int64_t count, stride;
    double by_min, by_max; /* the results for both ends */
};

static void channel_grad(const struct fake_quant_state *state, float min, float max,
                         struct channel_grad *grad)
{
    bool is_empty = min == 0 && max == 0; /* of such a range TensorFlow passes all on */
    struct fake_quant_steps steps = { 0 };
    if (!is_empty)
        steps = fake_quant_nudged(state, min, max);
    for (int64_t i = 0; i < grad->count * grad->stride; i += grad->stride) {
        float dy = grad->dy[i], x = grad->x[i];
        bool below = !is_empty && x < steps.min, above = !is_empty && x > steps.max;
        bool inside = is_empty || (x >= steps.min && x <= steps.max);
        grad->by_min += below ? (double)dy : 0;
        grad->by_max += above ? (double)dy : 0;
        grad->dx[i] = inside ? dy : 0;
    }
}

static struct status check_shapes(struct kernel_context *k)
{
    const struct shape *dy = &kernel_input(k, 0)->shape, *x = &kernel_input(k, 1)->shape;
    if (shape_equal(dy, x))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "gradient and input must be the same size, not %s and %s", shape_text(dy),
                        shape_text(x));
}

static struct status args_grad_compute(struct kernel_context *k)
{
    const struct fake_quant_state *state = kernel_state(k);
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct tensor *dx;
    TRY(check_shapes(k));
    TRY(kernel_output(k, 0, &x->shape, &dx));
    struct channel_grad grad = { .dy = tensor_floats(dy),
                                 .x = tensor_floats(x),
                                 .dx = tensor_floats_mut(dx),
                                 .count = x->size,
                                 .stride = 1 };
    channel_grad(state, state->min, state->max, &grad);
    return status_ok();
}

/* `channels` of them, each with a range; rank: of min and max. */
static struct status grad_of_channels(struct kernel_context *k, int rank, int64_t channels)
{
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct tensor *dx, *by_min, *by_max;
    TRY(check_shapes(k));
    TRY(fake_quant_check_range(k, 2, rank, channels));
    TRY(kernel_output(k, 0, &x->shape, &dx));
    TRY(kernel_output(k, 1, &kernel_input(k, 2)->shape, &by_min));
    TRY(kernel_output(k, 2, &kernel_input(k, 2)->shape, &by_max));
    for (int64_t c = 0; c < channels; c++) {
        struct channel_grad grad = { .count = x->size / channels, .stride = channels };
        if (x->size > 0) {
            TRY(kernel_check(k));
            grad.dy = tensor_floats(dy) + c;
            grad.x = tensor_floats(x) + c;
            grad.dx = tensor_floats_mut(dx) + c;
            channel_grad(kernel_state(k), tensor_floats(kernel_input(k, 2))[c],
                         tensor_floats(kernel_input(k, 3))[c], &grad);
        }
        tensor_floats_mut(by_min)[c] = (float)grad.by_min;
        tensor_floats_mut(by_max)[c] = (float)grad.by_max;
    }
    return status_ok();
}

static struct status vars_grad_compute(struct kernel_context *k)
{
    return grad_of_channels(k, 0, 1);
}

static struct status channels_grad_compute(struct kernel_context *k)
{
    const struct shape *x = &kernel_input(k, 1)->shape;
    if (x->rank == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "inputs must have a channel for each of min");
    return grad_of_channels(k, 1, x->dims[x->rank - 1]);
}

/* ---- QuantizeAndDequantizeV4Grad ---- */

static struct status v4_prepare(struct prepare_context *p)
{
    return node_attr_int(prepare_node(p), "axis", prepare_state(p, sizeof(int64_t), NULL));
}

static struct status v4_compute(struct kernel_context *k)
{
    int64_t axis = *(const int64_t *)kernel_state(k), count = 1, inner = 1;
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    const struct tensor *low = kernel_input(k, 2), *high = kernel_input(k, 3);
    struct tensor *out;
    TRY(check_shapes(k));
    if (axis < -1 || axis >= x->shape.rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Axis should be -1 or in [0, %d), not %lld",
                            x->shape.rank, (long long)axis);
    if (axis >= 0) {
        count = x->shape.dims[axis];
        inner = shape_inner(&x->shape, (int)axis);
    }
    int rank = axis >= 0;
    if (low->shape.rank != rank || high->shape.rank != rank || low->size != count ||
        high->size != count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input_min and input_max must have %lld elements and rank %d, but have "
                            "shapes %s and %s",
                            (long long)count, rank, shape_text(&low->shape),
                            shape_text(&high->shape));
    for (int i = 1; i <= 2; i++) {
        TRY(kernel_output(k, i, &low->shape, &out));
        memset(out->data, 0, (size_t)count * dtype_size(out->dtype));
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    size_t bytes = dtype_size(x->dtype);
    memset(out->data, 0, (size_t)x->size * bytes);
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = count == 1 ? 0 : i / inner % count;
        double value = floating_element(x, i);
        if (value >= floating_element(low, at) && value <= floating_element(high, at))
            memcpy(at_bytes(out->data, i, bytes), at_bytes_const(dy->data, i, bytes), bytes);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "FakeQuantWithMinMaxArgsGradient", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = args_grad_compute },
    { "FakeQuantWithMinMaxVarsGradient", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = vars_grad_compute },
    { "FakeQuantWithMinMaxVarsPerChannelGradient", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = channels_grad_compute },
    { "QuantizeAndDequantizeV4Grad", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .prepare = v4_prepare,
      .compute = v4_compute },
};
const struct kernel_table kernels_fake_quant_grad = { rows, COUNT(rows) };
