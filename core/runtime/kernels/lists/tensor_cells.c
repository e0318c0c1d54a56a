#include "runtime/kernels/lists/tensor_cells.h"

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
    tensor_release(&cells->cells_of);
    tensor_release(&self); /* with it the object */
}

const struct object_type tensor_array_type = { "TensorArray", destroy };
const struct object_type tensor_stack_type = { "Stack", destroy };

static struct status create_buffer(struct kernel_context *k, int64_t count, struct tensor *out)
{
    int64_t bytes;
    if (__builtin_mul_overflow(count, (int64_t)sizeof(struct tensor_cell), &bytes))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "an array of %lld tensors",
                            (long long)count);
    struct shape shape = shape_of(bytes);
    return kernel_scratch(k, DT_UINT8, &shape, out);
}

struct status tensor_cells_grow(struct kernel_context *k, struct tensor_cells *cells, int64_t count)
{
    if (count <= cells->count)
        return status_ok();
    if (count > cells->capacity) {
        struct tensor more;
        int64_t capacity = count < cells->capacity * 2 ? cells->capacity * 2 : count;
        TRY(create_buffer(k, capacity, &more));
        if (cells->count > 0)
            memcpy(more.data, cells->cells, (size_t)cells->count * sizeof *cells->cells);
        tensor_release(&cells->cells_of);
        cells->cells_of = more;
        cells->cells = more.data;
        cells->capacity = capacity;
    }
    memset(cells->cells + cells->count, 0, (size_t)(count - cells->count) * sizeof *cells->cells);
    cells->count = count;
    return status_ok();
}

struct status tensor_cells_output(struct kernel_context *k, const struct object_type *type,
                                  enum dtype dtype, int64_t count, struct tensor_cells **out)
{
    struct shape size = shape_of((int64_t)sizeof(struct tensor_cells)), scalar = shape_scalar();
    struct tensor self, *handle;
    TRY(kernel_output(k, 0, &scalar, &handle));
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    struct tensor_cells *cells = self.data;
    *cells = (struct tensor_cells){ .object = { .type = type, .references = 1 },
                                    .dtype = dtype,
                                    .shape = shape_unknown(),
                                    .node = kernel_node(k),
                                    .count_max = -1,
                                    .self = self };
    tensor_resources_mut(handle)[0] = &cells->object;
    *out = cells;
    return tensor_cells_grow(k, cells, count);
}

struct status tensor_cells_input(struct kernel_context *k, const struct object_type *type,
                                 struct tensor_cells **out)
{
    const struct tensor *handle = kernel_input(k, 0);
    struct object *object = NULL;
    if (handle->dtype == DT_RESOURCE && handle->size == 1)
        object = ((struct object *const *)handle->data)[0];
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
