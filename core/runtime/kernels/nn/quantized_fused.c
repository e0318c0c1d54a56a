/*
 * quantized_fused: products of bytes and the operations fused with them: a bias, a Relu, bytes or
 * floats as the result. TensorFlow computes these ops by oneDNN; Intel's tools quantize models to
 * them.
 *
 * Their ranges are symmetric: the greatest integer means the end that is farther from 0. A sum
 * becomes a float before the bias is added. The order of the float operations is oneDNN's, which
 * makes the results the same to the bit.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/plain/byte_product.h"
#include "runtime/kernels/quantized_numbers.h"

/* Roughly, of one product with the sums in the cache. */
#define PRODUCT_NS 0.3

struct fused_state {
    struct window_attrs window; /* of a convolution */
    bool depthwise, relu, min_first;
    int ranges;     /* the input that begins the ranges: that of the first operand, of the second,
                       and if the result has bytes or floats, of the result */
    enum dtype out; /* of output 0 */
};

/* The operations on the sums of a row [m]. */
struct epilogue {
    const float *scales; /* [m], from sums to numbers */
    const float *bias;   /* [m] or NULL */
    bool relu;
    float back; /* from numbers to integers of the result */
    enum dtype out;
};

static void finish_row(const struct epilogue *tail, const int32_t *sums, int64_t m, int64_t row,
                       void *out)
{
    struct quantized_limits limits = quantized_limits(tail->out);
    /* the greatest float that is an int32 */
    float low = (float)limits.lowest,
          high = tail->out == DT_QINT32 ? 2147483520.0f : (float)limits.highest;
    for (int64_t j = 0; j < m; j++) {
        float x = (float)sums[j] * tail->scales[j];
        if (tail->bias != NULL)
            x += tail->bias[j];
        if (tail->relu)
            x = x > 0 ? x : 0;
        if (tail->out == DT_FLOAT) {
            ((float *)out)[row * m + j] = x;
            continue;
        }
        x *= tail->back;
        x = x > low ? (x < high ? x : high) : low;
        quantized_set(tail->out, out, row * m + j, (int32_t)rintf(x));
    }
}

/* ---- ranges ---- */

static float farther(float low, float high)
{
    return fmaxf(fabsf(low), fabsf(high));
}

static float greatest(enum dtype dtype)
{
    return dtype == DT_QUINT8 ? 255 : 127;
}

/* The range of the second operand may be one for each channel of the result. */
struct ranges {
    float x[2];
    const struct tensor *low, *high;
    float x_end;   /* the value of the greatest integer of the first operand */
    float x_scale; /* the value of its integer 1 */
    float out[2];  /* that was asked for */
    float *scales; /* [m] */
};

static float channel_range(const struct ranges *ranges, int64_t j)
{
    int64_t i = ranges->low->size == 1 ? 0 : j;
    return farther(tensor_floats(ranges->low)[i], tensor_floats(ranges->high)[i]);
}

static struct status read_ranges(struct kernel_context *k, int64_t m, struct ranges *out)
{
    const struct fused_state *state = kernel_state(k);
    out->low = kernel_input(k, state->ranges + 2);
    out->high = kernel_input(k, state->ranges + 3);
    TRY(quantized_read_range(k, state->ranges, out->x));
    if (out->low->size == 0 || !shape_equal(&out->low->shape, &out->high->shape) ||
        (out->low->size != 1 && out->low->size != m))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "the range of the second operand, %s to %s, must be two numbers or two "
                            "for each of %lld channels",
                            shape_text(&out->low->shape), shape_text(&out->high->shape),
                            (long long)m);
    if (state->out != DT_QINT32)
        TRY(quantized_read_range(k, state->ranges + 4, out->out));
    out->x_end = state->min_first ? out->x[1] - out->x[0] : farther(out->x[0], out->x[1]);
    out->x_scale = out->x_end / greatest(kernel_input(k, 0)->dtype);
    for (int64_t j = 0; j < m; j++)
        out->scales[j] = out->x_scale * (channel_range(out, j) / 127);
    return status_ok();
}

/* The value of the integer 1 of the result. */
static float out_scale(const struct ranges *ranges, enum dtype dtype)
{
    if (dtype != DT_QINT32)
        return farther(ranges->out[0], ranges->out[1]) / greatest(dtype);
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < ranges->low->size; i++) {
        low = fminf(low, tensor_floats(ranges->low)[i]);
        high = fmaxf(high, tensor_floats(ranges->high)[i]);
    }
    return ranges->x_scale * (farther(low, high) / 127);
}

