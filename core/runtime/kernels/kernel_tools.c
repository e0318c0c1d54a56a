#include "runtime/kernels/kernel_tools.h"

#include <complex.h>

const void *op_row_find(const void *rows, size_t count, size_t row_bytes, const char *op)
{
    for (const char *row = rows; count > 0; count--, row += row_bytes)
        if (strcmp(*(const char *const *)(const void *)row, op) == 0)
            return row;
    return NULL;
}

struct status prepare_row(struct prepare_context *p, const void *row)
{
    const void **state = prepare_state(p, sizeof *state, NULL);
    *state = row;
    return status_ok();
}

const void *kernel_row(const struct kernel_context *k)
{
    return *(const void *const *)kernel_state(k);
}

struct status kernel_check_rank(const struct kernel_context *k, int64_t rank)
{
    struct status status = shape_check_rank(rank);
    return status_is_ok(status) ? status : kernel_error(k, status.code, "%s", status.message);
}

#define RESERVED_BYTES_MIN 256

struct status kernel_scratch_reserve(struct kernel_context *k, struct tensor *memory, int64_t count,
                                     int64_t more, size_t size)
{
    struct tensor larger;
    int64_t bytes, doubled = 2 * memory->size;
    if (__builtin_add_overflow(count, more, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)size, &bytes))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "room for %lld elements of %zu bytes",
                            (long long)more, size);
    if (bytes <= memory->size)
        return status_ok();
    if (doubled < RESERVED_BYTES_MIN)
        doubled = RESERVED_BYTES_MIN;
    struct shape shape = shape_of(bytes > doubled ? bytes : doubled);
    TRY(kernel_scratch(k, DT_UINT8, &shape, &larger));
    if (count > 0)
        memcpy(larger.data, memory->data, (size_t)count * size);
    tensor_release(memory);
    *memory = larger;
    return status_ok();
}

struct status kernel_axis(struct kernel_context *k, int index, int rank, int *out)
{
    const struct tensor *tensor = kernel_input(k, index);
    if (tensor->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "axis must be a scalar, but has shape %s",
                            shape_text(&tensor->shape));
    int64_t axis = tensor_index(tensor, 0);
    if (axis < -rank || axis >= rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected dimension in the range [%d, %d), but got %lld", -rank, rank,
                            (long long)axis);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return status_ok();
}

int64_t shape_outer(const struct shape *shape, int axis)
{
    int64_t size = 1;
    for (int d = 0; d < axis; d++)
        size *= shape->dims[d];
    return size;
}

int64_t shape_inner(const struct shape *shape, int axis)
{
    int64_t size = 1;
    for (int d = axis + 1; d < shape->rank; d++)
        size *= shape->dims[d];
    return size;
}

void copy_elements(enum dtype dtype, void *dst, const void *src, int64_t count)
{
    if (count == 0)
        return;
    memcpy(dst, src, (size_t)count * dtype_size(dtype));
    hold_elements(dtype, dst, count);
}

void hold_elements(enum dtype dtype, const void *x, int64_t count)
{
    if (dtype == DT_RESOURCE || dtype == DT_VARIANT)
        for (int64_t i = 0; i < count; i++)
            object_acquire(((struct object *const *)x)[i]);
}

struct status kernel_output_copy(struct kernel_context *k, int index, int input,
                                 struct tensor **out)
{
    struct shape shape = kernel_input(k, input)->shape;
    const void *from = kernel_input(k, input)->data;
    TRY(kernel_output_forward(k, index, input, &shape, out));
    if ((*out)->data != from)
        copy_elements((*out)->dtype, (*out)->data, from, (*out)->size);
    return status_ok();
}

void copy_element(const struct tensor *from, int64_t i, struct tensor *to, int64_t at)
{
    size_t size = dtype_size(from->dtype);
    copy_elements(from->dtype, (char *)to->data + (size_t)at * size,
                  (const char *)from->data + (size_t)i * size, 1);
}

void conjugate_elements(enum dtype dtype, void *x, int64_t count)
{
    if (dtype == DT_COMPLEX64)
        for (int64_t i = 0; i < count; i++)
            ((float complex *)x)[i] = conjf(((float complex *)x)[i]);
    else if (dtype == DT_COMPLEX128)
        for (int64_t i = 0; i < count; i++)
            ((double complex *)x)[i] = conj(((double complex *)x)[i]);
}

void repeat_element(void *data, size_t element_bytes, const void *value, int64_t count)
{
    if (count == 0)
        return;
    memcpy(data, value, element_bytes);
    size_t done = element_bytes, total = (size_t)count * element_bytes;
    while (done < total) { /* doubles the filled part */
        size_t more = done < total - done ? done : total - done;
        memcpy((char *)data + done, data, more);
        done += more;
    }
}

struct status node_attr_ints(const struct node *node, const char *name, int max, int64_t *out,
                             int *count)
{
    const struct attr_value *list;
    TRY(node_attr_list(node, name, &list));
    if (list->count > max || (list->count > 0 && list->element_kind != ATTR_INT))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): attribute '%s' must hold at most %d integers",
                            node->name, node->op_name, name, max);
    for (int i = 0; i < list->count; i++) {
        out[i] = list->elements[i].i;
        if (out[i] < INT32_MIN || out[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "node '%s' (%s): Attr %s has value %lld out of range for an int32",
                                node->name, node->op_name, name, (long long)out[i]);
    }
    *count = list->count;
    return status_ok();
}

struct status kernel_vector(const struct kernel_context *k, int index, const char *name)
{
    const struct shape *shape = &kernel_input(k, index)->shape;
    return shape->rank == 1
               ? status_ok()
               : status_error(STATUS_INVALID_ARGUMENT, "%s must be a vector, but received shape %s",
                              name, shape_text(shape));
}

struct status kernel_scalar(struct kernel_context *k, int index, const char *name,
                            const struct tensor **out)
{
    *out = kernel_input(k, index);
    if ((*out)->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", name,
                            shape_text(&(*out)->shape));
    return status_ok();
}
