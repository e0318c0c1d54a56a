/*
 * quantized_sum: QuantizedAdd, QuantizedMul and QuantizedBiasAdd: sums and products of quantized
 * integers, element by element. Sums are of a range that is much wider than those of the operands.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"
#include "runtime/kernels/shape_walk.h"

#define CHECK_EVERY 65536 /* elements between two checks of the deadline */

/* Leaves room for sums of this many numbers. */
#define ADD_ROOM      (1 << 14)
#define BIAS_ADD_ROOM (1 << 17)

static void sum_range(const float a[2], const float b[2], float room, float out[2])
{
    float most = a[1];
    most = -a[0] > most ? -a[0] : most;
    most = b[1] > most ? b[1] : most;
    most = -b[0] > most ? -b[0] : most;
    out[1] = most * room;
    out[0] = -out[1];
}

static int32_t wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* ---- QuantizedAdd and QuantizedMul ---- */

enum joined { BOTH = 1, ONLY_Y, ONLY_X }; /* which operands have these dimensions */

/* The dimensions that are left when neighbours that broadcast the same way are joined, and those of
 * 1 left out. Returns their number; kinds[0 .. 2) are the first two. */
static int join_dims(const struct shape *out, const struct shape *x, const struct shape *y,
                     enum joined kinds[2])
{
    int count = 0;
    enum joined last = 0;
    for (int d = 0; d < out->rank; d++) {
        int dx = d - (out->rank - x->rank), dy = d - (out->rank - y->rank);
        int64_t in_x = dx < 0 ? 1 : x->dims[dx], in_y = dy < 0 ? 1 : y->dims[dy];
        enum joined kind = in_x == in_y ? BOTH : in_x == 1 ? ONLY_Y : ONLY_X;
        if (kind == last || (in_x == 1 && in_y == 1))
            continue;
        if (count < 2)
            kinds[count] = kind;
        count++;
        last = kind;
    }
    return count;
}

/* TensorFlow computes with a scalar, a vector for each row, and operands of one shape. */
static struct status broadcast_of(struct kernel_context *k, struct shape *out)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    enum joined kinds[2];
    TRY(shape_broadcast(&x->shape, &y->shape, out));
    int rank = join_dims(out, &x->shape, &y->shape, kinds);
    bool rows = rank == 2 && kinds[0] != BOTH && kinds[1] == BOTH;
    if (x->size == 1 || y->size == 1 || rank < 2 || rows)
        return status_ok();
    return kernel_error(k, STATUS_UNIMPLEMENTED, "Broadcast between %s and %s not supported yet.",
                        shape_text(&x->shape), shape_text(&y->shape));
}

/* The summand of each of the 256 bytes. TensorFlow converts a scalar exactly; in tensors, it
 * follows the line through the values of 0 and 1. */
