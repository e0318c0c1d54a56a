/*
 * slice_assign: a strided slice of a variable, or of a copy of a tensor, that is set:
 * StridedSliceAssign, ResourceStridedSliceAssign, TensorStridedSliceUpdate. The new value
 * broadcasts to the shape of the slice.
 */
#include "runtime/kernels/array/slice_plan.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/state/variable.h"

/* Repeats `from` along the dimensions in which `shape` is larger. */
static struct status repeat_to(struct kernel_context *k, const struct tensor *from,
                               const struct shape *shape, struct tensor *out)
{
    struct strided strided = { 0 };
    int64_t strides[SHAPE_RANK_MAX];
    int missing = shape->rank - from->shape.rank;
    bool fits = missing >= 0;
    dense_strides(&from->shape, strides);
    for (int d = 0; fits && d < shape->rank; d++) {
        int64_t dim = d < missing ? 1 : from->shape.dims[d - missing];
        fits = dim == 1 || dim == shape->dims[d];
        strided_append(&strided, shape->dims[d], dim == 1 ? 0 : strides[d - missing]);
    }
    if (!fits)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Cannot broadcast input shape %s into final shape %s",
                            shape_text(&from->shape), shape_text(shape));
    TRY(kernel_scratch(k, from->dtype, shape, out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(from->dtype), from->data, out->data);
    return status_ok();
}

static struct status set_slice(void *argument, struct tensor *value)
{
    struct kernel_context *k = argument;
    struct slice_spec spec = { kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3),
                               kernel_state(k) };
    struct slice_plan plan;
    struct strided strided;
    struct tensor slice;
    size_t size = dtype_size(value->dtype);
    TRY(slice_plan_make(&spec, &value->shape, &plan));
    TRY(repeat_to(k, kernel_input(k, 4), &plan.out, &slice));
    int64_t start = slice_walk(&plan, &value->shape, &strided);
    if (slice.size > 0)
        strided_write(&strided, size, slice.data, at_bytes(value->data, start, size));
    tensor_release(&slice);
    return status_ok();
}

static struct status assign_compute(struct kernel_context *k)
{
    return kernel_change_variable(k, kernel_input(k, 4)->dtype, set_slice, k);
}

static struct status update_compute(struct kernel_context *k)
{
    struct tensor *out;
    TRY(kernel_output_copy(k, 0, 0, &out));
    return set_slice(k, out);
}

static const struct kernel rows[] = {
    { "StridedSliceAssign", DTYPES_MOVED, "T", .prepare = slice_masks_prepare,
      .compute = assign_compute },
    { "ResourceStridedSliceAssign", DTYPES_MOVED, "T", .prepare = slice_masks_prepare,
      .compute = assign_compute },
    { "TensorStridedSliceUpdate", DTYPES_MOVED, "T", .prepare = slice_masks_prepare,
      .compute = update_compute },
};
const struct kernel_table kernels_slice_assign = { rows, COUNT(rows) };
