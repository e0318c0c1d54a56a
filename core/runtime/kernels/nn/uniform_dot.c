/*
 * uniform_dot: UniformQuantizedDot, of two matrices of bytes, and UniformQuantizedDotHybrid, whose
 * first matrix is floats that get a scale for each row.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/uniform_scale.h"
#include "runtime/kernels/plain/byte_product.h"

struct uniform_dot_attrs {
    struct uniform_attrs x, y, out;
};

static struct status check_axes(const struct uniform_dot_attrs *attrs)
{
    if (attrs->x.axis != -1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "lhs_quantization_axis Attr must be -1 (per-tensor).");
    if (attrs->y.axis != -1 && attrs->y.axis != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "rhs_quantization_axis Attr must be 1 (per-channel) or -1 "
                            "(per-tensor).");
    if (attrs->out.axis != -1 && attrs->out.axis != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "output_quantization_axis Attr must be 1 (per-channel) or -1 "
                            "(per-tensor).");
    if (attrs->out.axis == 1 && attrs->y.axis != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "If output is per-channel quantized, rhs must be per-channel "
                            "quantized, too.");
    return status_ok();
}

static struct status dot_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct uniform_dot_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    TRY(uniform_attrs_read(node, "lhs_", &attrs->x));
    TRY(uniform_attrs_read(node, "rhs_", &attrs->y));
    TRY(uniform_attrs_read(node, "output_", &attrs->out));
    return check_axes(attrs);
}

static struct status hybrid_prepare(struct prepare_context *p)
{
    struct uniform_dot_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    attrs->x.axis = attrs->out.axis = -1;
    TRY(uniform_attrs_read(prepare_node(p), "rhs_", &attrs->y));
    return check_axes(attrs);
}

static struct status dot_shape(struct kernel_context *k, struct shape *out)
{
    const struct shape *x = &kernel_input(k, 0)->shape, *y = &kernel_input(k, 1)->shape;
    if (x->rank != 2 || y->rank != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s rank must be 2, but given %s shape %s",
                            x->rank != 2 ? "lhs" : "rhs", x->rank != 2 ? "lhs" : "rhs",
                            shape_text(x->rank != 2 ? x : y));
    if (x->dims[1] != y->dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "lhs.dim_size(1) and rhs.dim_size(0) must be equal, but given lhs "
                            "shape %s and rhs shape %s",
                            shape_text(x), shape_text(y));
    *out = shape_of(x->dims[0], y->dims[1]);
    return shape_check(2, out->dims, out);
}

/* The zeros of the columns of y are taken away afterwards: Σ x · (y - z) = Σ x · y - z · Σ x, and
 * x is already moved by its own zero. All of it wraps. */
static void take_zeros(const struct byte_operand *x, int64_t row, int64_t depth,
                       const struct uniform_scale *y, int64_t columns, int32_t *sums)
{
    uint32_t sum = 0;
    for (int64_t d = 0; d < depth; d++)
        sum += (uint32_t)((const int8_t *)x->bytes)[row * depth + d] - (uint32_t)x->zero;
    for (int64_t j = 0; j < columns; j++)
        sums[j] = (int32_t)((uint32_t)sums[j] - sum * (uint32_t)y->zeros[y->count == 1 ? 0 : j]);
}

/* Row `row` of the product of bytes [columns]. */
static void dot_row(const struct byte_operand *x, const struct tensor *y,
                    const struct uniform_scale *scale, int64_t row, int32_t *sums)
{
    int64_t depth = y->shape.dims[0], columns = y->shape.dims[1];
    struct byte_operand bytes = { .bytes = y->data, .is_signed = true };
    byte_matmul_row(columns, depth, x, depth, 1, &bytes, row, sums);
    take_zeros(x, row, depth, scale, columns, sums);
}

/* ---- UniformQuantizedDot ---- */

/* The factor of each column, from the scales of the operands to that of the result. */
static struct status find_factors(struct kernel_context *k, const struct uniform_scale *x,
                                  const struct uniform_scale *y, const struct uniform_scale *to,
                                  int64_t columns, struct uniform_factor *out)
{
    for (int64_t j = 0; j < columns; j++) {
        double scale = (double)x->scales[0] * (double)y->scales[y->count == 1 ? 0 : j];
        TRY(uniform_factor_of(k, scale / (double)to->scales[to->count == 1 ? 0 : j], &out[j]));
    }
    return status_ok();
}