/* A step of the second operand, whose least integer, -128, is not used. */
static float step_of_channel(const struct ranges *ranges, int64_t i)
{
    return (tensor_floats(ranges->high)[i] - tensor_floats(ranges->low)[i]) / 254;
}

/* Outputs 1 and 2: the requested range, or that of int32 products, by channel if that of the
 * second operand is. */
static struct status set_range(struct kernel_context *k, const struct ranges *ranges)
{
    const struct fused_state *state = kernel_state(k);
    struct tensor *low, *high;
    if (state->out == DT_FLOAT)
        return status_ok();
    if (state->out != DT_QINT32)
        return quantized_set_range(k, 1, ranges->out[0], ranges->out[1]);
    TRY(kernel_output(k, 1, &ranges->low->shape, &low));
    TRY(kernel_output(k, 2, &ranges->low->shape, &high));
    float x_step =
        (ranges->x[1] - ranges->x[0]) / (kernel_input(k, 0)->dtype == DT_QUINT8 ? 255.0f : 254.0f);
    for (int64_t i = 0; i < low->size; i++) {
        float step = x_step * step_of_channel(ranges, i);
        tensor_floats_mut(low)[i] = step * -2147483648.0f;
        tensor_floats_mut(high)[i] = step * 2147483648.0f;
    }
    return status_ok();
}

/* ---- the bias ---- */

/* From integers of a bias to numbers, divided by it. */
static float bias_scale(const struct kernel_context *k, const struct ranges *ranges, int64_t j)
{
    return greatest(kernel_input(k, 0)->dtype) * 127 / (ranges->x_end * channel_range(ranges, j));
}

/* The bias as floats [m]. A float bias of a first operand whose least number is not 0 gets what
 * TensorFlow 2.21 adds: the sum of each column, times the integer that the least number is. */
static void read_bias(const struct kernel_context *k, const struct ranges *ranges,
                      const struct tensor *columns, float *out)
{
    const struct fused_state *state = kernel_state(k);
    const struct tensor *bias = kernel_input(k, 2);
    int64_t m = bias->size;
    for (int64_t j = 0; j < m; j++)
        if (bias->dtype == DT_QINT32)
            out[j] = (float)((const int32_t *)bias->data)[j] / bias_scale(k, ranges, j);
        else
            out[j] = tensor_floats(bias)[j];
    if (!state->min_first || bias->dtype == DT_QINT32)
        return;
    float least = 255 * ranges->x[0] / (ranges->x[1] - ranges->x[0]);
    for (int64_t j = 0; j < m; j++) {
        uint32_t sum = 0; /* wraps, as TensorFlow's may */
        for (int64_t i = 0; i < columns->shape.dims[0]; i++)
            sum += (uint32_t)((const int8_t *)columns->data)[i * m + j];
        out[j] += (float)(int32_t)sum * least;
    }
}

/* `floats`: [2, m], the scales and the bias */
static struct status make_tail(struct kernel_context *k, int64_t m, float *floats,
                               struct epilogue *out)
{
    const struct fused_state *state = kernel_state(k);
    struct ranges ranges = { .scales = floats };
    const struct tensor *bias = state->ranges > 2 ? kernel_input(k, 2) : NULL;
    TRY(read_ranges(k, m, &ranges));
    if (bias != NULL && (bias->shape.rank != 1 || bias->size != m))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the bias must have shape [%lld], not %s",
                            (long long)m, shape_text(&bias->shape));
    if (bias != NULL)
        read_bias(k, &ranges, kernel_input(k, 1), floats + m);
    *out = (struct epilogue){ .scales = floats,
                              .bias = bias != NULL ? floats + m : NULL,
                              .relu = state->relu,
                              .back = 1 / out_scale(&ranges, state->out),
                              .out = state->out };
    return set_range(k, &ranges);
}

/* ---- products, then their tail ---- */

struct fused_run {
    const struct kernel_context *k;
    struct byte_operand operands[2];
    struct conv_size size; /* of a convolution; otherwise groups is 0 */
    int64_t m, depth;
    struct epilogue tail;
    int32_t *sums; /* may be `out` */
    void *out;
};