static void fill_addends(const float range[2], const float sum[2], bool is_scalar, int32_t out[256])
{
    int64_t ends[2];
    for (int i = 0; i < 2; i++)
        ends[i] = quantized_unlimited(DT_QINT32, quantized_to_float(DT_QUINT8, i, range), sum);
    int32_t step = (int32_t)(uint32_t)(ends[1] - ends[0]);
    for (int i = 0; i < 256; i++) {
        int64_t value = ends[0] + (int64_t)i * step;
        out[i] = (int32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
        if (is_scalar)
            out[i] = quantized_of_float(DT_QINT32, quantized_to_float(DT_QUINT8, i, range), sum);
    }
}

/* The factor of each of the 256 bytes in a product. */
static void fill_factors(const float range[2], int32_t out[256])
{
    int32_t zero = (int32_t)(uint32_t)quantized_unlimited(DT_QUINT8, 0, range);
    for (int i = 0; i < 256; i++)
        out[i] = (int32_t)((uint32_t)i - (uint32_t)zero);
}

static struct status binary(struct kernel_context *k, bool multiply)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    float in_x[2], in_y[2], range[2];
    int32_t of_x[256], of_y[256];
    struct shape shape;
    struct tensor *out;
    TRY(quantized_read_range(k, 2, in_x));
    TRY(quantized_read_range(k, 4, in_y));
    TRY(multiply ? quantized_check_ranges(k, "x must be larger than min_a",
                                          "x must be larger than min_b")
                 : quantized_check_ranges(k, "x must be larger than min_x",
                                          "y must be larger than min_y"));
    TRY(broadcast_of(k, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (multiply) {
        quantized_product_range(DT_QUINT8, in_x, DT_QUINT8, in_y, range);
        fill_factors(in_x, of_x);
        fill_factors(in_y, of_y);
    } else {
        sum_range(in_x, in_y, ADD_ROOM, range);
        fill_addends(in_x, range, x->size == 1, of_x);
        fill_addends(in_y, range, y->size == 1 && x->size != 1, of_y);
    }
    for (int64_t i = 0; i < out->size; i++) {
        int32_t a = of_x[((const uint8_t *)x->data)[shape_broadcast_index(&shape, i, &x->shape)]];
        int32_t b = of_y[((const uint8_t *)y->data)[shape_broadcast_index(&shape, i, &y->shape)]];
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        ((int32_t *)out->data)[i] =
            multiply ? (int32_t)((uint32_t)a * (uint32_t)b) : wrapping_add(a, b);
    }
    return quantized_set_range(k, 1, range[0], range[1]);
}

static struct status add_compute(struct kernel_context *k)
{
    return binary(k, false);
}

static struct status mul_compute(struct kernel_context *k)
{
    return binary(k, true);
}

/* ---- QuantizedBiasAdd ---- */

static struct status bias_add_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *bias = kernel_input(k, 1);
    float in[2], in_bias[2], range[2];
    struct tensor *out;
    TRY(quantized_read_range(k, 2, in));
    TRY(quantized_read_range(k, 4, in_bias));
    if (x->shape.rank < 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                            shape_text(&x->shape));
    int64_t depth = x->shape.dims[x->shape.rank - 1];
    if (bias->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Biases must be 1D: %s",
                            shape_text(&bias->shape));
    if (bias->size != depth)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Must provide as many biases as the last dimension of the input "
                            "tensor: %s vs. %s",
                            shape_text(&bias->shape), shape_text(&x->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    sum_range(in, in_bias, BIAS_ADD_ROOM, range);
    struct quantized_line line = quantized_line(x->dtype, in);
    struct quantized_line bias_line = quantized_line(bias->dtype, in_bias);
    struct quantized_line sum_line = quantized_line(DT_QINT32, range);
    int32_t zero = (int32_t)(uint32_t)quantized_unlimited(DT_QINT32, 0, range);
    for (int64_t i = 0; i < out->size; i++) {
        float a = quantized_line_to_float(&line, quantized_get(x->dtype, x->data, i));
        float b =
            quantized_line_to_float(&bias_line, quantized_get(bias->dtype, bias->data, i % depth));
        if (i % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        ((int32_t *)out->data)[i] =
            wrapping_add(quantized_line_of_float(&sum_line, a),
                         wrapping_add(quantized_line_of_float(&sum_line, b), zero));
    }
    return quantized_set_range(k, 1, range[0], range[1]);
}

/* The rows below are chosen by the type of the first operand. */
static struct status sum_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    const char *out_name = node_attr(node, "Toutput") != NULL ? "Toutput" : "out_type";
    enum dtype first, second, out;
    TRY(node_attr_type(node, "T1", &first));
    TRY(node_attr_type(node, "T2", &second));
    TRY(node_attr_type(node, out_name, &out));
    if (first == second && out == DT_QINT32)
        return status_ok();
    return status_error(
        STATUS_UNIMPLEMENTED, "op '%s' of node '%s' is not implemented for %s and %s that give %s",
        node->op_name, node->name, dtype_name(first), dtype_name(second), dtype_name(out));
}

static const struct kernel rows[] = {
    { "QuantizedAdd", DTYPES(DT_QUINT8), "T1", .prepare = sum_prepare, .compute = add_compute,
      .costly = true },
    { "QuantizedMul", DTYPES(DT_QUINT8), "T1", .prepare = sum_prepare, .compute = mul_compute,
      .costly = true },
    { "QuantizedBiasAdd", DTYPES(DT_QUINT8) | DTYPES(DT_QINT8), "T1", .prepare = sum_prepare,
      .compute = bias_add_compute, .costly = true },
};
const struct kernel_table kernels_quantized_sum = { rows, COUNT(rows) };