static struct status dot_compute(struct kernel_context *k)
{
    const struct uniform_dot_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct uniform_scale x_scale, y_scale, to;
    struct tensor factors, *out;
    struct shape shape;
    TRY(dot_shape(k, &shape));
    TRY(uniform_scale_read(k, 2, &x->shape, attrs->x.axis, &x_scale));
    TRY(uniform_scale_read(k, 4, &y->shape, attrs->y.axis, &y_scale));
    TRY(uniform_scale_read(k, 6, &shape, attrs->out.axis, &to));
    for (int i = 2; i <= 6; i += 2)
        TRY(uniform_scale_check(k, i));
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t columns = shape.dims[1];
    struct shape pairs = shape_of(2, columns);
    TRY(shape_check(2, pairs.dims, &pairs));
    TRY(kernel_scratch(k, DT_INT32, &pairs, &factors)); /* a struct of two int32 for each column */
    _Static_assert(sizeof(struct uniform_factor) == 2 * sizeof(int32_t), "two int32");
    struct byte_operand bytes = { x->data, true, x_scale.zeros[0] };
    struct uniform_factor *factor = factors.data;
    struct status status = find_factors(k, &x_scale, &y_scale, &to, columns, factor);
    for (int64_t i = 0; i < shape.dims[0] && columns > 0 && status_is_ok(status); i++) {
        int32_t *row = (int32_t *)out->data + i * columns;
        status = kernel_check(k);
        dot_row(&bytes, y, &y_scale, i, row);
        for (int64_t j = 0; j < columns; j++) {
            uint32_t value = (uint32_t)uniform_multiply(row[j], factor[j]);
            value += (uint32_t)to.zeros[to.count == 1 ? 0 : j];
            row[j] = uniform_clamp((int32_t)value, attrs->out.least, attrs->out.most);
        }
    }
    tensor_release(&factors);
    return status;
}

/* ---- UniformQuantizedDotHybrid ---- */

static struct status hybrid_compute(struct kernel_context *k)
{
    const struct uniform_dot_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    struct tensor sums = { 0 }, row = { 0 }, *out;
    struct uniform_scale y_scale;
    struct shape shape;
    struct status status;
    TRY(dot_shape(k, &shape));
    TRY(uniform_scale_read(k, 2, &y->shape, attrs->y.axis, &y_scale));
    TRY(uniform_scale_check(k, 2));
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t depth = y->shape.dims[0], columns = shape.dims[1];
    struct shape sums_shape = shape_of(columns), row_shape = shape_of(depth);
    TRY_OR(done, kernel_scratch(k, DT_INT32, &sums_shape, &sums));
    TRY_OR(done, kernel_scratch(k, DT_INT8, &row_shape, &row));
    for (int64_t i = 0; i < shape.dims[0] && columns > 0; i++) {
        float scale;
        struct byte_operand bytes = { row.data, true, 0 };
        TRY_OR(done, kernel_check(k));
        uniform_quantize_run(tensor_floats(x) + i * depth, depth, row.data, &scale, &bytes.zero);
        dot_row(&bytes, y, &y_scale, 0, sums.data);
        for (int64_t j = 0; j < columns; j++)
            tensor_floats_mut(out)[i * columns + j] =
                (float)tensor_int32s(&sums)[j] * scale * y_scale.scales[y_scale.count == 1 ? 0 : j];
    }
done:
    tensor_release(&sums);
    tensor_release(&row);
    return status;
}

static const struct kernel rows[] = {
    { "UniformQuantizedDot", DTYPES(DT_QINT8), "Tin", .prepare = dot_prepare,
      .compute = dot_compute, .costly = true },
    { "UniformQuantizedDotHybrid", DTYPES(DT_QINT8), "Trhs", .prepare = hybrid_prepare,
      .compute = hybrid_compute, .costly = true },
};
const struct kernel_table kernels_uniform_dot = { rows, COUNT(rows) };
