#include "runtime/kernels/lists/tensor_list.h"

#include "runtime/kernels/kernel_tools.h"

static void list_destroy(struct object *object)
{
    struct tensor_list *list = (struct tensor_list *)object;
    struct tensor self = list->self;
    tensors_release(list->count, list->elements);
    tensor_release(&list->elements_of);
    tensor_release(&self); /* with it the list */
}

static const struct object_type tensor_list_type = { "tensor list", list_destroy };

struct status tensor_list_create(struct kernel_context *k, enum dtype dtype,
                                 const struct shape *shape, int64_t count, struct tensor_list **out)
{
    struct shape size = shape_of((int64_t)sizeof(struct tensor_list));
    struct tensor self, elements = { 0 };
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    struct status status = kernel_scratch_reserve(k, &elements, 0, count, sizeof(struct tensor));
    if (!status_is_ok(status)) {
        tensor_release(&self);
        return status;
    }
    struct tensor_list *list = self.data;
    *list = (struct tensor_list){ .object = { .type = &tensor_list_type, .references = 1 },
                                  .dtype = dtype,
                                  .shape = *shape,
                                  .count = count,
                                  .elements = elements.data,
                                  .elements_of = elements,
                                  .self = self };
    if (count > 0)
        memset(list->elements, 0, (size_t)count * sizeof *list->elements);
    *out = list;
    return status_ok();
}

const struct tensor_list *tensor_list_of(const struct object *object)
{
    return object != NULL && object->type == &tensor_list_type ? (const struct tensor_list *)object
                                                               : NULL;
}

struct status tensor_list_input(struct kernel_context *k, int index, const struct tensor_list **out)
{
    const struct tensor *handle = kernel_input(k, index);
    const struct object *object =
        handle->dtype == DT_VARIANT && handle->size == 1 ? tensor_variants(handle)[0] : NULL;
    if (handle->dtype == DT_VARIANT && handle->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Input list must be a scalar saw: %s",
                            shape_text(&handle->shape));
    if (tensor_list_of(object) == NULL)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input handle is not a list. Saw: '%s'",
                            object == NULL ? "<unknown>" : object->type->name);
    *out = (const struct tensor_list *)object;
    return status_ok();
}

struct status tensor_list_copy(struct kernel_context *k, const struct tensor_list *list,
                               int64_t count, struct tensor_list **out)
{
    TRY(tensor_list_create(k, list->dtype, &list->shape, count, out));
    for (int64_t i = 0; i < list->count; i++)
        (*out)->elements[i] = tensor_acquire(&list->elements[i]);
    return status_ok();
}

struct status tensor_list_take(struct kernel_context *k, int index, struct tensor_list **out)
{
    const struct tensor_list *list;
    TRY(tensor_list_input(k, index, &list));
    struct tensor handle = kernel_take_input(k, index);
    struct object *object = tensor_variants_mut(&handle)[0];
    struct status status = status_ok();
    if (tensor_writable(&handle) &&
        atomic_load_explicit(&object->references, memory_order_acquire) == 1)
        *out = (struct tensor_list *)object_acquire(object);
    else
        status = tensor_list_copy(k, list, list->count, out);
    tensor_release(&handle);
    return status;
}

struct status tensor_list_output(struct kernel_context *k, int index, struct tensor_list *list)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    struct status status = kernel_output(k, index, &scalar, &out);
    if (!status_is_ok(status)) {
        object_release(&list->object);
        return status;
    }
    tensor_variants_mut(out)[0] = &list->object;
    return status_ok();
}

struct status tensor_list_resize(struct kernel_context *k, struct tensor_list *list, int64_t count)
{
    TRY(kernel_scratch_reserve(k, &list->elements_of, list->count, count - list->count,
                               sizeof *list->elements));
    list->elements = list->elements_of.data;
    tensors_release(list->count - count, list->elements + count);
    if (count > list->count)
        memset(list->elements + list->count, 0,
               (size_t)(count - list->count) * sizeof *list->elements);
    list->count = count;
    return status_ok();
}
