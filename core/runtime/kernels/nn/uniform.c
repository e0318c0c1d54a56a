/*
 * uniform: UniformQuantize, UniformDequantize and UniformRequantize, to integers and back;
 * UniformQuantizedAdd and UniformQuantizedClipByValue.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/uniform_scale.h"
#include "runtime/kernels/quantized_numbers.h"
#include "runtime/kernels/shape_walk.h"

#define CHECK_EVERY 65536 /* elements between two checks of the deadline */

static struct status one_prepare(struct prepare_context *p)
{
    struct uniform_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    return uniform_attrs_read(prepare_node(p), "", attrs);
}

/* ---- UniformQuantize and UniformDequantize ---- */

static struct status quantize_compute(struct kernel_context *k)
{
    const struct uniform_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct uniform_scale scale;
    struct tensor *out;
    TRY(uniform_scale_read(k, 1, &x->shape, attrs->axis, &scale));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = uniform_scale_at(&scale, i);
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        quantized_set(out->dtype, out->data, i,
                      uniform_quantize(tensor_floats(x)[i], 1.0f / scale.scales[at],
                                       scale.zeros[at], attrs->least, attrs->most));
    }
    return status_ok();
}

static struct status dequantize_compute(struct kernel_context *k)
{
    const struct uniform_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct uniform_scale scale;
    struct tensor *out;
    TRY(uniform_scale_read(k, 1, &x->shape, attrs->axis, &scale));
    TRY(uniform_scale_check(k, 1));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = uniform_scale_at(&scale, i);
        uint32_t integer = (uint32_t)quantized_get(x->dtype, x->data, i);
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        tensor_floats_mut(out)[i] =
            (float)(int32_t)(integer - (uint32_t)scale.zeros[at]) * scale.scales[at];
    }
    return status_ok();
}

/* ---- UniformRequantize ---- */

struct requantize_attrs {
    struct uniform_attrs in, out;
};

static struct status requantize_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct requantize_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    enum dtype out;
    TRY(node_attr_type(node, "Tout", &out));
    if (out != DT_QINT8)
        return status_error(STATUS_UNIMPLEMENTED,
                            "op '%s' of node '%s' is not implemented for a result of %s",
                            node->op_name, node->name, dtype_name(out));
    TRY(uniform_attrs_read(node, "input_", &attrs->in));
    TRY(uniform_attrs_read(node, "output_", &attrs->out));
    if (attrs->in.axis < 0 || attrs->out.axis < 0 || attrs->in.axis == attrs->out.axis)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "If input and output is both per-axis quantized, the quantization axis "
                        "must be same.");
}

/* x of one scale as integers of another. One of the two, or both, may have a scale for each index
 * of an axis, which is then the same. Writes to `out` of the type `dtype`. */
static struct status change_scale(struct kernel_context *k, const struct tensor *x,
                                  const struct uniform_scale *from, const struct uniform_scale *to,
                                  const struct uniform_attrs *limits, bool zero_moves,
                                  struct tensor *out)
{
    const struct uniform_scale *finer = from->count > to->count ? from : to;
    struct uniform_factor factor = { 0 };
    int64_t known = -1; /* what `factor` is of */
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = uniform_scale_at(finer, i);
        int64_t in = from->count == 1 ? 0 : at, to_at = to->count == 1 ? 0 : at;
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        if (known != at)
            TRY(uniform_factor_of(k, (double)from->scales[in] / (double)to->scales[to_at],
                                  &factor));
        known = at;
        uint32_t integer = (uint32_t)quantized_get(x->dtype, x->data, i);
        int32_t value = uniform_multiply((int32_t)(integer - (uint32_t)from->zeros[in]), factor);
        if (zero_moves)
            value = (int32_t)((uint32_t)value + (uint32_t)to->zeros[to_at]);
        quantized_set(out->dtype, out->data, i, uniform_clamp(value, limits->least, limits->most));
    }
    return status_ok();
}

static struct status requantize_compute(struct kernel_context *k)
{
    const struct requantize_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct uniform_scale from, to;
    struct tensor *out;
    TRY(uniform_scale_read(k, 1, &x->shape, attrs->in.axis, &from));
    TRY(uniform_scale_read(k, 3, &x->shape, attrs->out.axis, &to));
    TRY(uniform_scale_check(k, 1));
    TRY(uniform_scale_check(k, 3));
    TRY(kernel_output(k, 0, &x->shape, &out));
    return change_scale(k, x, &from, &to, &attrs->out, true, out);
}

/* ---- UniformQuantizedAdd ---- */

struct uniform_add_attrs {
    struct uniform_attrs x, y, out;
};

static struct status add_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct uniform_add_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    TRY(uniform_attrs_read(node, "lhs_", &attrs->x));
    TRY(uniform_attrs_read(node, "rhs_", &attrs->y));
    return uniform_attrs_read(node, "output_", &attrs->out);
}

