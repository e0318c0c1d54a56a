/*
 * slice: StridedSlice with all its masks, its gradient, Slice, Reverse and ReverseV2.
 */
#include "runtime/kernels/array/slice_plan.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- StridedSlice ---- */

static struct status slice_read(struct kernel_context *k, const struct tensor *x,
                                const struct slice_plan *plan)
{
    struct strided strided;
    struct tensor *out;
    TRY(kernel_output(k, 0, &plan->out, &out));
    if (out->size == 0)
        return status_ok();
    int64_t start = slice_walk(plan, &x->shape, &strided);
    size_t size = dtype_size(x->dtype);
    strided_read(&strided, size, at_bytes_const(x->data, start, size), out->data);
    hold_elements(out->dtype, out->data, out->size);
    return status_ok();
}

static struct status strided_slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct slice_spec spec = { kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3),
                               kernel_state(k) };
    struct slice_plan plan;
    TRY(slice_plan_make(&spec, &x->shape, &plan));
    return slice_read(k, x, &plan);
}

/* The gradient: zeros of the shape of the input, with dy at the slice. */
static struct status strided_slice_grad_compute(struct kernel_context *k)
{
    const struct tensor *wanted = kernel_input(k, 0), *dy = kernel_input(k, 4);
    struct slice_spec spec = { kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3),
                               kernel_state(k) };
    struct slice_plan plan;
    struct strided strided;
    struct tensor *out;
    struct shape shape = { 0 };
    TRY(kernel_check_rank(k, wanted->size));
    for (int64_t i = 0; i < wanted->size; i++)
        shape_append(&shape, tensor_index(wanted, i));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(slice_plan_make(&spec, &shape, &plan));
    if (!shape_equal(&plan.out, &dy->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "shape of dy was %s instead of %s",
                            shape_text(&dy->shape), shape_text(&plan.out));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    int64_t start = slice_walk(&plan, &shape, &strided);
    size_t size = dtype_size(dy->dtype);
    if (dy->size > 0)
        strided_write(&strided, size, dy->data, at_bytes(out->data, start, size));
    return status_ok();
}

/* ---- Slice ---- */

static struct status slice_bounds(const struct tensor *x, const struct tensor *begin,
                                  const struct tensor *size, struct slice_plan *plan)
{
    int rank = x->shape.rank;
    if (begin->shape.rank != 1 || size->shape.rank != 1 || begin->size != rank ||
        size->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected begin and size arguments to be 1-D tensors of size %d, but "
                            "got shapes %s and %s instead.",
                            rank, shape_text(&begin->shape), shape_text(&size->shape));
    *plan = (struct slice_plan){ 0 };
    for (int d = 0; d < rank; d++) {
        int64_t dim = x->shape.dims[d], b = tensor_index(begin, d);
        int64_t s = tensor_index(size, d);
        if (b < 0 || b > dim)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected begin[%d] in [0, %lld], but got %lld", d, (long long)dim,
                                (long long)b);
        if (s == -1)
            s = dim - b;
        if (s < 0 || s > dim - b)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected size[%d] in [0, %lld], but got %lld", d,
                                (long long)(dim - b), (long long)s);
        plan->begin[d] = b;
        plan->stride[d] = 1;
        plan->count[d] = s;
    }
    plan->out = shape_make(rank, plan->count);
    return status_ok();
}

static struct status slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct slice_plan plan;
    TRY(slice_bounds(x, kernel_input(k, 1), kernel_input(k, 2), &plan));
    return slice_read(k, x, &plan);
}

/* ---- Reverse, ReverseV2 ---- */

static void reverse_axis(const struct shape *x, int axis, struct slice_plan *plan)
{
    plan->stride[axis] = -1;
    plan->begin[axis] = x->dims[axis] - 1;
}

static struct status put_reversed(struct kernel_context *k, struct slice_plan *plan)
{
    const struct tensor *x = kernel_input(k, 0);
    plan->out = x->shape;
    for (int d = 0; d < x->shape.rank; d++) {
        plan->stride[d] = plan->stride[d] != 0 ? plan->stride[d] : 1;
        plan->count[d] = x->shape.dims[d];
    }
    return slice_read(k, x, plan);
}

static struct status reverse_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *axes = kernel_input(k, 1);
    int rank = x->shape.rank;
    struct slice_plan plan = { 0 };
    if (rank == 0 || x->size == 0) /* whatever the axes */
        return put_reversed(k, &plan);
    if (axes->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d",
                            axes->shape.rank);
    for (int64_t i = 0; i < axes->size; i++) {
        int64_t given = tensor_index(axes, i), axis = given < 0 ? given + rank : given;
        if (axis < 0 || axis >= rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "'axis'[%lld] = %lld is out of valid range [%d, %d]", (long long)i,
                                (long long)given, 0, rank - 1);
        if (plan.stride[axis] == -1)
            return status_error(STATUS_INVALID_ARGUMENT, "axis %lld specified more than once.",
                                (long long)axis);
        reverse_axis(&x->shape, (int)axis, &plan);
    }
    return put_reversed(k, &plan);
}

/* The first version has a truth value for each dimension. */
static struct status reverse_flags_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *flags = kernel_input(k, 1);
    struct slice_plan plan = { 0 };
    if (x->shape.rank > 0 && flags->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d",
                            flags->shape.rank);
    if (x->shape.rank > 0 && flags->size != x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'dims' must have the same number of values as 'input' has "
                            "dimensions. 'input' has %d'dims' has %lld values",
                            x->shape.rank, (long long)flags->size);
    if (x->shape.rank > 8)
        return status_error(STATUS_UNIMPLEMENTED,
                            "reverse is not implemented for tensors of rank > 8.");
    for (int d = 0; d < x->shape.rank; d++)
        if (tensor_bools(flags)[d])
            reverse_axis(&x->shape, d, &plan);
    return put_reversed(k, &plan);
}

static const struct kernel rows[] = {
    { "StridedSlice", DTYPES_ALL, .prepare = slice_masks_prepare,
      .compute = strided_slice_compute },
    { "StridedSliceGrad", DTYPES_MOVED, .prepare = slice_masks_prepare,
      .compute = strided_slice_grad_compute },
    { "Slice", DTYPES_MOVED, .compute = slice_compute },
    { "Reverse", DTYPES_MOVED, .compute = reverse_flags_compute },
    { "ReverseV2", DTYPES_MOVED, .compute = reverse_compute },
};
const struct kernel_table kernels_slice = { rows, COUNT(rows) };