static void run_rows(void *context, int64_t first, int64_t end)
{
    const struct fused_run *run = context;
    for (int64_t row = first; row < end && status_is_ok(kernel_check(run->k)); row++) {
        int32_t *sums = run->sums + row * run->m;
        if (run->size.groups > 0)
            byte_conv_pixel(&run->size, &run->operands[0], &run->operands[1], row, sums);
        else
            byte_matmul_row(run->m, run->depth, &run->operands[0], run->depth, 1, &run->operands[1],
                            row, sums);
        finish_row(&run->tail, sums, run->m, row, run->out);
    }
}

static struct status fill_output(struct kernel_context *k, const struct shape *shape, double cost,
                                 struct fused_run *run)
{
    struct tensor *out, sums = { 0 };
    TRY(kernel_output(k, 0, shape, &out));
    if (out->size == 0)
        return status_ok();
    run->sums = out->data;
    if (dtype_size(out->dtype) < sizeof(int32_t)) {
        TRY(kernel_scratch(k, DT_INT32, shape, &sums));
        run->sums = sums.data;
    }
    for (int i = 0; i < 2; i++)
        run->operands[i] =
            (struct byte_operand){ .bytes = kernel_input(k, i)->data,
                                   .is_signed = kernel_input(k, i)->dtype == DT_QINT8 };
    run->k = k;
    run->out = out->data;
    parallel_for(out->size / run->m, cost * PRODUCT_NS, run_rows, run);
    tensor_release(&sums);
    return kernel_check(k);
}

static struct status compute(struct kernel_context *k, const struct shape *shape, double cost,
                             struct fused_run *run)
{
    struct tensor floats = { 0 };
    struct shape two = shape_of(2, run->m);
    TRY(kernel_scratch(k, DT_FLOAT, &two, &floats));
    struct status status = make_tail(k, run->m, tensor_floats_mut(&floats), &run->tail);
    if (status_is_ok(status))
        status = fill_output(k, shape, cost, run);
    tensor_release(&floats);
    return status;
}

/* ---- preparing ---- */

static bool has_input(const struct op *op, const char *name)
{
    for (int i = 0; i < op->inputs_count; i++)
        if (strcmp(op->inputs[i].name, name) == 0)
            return true;
    return false;
}

/* The types for which TensorFlow has a kernel, except that of the first operand. */
static struct status check_types(const struct node *node, const char *second, const char *out,
                                 enum dtype bytes, struct fused_state *state)
{
    enum dtype type;
    bool has_range = has_input(node->op, "min_freezed_output");
    TRY(node_attr_type(node, second, &type));
    TRY(node_attr_type(node, out, &state->out));
    state->ranges = has_input(node->op, "bias") ? 3 : 2;
    if (type == DT_QINT8 &&
        (has_range ? state->out == bytes || state->out == DT_FLOAT : state->out == DT_QINT32))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for %s that give %s",
                        node->op_name, node->name, dtype_name(type), dtype_name(state->out));
}

static struct status prepare_conv(struct prepare_context *p, bool depthwise, bool relu)
{
    const struct node *node = prepare_node(p);
    struct fused_state *state = prepare_state(p, sizeof *state, NULL);
    *state = (struct fused_state){ .depthwise = depthwise, .relu = relu };
    TRY(window_attrs_read_images(node, &state->window));
    return check_types(node, "Tfilter", "out_type", relu ? DT_QUINT8 : DT_QINT8, state);
}

static struct status conv_prepare(struct prepare_context *p)
{
    return prepare_conv(p, false, false);
}

static struct status conv_relu_prepare(struct prepare_context *p)
{
    return prepare_conv(p, false, true);
}

static struct status depthwise_prepare(struct prepare_context *p)
{
    return prepare_conv(p, true, false);
}

static struct status depthwise_relu_prepare(struct prepare_context *p)
{
    return prepare_conv(p, true, true);
}

static struct status prepare_matmul(struct prepare_context *p, bool relu)
{
    const struct node *node = prepare_node(p);
    struct fused_state *state = prepare_state(p, sizeof *state, NULL);
    bool turned[2];
    struct bytes mode;
    *state = (struct fused_state){ .relu = relu };
    TRY(node_attr_bool(node, "transpose_a", &turned[0]));
    TRY(node_attr_bool(node, "transpose_b", &turned[1]));
    if (turned[0] || turned[1])
        return status_error(STATUS_UNIMPLEMENTED,
                            "op '%s' of node '%s' is not implemented for transposed operands",
                            node->op_name, node->name);
    TRY(node_attr_string(node, "input_quant_mode", &mode));
    TRY(check_types(node, "T2", "Toutput", DT_QUINT8, state));
    /* TensorFlow 2.21 loses the mode when it rewrites the ops whose results are integers. SCALED
     * differs from MIN_FIRST only if the range of the first operand does not begin at 0. */
    state->min_first = state->out != DT_FLOAT || bytes_equal(mode, bytes_of("MIN_FIRST"));
    return status_ok();
}