/* An operand in the scale of the sum, around 0. */
static struct status add_operand(struct kernel_context *k, int index,
                                 const struct uniform_attrs *attrs, const struct shape *sum,
                                 const struct uniform_scale *to, struct tensor *out)
{
    const struct uniform_add_attrs *all = kernel_state(k);
    const struct uniform_attrs any = { .least = INT32_MIN, .most = INT32_MAX };
    const struct tensor *x = kernel_input(k, index);
    struct uniform_scale from, target = *to;
    TRY(uniform_scale_read(k, 2 + 2 * index, &x->shape, attrs->axis, &from));
    if (attrs->axis >= 0 && all->out.axis >= 0 &&
        x->shape.rank - attrs->axis != sum->rank - all->out.axis)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "If %s and output is both per-axis quantized, the quantization axis "
                            "must match.",
                            index == 0 ? "lhs" : "rhs");
    int64_t axis = all->out.axis - (sum->rank - x->shape.rank);
    if (target.count > 1 && (axis < 0 || x->shape.dims[axis] != target.count))
        return kernel_error(k, STATUS_UNIMPLEMENTED,
                            "an operand of shape %s that repeats along the axis of the output's "
                            "scales is not implemented",
                            shape_text(&x->shape));
    if (target.count > 1)
        target.inner = shape_inner(&x->shape, (int)axis);
    TRY(kernel_scratch(k, x->dtype, &x->shape, out));
    struct status status = change_scale(k, x, &from, &target, &any, false, out);
    if (!status_is_ok(status))
        tensor_release(out);
    return status;
}

static struct status add_compute(struct kernel_context *k)
{
    const struct uniform_add_attrs *attrs = kernel_state(k);
    struct tensor x = { 0 }, y = { 0 }, *out;
    struct uniform_scale to;
    struct shape sum;
    TRY(shape_broadcast(&kernel_input(k, 0)->shape, &kernel_input(k, 1)->shape, &sum));
    TRY(uniform_scale_read(k, 6, &sum, attrs->out.axis, &to));
    for (int i = 2; i <= 6; i += 2)
        TRY(uniform_scale_check(k, i));
    TRY(kernel_output(k, 0, &sum, &out));
    TRY(add_operand(k, 0, &attrs->x, &sum, &to, &x));
    struct status status = add_operand(k, 1, &attrs->y, &sum, &to, &y);
    for (int64_t i = 0; i < out->size && status_is_ok(status); i++) {
        uint32_t a = (uint32_t)((int32_t *)x.data)[shape_broadcast_index(&sum, i, &x.shape)];
        uint32_t b = (uint32_t)((int32_t *)y.data)[shape_broadcast_index(&sum, i, &y.shape)];
        uint32_t zero = (uint32_t)to.zeros[uniform_scale_at(&to, i)];
        if (i % CHECK_EVERY == 0)
            status = kernel_check(k);
        ((int32_t *)out->data)[i] =
            uniform_clamp((int32_t)(a + b + zero), attrs->out.least, attrs->out.most);
    }
    tensor_release(&x);
    tensor_release(&y);
    return status;
}

/* ---- UniformQuantizedClipByValue ---- */

static struct status clip_compute(struct kernel_context *k)
{
    const struct uniform_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *low = kernel_input(k, 1);
    const struct tensor *high = kernel_input(k, 2);
    struct uniform_scale scale;
    struct tensor *out;
    TRY(uniform_scale_read(k, 3, &x->shape, attrs->axis, &scale));
    if (!shape_equal(&low->shape, &kernel_input(k, 3)->shape) ||
        !shape_equal(&high->shape, &low->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Input min and max must have the shape of the scales, %s, not %s and "
                            "%s",
                            shape_text(&kernel_input(k, 3)->shape), shape_text(&low->shape),
                            shape_text(&high->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t at = uniform_scale_at(&scale, i);
        int32_t value = ((const int32_t *)x->data)[i], most = ((const int32_t *)high->data)[at];
        int32_t least = ((const int32_t *)low->data)[at];
        value = value > least ? value : least;
        ((int32_t *)out->data)[i] = value < most ? value : most;
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "UniformQuantize", DTYPES(DT_QINT8) | DTYPES(DT_QUINT8) | DTYPES(DT_QINT32), "Tout",
      .prepare = one_prepare, .compute = quantize_compute, .costly = true },
    { "UniformDequantize", DTYPES(DT_QINT8) | DTYPES(DT_QUINT8) | DTYPES(DT_QINT32), "Tin",
      .prepare = one_prepare, .compute = dequantize_compute, .costly = true },
    { "UniformRequantize", DTYPES(DT_QINT8) | DTYPES(DT_QINT32), "Tin",
      .prepare = requantize_prepare, .compute = requantize_compute, .costly = true },
    { "UniformQuantizedAdd", DTYPES(DT_QINT32), "T", .prepare = add_prepare, .compute = add_compute,
      .costly = true },
    { "UniformQuantizedClipByValue", DTYPES(DT_QINT32), "T", .prepare = one_prepare,
      .compute = clip_compute, .costly = true },
};
const struct kernel_table kernels_uniform = { rows, COUNT(rows) };
