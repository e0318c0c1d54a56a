/* The elements of a TensorArray: one is written once, and read until it is cleared. */
#include "runtime/kernels/lists/tensor_array.h"

#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct status tensor_array_input(struct kernel_context *k, enum dtype dtype, const char *verb,
                                 struct tensor_cells **out)
{
    TRY(tensor_cells_input(k, &tensor_array_type, out));
    if ((*out)->dtype == dtype)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "TensorArray dtype is %s but Op %s dtype %s.",
                        dtype_name((*out)->dtype), verb, dtype_name(dtype));
}

static struct status array_error(const struct tensor_cells *array, const char *what, int64_t index,
                                 const char *why)
{
    return status_error(STATUS_INVALID_ARGUMENT, "TensorArray %s: Could not %s index %lld %s",
                        array->node->name, what, (long long)index, why);
}

/* May a value of this shape be written to the cell? */
static struct status check_write(const struct tensor_cells *array, int64_t index,
                                 const struct shape *shape)
{
    const struct tensor_cell *cell = &array->cells[index];
    if (!shape_compatible(shape, &array->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Could not write to TensorArray index %lld because the "
                            "value shape is %s which is incompatible with the TensorArray's "
                            "inferred element shape: %s (consider setting infer_shape=False).",
                            array->node->name, (long long)index, shape_text(shape),
                            shape_text(&array->shape));
    if (cell->is_read)
        return array_error(array, "write to TensorArray", index,
                           "because it has already been read.");
    if (cell->is_written && !array->is_gradient)
        return array_error(array, "write to TensorArray", index,
                           "because it has already been written to.");
    if (cell->is_written && !shape_equal(&cell->shape, shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Could not aggregate to TensorArray index %lld because "
                            "the existing shape is %s but the new input shape is %s.",
                            array->node->name, (long long)index, shape_text(&cell->shape),
                            shape_text(shape));
    return status_ok();
}

/* Makes room for the cell if the array grows. */
static struct status reach_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index)
{
    if (index < 0 || (index >= array->count && !array->grows))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Tried to write to index %lld but array is not "
                            "resizeable and size is: %lld",
                            array->node->name, (long long)index, (long long)array->count);
    return tensor_cells_grow(k, array, index + 1);
}

/* Adds to what the cell of a gradient array holds. */
static struct status add_to_cell(struct kernel_context *k, struct tensor_cells *array,
                                 struct tensor_cell *cell, const struct tensor *value)
{
    struct tensor sum;
    if ((DTYPES(array->dtype) & DTYPES_COMBINED) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_array::AddToTensor type not supported: %s",
                            dtype_name(array->dtype));
    TRY(kernel_scratch(k, array->dtype, &cell->shape, &sum));
    copy_elements(array->dtype, sum.data, cell->value.data, sum.size);
    combine_elements(COMBINE_ADD, array->dtype, value->data, sum.data, sum.size);
    tensor_release(&cell->value);
    cell->value = sum;
    return status_ok();
}

static struct status set_cell(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                              struct tensor *value)
{
    struct tensor_cell *cell = &array->cells[index];
    if (cell->value.dtype != DT_INVALID) {
        struct status status = add_to_cell(k, array, cell, value);
        tensor_release(value);
        return status;
    }
    if (array->has_one_shape)
        array->shape = value->shape;
    cell->shape = value->shape;
    cell->value = *value;
    cell->is_written = true;
    return status_ok();
}

struct status tensor_array_write(struct kernel_context *k, struct tensor_cells *array,
                                 int64_t index, struct tensor value)
{
    struct status status = reach_cell(k, array, index);
    if (status_is_ok(status))
        status = check_write(array, index, &value.shape);
    if (!status_is_ok(status)) {
        tensor_release(&value);
        return status;
    }
    return set_cell(k, array, index, &value);
}

/* A cell that was never written is zeros if the shape of elements is known. */
static struct status read_unwritten(struct kernel_context *k, const struct tensor_cells *array,
                                    int64_t index, struct tensor *out)
{
    const struct tensor_cell *cell = &array->cells[index];
    const struct shape *known =
        cell->is_written || cell->shape.rank > 0 ? &cell->shape : &array->shape;
    struct shape shape;
    if (!shape_is_known(known))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "TensorArray %s: Could not read from TensorArray index %lld.  Furthermore, the element "
            "shape is not fully defined: %s.  It is possible you are working with a resizeable "
            "TensorArray and stop_gradients is not allowing the gradients to be written.  If you "
            "set the full element_shape property on the forward TensorArray, the proper all-zeros "
            "tensor will be returned instead of incurring this error.",
            array->node->name, (long long)index, shape_text(&array->shape));
    TRY(shape_check(known->rank, known->dims, &shape));
    TRY(kernel_scratch(k, array->dtype, &shape, out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

struct status tensor_array_read(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                                struct tensor *out)
{
    if (array->is_gradient && index >= array->count)
        TRY(tensor_cells_grow(k, array, index + 1));
    if (index < 0 || index >= array->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray %s: Tried to read from index %lld but array size is: %lld",
                            array->node->name, (long long)index, (long long)array->count);
    struct tensor_cell *cell = &array->cells[index];
    if (cell->is_cleared)
        return array_error(array, "read", index,
                           "twice because it was cleared after a previous read (perhaps try "
                           "setting clear_after_read = false?).");
    if (cell->value.dtype == DT_INVALID)
        TRY(read_unwritten(k, array, index, out));
    else
        *out = tensor_acquire(&cell->value);
    if (array->clears) {
        tensor_release(&cell->value);
        cell->is_cleared = true;
    }
    cell->is_read = true;
    return status_ok();
}

struct status tensor_array_flow(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *flow;
    if (kernel_outputs_count(k) < 2) /* an older form */
        return status_ok();
    TRY(kernel_output(k, 1, &scalar, &flow));
    tensor_floats_mut(flow)[0] = 0;
    return status_ok();
}