static struct status matmul_prepare(struct prepare_context *p)
{
    return prepare_matmul(p, false);
}

static struct status matmul_relu_prepare(struct prepare_context *p)
{
    return prepare_matmul(p, true);
}

/* ---- computing ---- */

static struct status conv_compute(struct kernel_context *k)
{
    const struct fused_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *filter = kernel_input(k, 1);
    struct fused_run run = { 0 };
    TRY(conv_size_of(&state->window, &x->shape, &filter->shape, state->depthwise, &run.size));
    struct shape shape = conv_out_shape(&state->window, &run.size);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    run.m = run.size.m;
    if (state->depthwise) /* a group for each channel; the filters lie in memory alike */
        run.size.groups = run.size.c;
    double pixels = (double)run.size.n * (double)conv_places_out(&run.size);
    return compute(k, &shape, pixels * (double)filter->size, &run);
}

static struct status matmul_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the operands must be matrices, not %s, %s",
                            shape_text(&a->shape), shape_text(&b->shape));
    if (a->shape.dims[1] != b->shape.dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Matrix size-incompatible: In[0]: %s, In[1]: %s", shape_text(&a->shape),
                            shape_text(&b->shape));
    struct fused_run run = { .m = b->shape.dims[1], .depth = b->shape.dims[0] };
    struct shape shape = shape_of(a->shape.dims[0], run.m);
    TRY(shape_check(2, shape.dims, &shape));
    return compute(k, &shape, (double)a->size * (double)run.m, &run);
}

#define UNSIGNED DTYPES(DT_QUINT8)
#define BYTES    (DTYPES(DT_QINT8) | DTYPES(DT_QUINT8))
#define CONV(name, types, prepares)                                                         \
    {                                                                                       \
        name, types, "Tinput", .prepare = prepares, .compute = conv_compute, .costly = true \
    }
#define MATMUL(name, prepares)                                                               \
    {                                                                                        \
        name, UNSIGNED, "T1", .prepare = prepares, .compute = matmul_compute, .costly = true \
    }
static const struct kernel rows[] = {
    { "QuantizedConv2D", DTYPES(DT_QINT8), "Tfilter", .prepare = conv_prepare,
      .compute = conv_compute, .costly = true },
    CONV("QuantizedConv2DPerChannel", UNSIGNED, conv_prepare),
    CONV("QuantizedConv2DAndRelu", UNSIGNED, conv_relu_prepare),
    CONV("QuantizedConv2DAndRequantize", UNSIGNED, conv_prepare),
    CONV("QuantizedConv2DAndReluAndRequantize", UNSIGNED, conv_relu_prepare),
    CONV("QuantizedConv2DWithBias", BYTES, conv_prepare),
    CONV("QuantizedConv2DWithBiasAndRelu", BYTES, conv_relu_prepare),
    CONV("QuantizedConv2DWithBiasAndRequantize", BYTES, conv_prepare),
    CONV("QuantizedConv2DWithBiasAndReluAndRequantize", BYTES, conv_relu_prepare),
    CONV("QuantizedDepthwiseConv2D", UNSIGNED, depthwise_prepare),
    CONV("QuantizedDepthwiseConv2DWithBias", UNSIGNED, depthwise_prepare),
    CONV("QuantizedDepthwiseConv2DWithBiasAndRelu", UNSIGNED, depthwise_relu_prepare),
    CONV("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", UNSIGNED, depthwise_relu_prepare),
    MATMUL("QuantizedMatMulWithBias", matmul_prepare),
    MATMUL("QuantizedMatMulWithBiasAndRelu", matmul_relu_prepare),
    MATMUL("QuantizedMatMulWithBiasAndRequantize", matmul_prepare),
    MATMUL("QuantizedMatMulWithBiasAndReluAndRequantize", matmul_relu_prepare),
    MATMUL("QuantizedMatMulWithBiasAndDequantize", matmul_prepare),
};
const struct kernel_table kernels_quantized_fused = { rows, COUNT(rows) };
