#include "runtime/kernels/lists/tensor_cells.h"

#include "runtime/kernels/kernel_tools.h"

static void release_values(struct tensor_cells *cells)
{
    for (int64_t i = 0; i < cells->count; i++)
        tensor_release(&cells->cells[i].value);
    cells->count = 0;
}

static void destroy(struct object *object)
{
    struct tensor_cells *cells = (struct tensor_cells *)object;
    struct tensor self = cells->self;
    release_values(cells);
    if (cells->gradients != NULL)
        object_release(&cells->gradients->object);
    if (cells->sibling != NULL)
        object_release(&cells->sibling->object);
    tensor_release(&cells->cells_of);
    tensor_release(&self); /* with it the object */
}

const struct object_type tensor_array_type = { "TensorArray", destroy };
const struct object_type tensor_stack_type = { "Stack", destroy };

struct status tensor_cells_grow(struct kernel_context *k, struct tensor_cells *cells, int64_t count)
{
    if (count <= cells->count)
        return status_ok();
    TRY(kernel_scratch_reserve(k, &cells->cells_of, cells->count, count - cells->count,
                               sizeof *cells->cells));
    cells->cells = cells->cells_of.data;
    memset(cells->cells + cells->count, 0, (size_t)(count - cells->count) * sizeof *cells->cells);
    cells->count = count;
    return status_ok();
}

struct status tensor_cells_create(struct kernel_context *k, const struct object_type *type,
                                  enum dtype dtype, int64_t count, struct tensor_cells **out)
{
    struct shape size = shape_of((int64_t)sizeof(struct tensor_cells));
    struct tensor self;
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    struct tensor_cells *cells = self.data;
    *cells = (struct tensor_cells){ .object = { .type = type, .references = 1 },
                                    .dtype = dtype,
                                    .shape = shape_unknown(),
                                    .node = kernel_node(k),
                                    .count_max = -1,
                                    .self = self };
    struct status status = tensor_cells_grow(k, cells, count);
    if (status_is_ok(status))
        *out = cells;
    else
        object_release(&cells->object);
    return status;
}

/* ---- handles ---- */

/* A handle of two strings, as in TensorFlow: a container and a name. Ours ends in a number. */
static struct status name_cells(struct kernel_context *k, struct tensor_cells *cells)
{
    struct shape pair = shape_of(2);
    struct tensor *handle;
    struct status status = kernel_output(k, 0, &pair, &handle);
    if (!status_is_ok(status)) {
        object_release(&cells->object);
        return status;
    }
    int64_t number = kernel_name_object(k, &cells->object);
    tensor_strings_mut(handle)[0] = bytes_of("_objects");
    tensor_strings_mut(handle)[1] = bytes_of(
        arena_printf(kernel_arena(k), "%s_%lld", cells->object.type->name, (long long)number));
    return status_ok();
}

struct status tensor_cells_output(struct kernel_context *k, struct tensor_cells *cells)
{
    struct shape scalar = shape_scalar();
    struct tensor *handle;
    if (kernel_node(k)->outputs[0].dtype == DT_STRING)
        return name_cells(k, cells);
    struct status status = kernel_output(k, 0, &scalar, &handle);
    if (status_is_ok(status))
        tensor_resources_mut(handle)[0] = &cells->object;
    else
        object_release(&cells->object);
    return status;
}

/* The number at the end of a name; -1: there is none. */
static int64_t number_of(struct bytes name)
{
    int64_t number = 0, scale = 1;
    size_t at = name.size;
    while (at > 0 && name.data[at - 1] >= '0' && name.data[at - 1] <= '9') {
        if (scale > INT32_MAX)
            return -1;
        number += scale * (name.data[--at] - '0');
        scale *= 10;
    }
    return scale > 1 ? number : -1;
}

static struct object *object_of(const struct kernel_context *k, const struct tensor *handle)
{
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        return ((struct object *const *)handle->data)[0];
    if (handle->dtype == DT_STRING && handle->size == 2)
        return kernel_named_object(k, number_of(tensor_strings(handle)[1]));
    return NULL;
}

struct status tensor_cells_input(struct kernel_context *k, const struct object_type *type,
                                 struct tensor_cells **out)
{
    struct object *object = object_of(k, kernel_input(k, 0));
    if (object == NULL || object->type != type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input 0 is not the handle of a %s",
                            type->name);
    struct tensor_cells *cells = (struct tensor_cells *)object;
    if (cells->is_closed)
        return status_error(STATUS_INVALID_ARGUMENT, "%s %s has already been closed.", type->name,
                            cells->node->name);
    *out = cells;
    return status_ok();
}

void tensor_cells_close(struct tensor_cells *cells)
{
    release_values(cells);
    cells->is_closed = true;
}
