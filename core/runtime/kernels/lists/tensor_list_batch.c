/* TensorListPushBackBatch: a vector of lists, each of which gets one row of another tensor. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_list.h"

/* Element i of the batch, as a view. */
static struct tensor view_element(const struct tensor *from, const struct shape *shape, int64_t i)
{
    struct tensor view = tensor_acquire(from);
    view.shape = *shape;
    view.size = shape_size(shape);
    view.data = at_bytes(from->data, i * view.size, dtype_size(from->dtype));
    return view;
}

static struct status check_list(const struct kernel_context *k, const struct object *object,
                                int64_t i, const struct tensor *rows, const struct shape *shape)
{
    const struct tensor_list *list = tensor_list_of(object);
    if (list == NULL)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input handle at index %lld is not a list. Saw: '%s'", (long long)i,
                            object == NULL ? "<unknown>" : object->type->name);
    if (!shape_compatible(shape, &list->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Tried to append a tensor with incompatible shape to a list at index "
                            "%lld. Op element shape: %s list shape: %s",
                            (long long)i, shape_text(shape), shape_text(&list->shape));
    if (list->dtype != rows->dtype)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Invalid data type at index %lld; op elements %s but list elements %s",
                            (long long)i, dtype_name(rows->dtype), dtype_name(list->dtype));
    return status_ok();
}

static struct status push_row(struct kernel_context *k, const struct tensor_list *list,
                              const struct tensor *rows, const struct shape *shape, int64_t i,
                              struct object **out)
{
    struct tensor_list *mine;
    TRY(tensor_list_copy(k, list, list->count + 1, &mine));
    mine->elements[list->count] = view_element(rows, shape, i);
    *out = &mine->object;
    return status_ok();
}

static struct status push_batch_compute(struct kernel_context *k)
{
    const struct tensor *lists = kernel_input(k, 0), *rows = kernel_input(k, 1);
    struct tensor *out;
    if (lists->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected input_handles to be a vector, but saw shape: %s",
                            shape_text(&lists->shape));
    if (rows->shape.rank < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected tensor to be at least a vector, but saw shape: %s",
                            shape_text(&rows->shape));
    if (rows->shape.dims[0] != lists->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected tensor.shape[0] == input_handles.size, but saw %lld vs. %lld",
                            (long long)rows->shape.dims[0], (long long)lists->size);
    struct shape shape = shape_make(rows->shape.rank - 1, rows->shape.dims + 1);
    for (int64_t i = 0; i < lists->size; i++)
        TRY(check_list(k, tensor_variants(lists)[i], i, rows, &shape));
    TRY(kernel_output(k, 0, &lists->shape, &out));
    for (int64_t i = 0; i < lists->size; i++)
        TRY(push_row(k, tensor_list_of(tensor_variants(lists)[i]), rows, &shape, i,
                     &tensor_variants_mut(out)[i]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "TensorListPushBackBatch", DTYPES_ALL, .compute = push_batch_compute },
};
const struct kernel_table kernels_tensor_list_batch = { rows, COUNT(rows) };
