/*
 * quantized_product: QuantizedMatMul and QuantizedConv2D of bytes, whose results are int32.
 */
#include "base/parallel.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/plain/byte_product.h"
#include "runtime/kernels/quantized_numbers.h"

/* Roughly, of one product with the sums in the cache. */
#define PRODUCT_NS 0.3

/* A bytes tensor whose range determines its zero point. */
static struct byte_operand operand_of(const struct tensor *x, const float range[2])
{
    return (struct byte_operand){ .bytes = x->data,
                                  .is_signed = x->dtype == DT_QINT8,
                                  .zero =
                                      (int32_t)(uint32_t)quantized_unlimited(x->dtype, 0, range) };
}

/* The ranges of inputs 0 and 1 begin at input 2; that of the products is outputs 1 and 2. */
static struct status read_operands(struct kernel_context *k, struct byte_operand out[2])
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    float in_a[2], in_b[2], range[2];
    TRY(quantized_read_range(k, 2, in_a));
    TRY(quantized_read_range(k, 4, in_b));
    quantized_product_range(a->dtype, in_a, b->dtype, in_b, range);
    out[0] = operand_of(a, in_a);
    out[1] = operand_of(b, in_b);
    return quantized_set_range(k, 1, range[0], range[1]);
}

/* The kernels are chosen by the type of the first operand. */
static struct status check_types(const struct node *node, const char *first, const char *second,
                                 const char *out)
{
    enum dtype a, b, result;
    TRY(node_attr_type(node, first, &a));
    TRY(node_attr_type(node, second, &b));
    TRY(node_attr_type(node, out, &result));
    if (a == DT_QUINT8 && b == DT_QUINT8 && result == DT_QINT32)
        return status_ok();
    return status_error(
        STATUS_UNIMPLEMENTED, "op '%s' of node '%s' is not implemented for %s and %s that give %s",
        node->op_name, node->name, dtype_name(a), dtype_name(b), dtype_name(result));
}

/* ---- QuantizedMatMul ---- */

struct quantized_matmul_state {
    bool transpose_a, transpose_b;
};

static struct status matmul_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct quantized_matmul_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(node, "transpose_a", &state->transpose_a));
    TRY(node_attr_bool(node, "transpose_b", &state->transpose_b));
    return check_types(node, "T1", "T2", "Toutput");
}

struct matmul_run {
    const struct kernel_context *k;
    struct byte_operand operands[2];
    int64_t n, depth, a_row, a_step;
    int32_t *out;
};

static void matmul_rows(void *context, int64_t first, int64_t end)
{
    const struct matmul_run *run = context;
    for (int64_t row = first; row < end && status_is_ok(kernel_check(run->k)); row++)
        byte_matmul_row(run->n, run->depth, &run->operands[0], run->a_row, run->a_step,
                        &run->operands[1], row, run->out + row * run->n);
}

/* b [n, k] as [k, n] */
static struct status transpose_bytes(struct kernel_context *k, const struct tensor *b,
                                     struct tensor *out)
{
    int64_t n = b->shape.dims[0], depth = b->shape.dims[1];
    struct shape shape = shape_of(depth, n);
    TRY(kernel_scratch(k, b->dtype, &shape, out));
    for (int64_t i = 0; i < depth; i++)
        for (int64_t j = 0; j < n; j++)
            ((uint8_t *)out->data)[i * n + j] = ((const uint8_t *)b->data)[j * depth + i];
    return status_ok();
}

static struct status matmul_shapes(struct kernel_context *k, int64_t *m, struct matmul_run *run)
{
    const struct quantized_matmul_state *state = kernel_state(k);
    const struct shape *a = &kernel_input(k, 0)->shape, *b = &kernel_input(k, 1)->shape;
    if (a->rank != 2 || b->rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "In[%d] is not a matrix. Instead it has shape %s", a->rank != 2 ? 0 : 1,
                            shape_text(a->rank != 2 ? a : b));
    *m = a->dims[state->transpose_a];
    run->depth = a->dims[!state->transpose_a];
    run->n = b->dims[!state->transpose_b];
    run->a_row = state->transpose_a ? 1 : run->depth;
    run->a_step = state->transpose_a ? *m : 1;
    if (run->depth == b->dims[state->transpose_b])
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "Matrix size-incompatible: In[0]: %s, In[1]: %s", shape_text(a),
                        shape_text(b));
}

