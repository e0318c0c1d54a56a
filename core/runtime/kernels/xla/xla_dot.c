/*
 * xla_dot: XlaDot and XlaDotV2, products over any dimensions of two tensors. The dimensions of the
 * result are the batch, those that only the left operand has, and those that only the right one
 * has. This is what jax2tf makes of every product.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/math/contract.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/dimension_numbers.h"
#include "runtime/kernels/xla/wide.h"

/* The fields of DotDimensionNumbers, for the left operand and the right one. */
static const int contracted[] = { 1, 2 }, batch[] = { 3, 4 };

static struct status dot_prepare(struct prepare_context *p)
{
    struct dimension_numbers *numbers = prepare_state(p, sizeof *numbers, NULL);
    TRY(dimension_numbers_read(prepare_node(p), numbers));
    const struct dimension_list *fields = numbers->fields;
    if (fields[contracted[0]].count == fields[contracted[1]].count &&
        fields[batch[0]].count == fields[batch[1]].count)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s': the operands have different numbers of dimensions in common",
                        prepare_node(p)->name);
}

struct dot {
    struct einsum_binding axes;
    int64_t strides[2][SHAPE_RANK_MAX];
    bool empty; /* a dimension is 0 */
};

static struct einsum_axis *add_axis(struct dot *dot, int64_t dim, bool in_output)
{
    struct einsum_axis *axis = &dot->axes.at[dot->axes.count++];
    *axis = (struct einsum_axis){ .dim = dim, .in_output = in_output };
    dot->empty = dot->empty || dim == 0;
    return axis;
}

static void give_operand(const struct dot *dot, struct einsum_axis *axis, int operand, int d)
{
    axis->in[operand] = true;
    axis->strides[operand] = dot->strides[operand][d];
}

/* The dimensions that a pair of lists names, which both operands have. */
static struct status add_common(const struct kernel_context *k, struct dot *dot, const int *fields)
{
    const struct dimension_numbers *numbers = kernel_state(k);
    const struct dimension_list *a = &numbers->fields[fields[0]], *b = &numbers->fields[fields[1]];
    for (int i = 0; i < a->count; i++) {
        int64_t dim = kernel_input(k, 0)->shape.dims[a->at[i]];
        if (dim != kernel_input(k, 1)->shape.dims[b->at[i]])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "dimension %d of %s and dimension %d of %s differ", a->at[i],
                                shape_text(&kernel_input(k, 0)->shape), b->at[i],
                                shape_text(&kernel_input(k, 1)->shape));
        struct einsum_axis *axis = add_axis(dot, dim, fields == batch);
        give_operand(dot, axis, 0, a->at[i]);
        give_operand(dot, axis, 1, b->at[i]);
    }
    return status_ok();
}

static void add_own(const struct kernel_context *k, struct dot *dot, int operand)
{
    const struct dimension_numbers *numbers = kernel_state(k);
    const struct shape *shape = &kernel_input(k, operand)->shape;
    for (int d = 0; d < shape->rank; d++)
        if (dimension_place(&numbers->fields[contracted[operand]], d) < 0 &&
            dimension_place(&numbers->fields[batch[operand]], d) < 0)
            give_operand(dot, add_axis(dot, shape->dims[d], true), operand, d);
}

static struct status bind(const struct kernel_context *k, struct dot *dot)
{
    const struct dimension_numbers *numbers = kernel_state(k);
    int64_t dims[EINSUM_AXES_MAX], stride = 1;
    int rank = 0;
    for (int n = 0; n < 2; n++) {
        const struct shape *shape = &kernel_input(k, n)->shape;
        const struct dimension_list *summed = &numbers->fields[contracted[n]];
        const struct dimension_list *kept = &numbers->fields[batch[n]];
        bool apart = dimensions_fit(summed, shape->rank) && dimensions_fit(kept, shape->rank);
        for (int i = 0; i < kept->count; i++)
            apart = apart && dimension_place(summed, kept->at[i]) < 0;
        if (!apart)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "dimension_numbers do not fit an operand of shape %s",
                                shape_text(shape));
        dense_strides(shape, dot->strides[n]);
    }
    TRY(add_common(k, dot, batch));
    add_own(k, dot, 0);
    add_own(k, dot, 1);
    for (int i = 0; i < dot->axes.count; i++)
        dims[rank++] = dot->axes.at[i].dim;
    TRY(kernel_check_rank(k, rank));
    TRY(shape_check(rank, dims, &dot->axes.output));
    for (int i = rank - 1; i >= 0; i--) {
        dot->axes.at[i].out_stride = stride;
        stride *= dims[i];
    }
    return add_common(k, dot, contracted);
}

static struct status multiply(struct kernel_context *k, const struct dot *dot, struct tensor *out)
{
    struct tensor operands[2] = { 0 }, wide = { 0 };
    struct status status = wide_operand(k, kernel_input(k, 0), out->dtype, &operands[0]);
    if (status_is_ok(status))
        status = wide_operand(k, kernel_input(k, 1), out->dtype, &operands[1]);
    if (status_is_ok(status))
        status = wide_result(k, out, &wide);
    if (status_is_ok(status)) {
        const void *data[] = { operands[0].data, operands[1].data };
        status = contract(k, wide.dtype, &dot->axes, 2, data, wide.data);
        wide_store(&wide, out);
    }
    tensors_release(2, operands);
    return status;
}

static struct status dot_compute(struct kernel_context *k)
{
    struct dot dot = { 0 };
    struct tensor *out;
    TRY(bind(k, &dot));
    TRY(kernel_output(k, 0, &dot.axes.output, &out));
    if (!dot.empty)
        return multiply(k, &dot, out);
    memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaDot", DTYPES_PRODUCT, .prepare = dot_prepare, .compute = dot_compute, .costly = true },
    { "XlaDotV2", DTYPES_PRODUCT, "preferred_element_type", .prepare = dot_prepare,
      .compute = dot_compute, .costly = true },
};
const struct kernel_table kernels_xla_dot = { rows, COUNT(rows) };
