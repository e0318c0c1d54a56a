#include "runtime/kernels/data/tensors.h"

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"

void tensors_move(int count, struct tensor *from, struct tensor *to)
{
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
        from[i] = (struct tensor){ 0 };
    }
}

void tensors_acquire(int count, const struct tensor *from, struct tensor *to)
{
    for (int i = 0; i < count; i++)
        to[i] = tensor_acquire(&from[i]);
}

struct status tensors_reserve(struct kernel_context *k, struct tensors *tensors, int64_t count)
{
    TRY(kernel_scratch_reserve(k, &tensors->memory, tensors->count, count, sizeof *tensors->at));
    tensors->at = tensors->memory.data;
    return status_ok();
}

void tensors_append(struct tensors *tensors, int count, struct tensor *from)
{
    tensors_move(count, from, tensors->at + tensors->count);
    tensors->count += count;
}

void tensors_clear(struct tensors *tensors)
{
    tensors_release(tensors->count, tensors->at);
    tensors->count = 0;
}

void tensors_finish(struct tensors *tensors)
{
    tensors_clear(tensors);
    tensor_release(&tensors->memory);
    *tensors = (struct tensors){ 0 };
}

struct status tensors_output(struct kernel_context *k, struct tensors *tensors)
{
    const struct node *node = kernel_node(k);
    if (tensors->count != node->outputs_count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "an element of %lld tensors, should be %d",
                            (long long)tensors->count, node->outputs_count);
    for (int i = 0; i < node->outputs_count; i++)
        if (tensors->at[i].dtype != node->outputs[i].dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "component %d is %s, should be %s", i,
                                dtype_name(tensors->at[i].dtype),
                                dtype_name(node->outputs[i].dtype));
    for (int i = 0; i < node->outputs_count; i++)
        kernel_output_set(k, i, tensors->at[i]);
    tensors->count = 0;
    return status_ok();
}

struct status tensors_stack(struct kernel_context *k, int64_t count, const struct tensor *rows,
                            int64_t stride, int component, struct tensor *out)
{
    const struct tensor *first = rows;
    for (int64_t i = 1; i < count; i++) {
        const struct tensor *row = &rows[i * stride];
        if (!shape_equal(&row->shape, &first->shape)) {
            const char *text = shape_text(&first->shape);
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Cannot batch tensors with different shapes in component %d. "
                                "First element had shape %s and element %lld had shape %s.",
                                component, text, (long long)i, shape_text(&row->shape));
        }
    }
    struct shape shape = shape_of(count);
    TRY(kernel_check_rank(k, (int64_t)first->shape.rank + 1));
    for (int i = 0; i < first->shape.rank; i++)
        shape_append(&shape, first->shape.dims[i]);
    TRY(kernel_scratch(k, first->dtype, &shape, out));
    size_t bytes = tensor_bytes(first);
    for (int64_t i = 0; i < count && bytes > 0; i++)
        copy_elements(first->dtype, (char *)out->data + (size_t)i * bytes, rows[i * stride].data,
                      first->size);
    return status_ok();
}

struct status tensor_row(struct kernel_context *k, const struct tensor *tensor, int64_t index,
                         struct tensor *out)
{
    struct shape shape = shape_make(tensor->shape.rank - 1, tensor->shape.dims + 1);
    TRY(kernel_scratch(k, tensor->dtype, &shape, out));
    size_t bytes = tensor_bytes(out);
    if (bytes > 0)
        copy_elements(tensor->dtype, out->data, (const char *)tensor->data + (size_t)index * bytes,
                      out->size);
    return status_ok();
}

struct status tensors_box_sparse(struct kernel_context *k, struct tensor *indices,
                                 struct tensor *values, struct tensor *sizes, struct tensor *out)
{
    struct tensor *parts[] = { indices, values, sizes };
    struct shape three = shape_of(3);
    struct status status = kernel_scratch(k, DT_VARIANT, &three, out);
    for (int i = 0; i < 3; i++) {
        if (status_is_ok(status))
            status = tensor_box_create(k, BOX_PLAIN, 1, parts[i], &tensor_variants_mut(out)[i]);
        else
            tensor_release(parts[i]);
        *parts[i] = (struct tensor){ 0 };
    }
    return status;
}