static struct status matmul_compute(struct kernel_context *k)
{
    const struct quantized_matmul_state *state = kernel_state(k);
    const struct tensor *b = kernel_input(k, 1);
    struct matmul_run run = { .k = k };
    struct tensor turned = { 0 }, *out;
    int64_t m = 0;
    TRY(matmul_shapes(k, &m, &run));
    struct shape shape = shape_of(m, run.n);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(quantized_check_ranges(k, "a must be larger than min_a", "b must be larger than min_b"));
    TRY(read_operands(k, run.operands));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (state->transpose_b) {
        TRY(transpose_bytes(k, b, &turned));
        run.operands[1].bytes = turned.data;
    }
    run.out = out->data;
    parallel_for(m, (double)out->size * (double)run.depth * PRODUCT_NS, matmul_rows, &run);
    tensor_release(&turned);
    return kernel_check(k);
}

/* ---- QuantizedConv2D ---- */

/* TensorFlow's quantized convolution puts the windows in the middle of the image also where the
 * stride leaves out pixels at the end. */
static void centre(const struct window_attrs *attrs, struct window *window)
{
    int64_t missing = (window->out - 1) * window->stride + window->kernel - window->in;
    window->before = (missing + (attrs->padding == PADDING_VALID)) / 2;
}

static struct status conv_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct window_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    TRY(window_attrs_read_images(node, attrs));
    if (attrs->stride[ROWS] != attrs->stride[COLUMNS])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Current implementation only supports equal length strides in the row "
                            "and column dimensions.");
    if (attrs->dilation[ROWS] != 1 || attrs->dilation[COLUMNS] != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Current implementation only supports dilated rate as 1 in the row and "
                            "column dimensions.");
    return check_types(node, "Tinput", "Tfilter", "out_type");
}

struct conv_run {
    const struct kernel_context *k;
    struct byte_operand operands[2];
    struct conv_size size;
    int32_t *out;
};

static void conv_pixels(void *context, int64_t first, int64_t end)
{
    const struct conv_run *run = context;
    for (int64_t i = first; i < end && status_is_ok(kernel_check(run->k)); i++)
        byte_conv_pixel(&run->size, &run->operands[0], &run->operands[1], i,
                        run->out + i * run->size.m);
}

static struct status conv_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *filter = kernel_input(k, 1);
    struct conv_run run = { .k = k };
    struct tensor *out;
    TRY(conv_size_of(kernel_state(k), &x->shape, &filter->shape, false, &run.size));
    if (run.size.groups != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input and filter must have the same depth: %lld vs %lld",
                            (long long)run.size.c, (long long)filter->shape.dims[2]);
    centre(kernel_state(k), &run.size.rows);
    centre(kernel_state(k), &run.size.columns);
    struct shape shape = conv_out_shape(kernel_state(k), &run.size);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(read_operands(k, run.operands));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    run.out = out->data;
    int64_t pixels = out->size / run.size.m;
    parallel_for(pixels, (double)pixels * (double)filter->size * PRODUCT_NS, conv_pixels, &run);
    return kernel_check(k);
}

static const struct kernel rows[] = {
    { "QuantizedMatMul", DTYPES(DT_QUINT8), "T1", .prepare = matmul_prepare,
      .compute = matmul_compute, .costly = true },
    { "QuantizedConv2D", DTYPES(DT_QUINT8), "Tfilter", .prepare = conv_prepare,
      .compute = conv_compute, .costly = true },
};
const struct kernel_table kernels_quantized_product = { rows, COUNT(rows) };
