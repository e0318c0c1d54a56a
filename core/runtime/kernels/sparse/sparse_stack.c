#include "runtime/kernels/sparse/sparse_stack.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"

void sparse_parts_finish(struct sparse_parts *parts)
{
    tensor_release(&parts->indices);
    tensor_release(&parts->values);
    tensor_release(&parts->shape);
}

struct status sparse_parts_check(const struct kernel_context *k)
{
    static const char *const names[] = { "indices", "values", "shape" };
    for (int i = 0; i < 3; i++) {
        int rank = i == 0 ? 2 : 1;
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->rank != rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input %s should be a %s but received shape %s", names[i],
                                rank == 2 ? "matrix" : "vector", shape_text(shape));
    }
    return status_ok();
}

/* ---- rows ---- */

/* The indices and values [begin, end) of a row, without the row's number. */
static struct status make_row(struct kernel_context *k, const struct sparse_input *sparse,
                              int64_t begin, int64_t end, struct tensor *indices,
                              struct tensor *values)
{
    int64_t rank = sparse->rank - 1;
    struct shape matrix = shape_of(end - begin, rank), vector = shape_of(end - begin);
    TRY(kernel_scratch(k, DT_INT64, &matrix, indices));
    TRY(kernel_scratch(k, sparse->values->dtype, &vector, values));
    for (int64_t i = begin; i < end; i++) {
        memcpy(tensor_int64s_mut(indices) + (i - begin) * rank, sparse_input_index(sparse, i) + 1,
               (size_t)rank * sizeof(int64_t));
        copy_element(sparse->values, i, values, i - begin);
    }
    return status_ok();
}

static struct status visit_rows(struct kernel_context *k, const struct sparse_input *sparse,
                                struct sparse_parts *parts, sparse_row_visit *visit, void *argument)
{
    int64_t at = 0;
    for (int64_t row = 0; row < sparse->sizes[0]; row++) {
        int64_t begin = at;
        while (at < sparse->count && sparse_input_index(sparse, at)[0] == row)
            at++;
        if (row % 1024 == 0)
            TRY(kernel_check(k));
        TRY(make_row(k, sparse, begin, at, &parts->indices, &parts->values));
        TRY(visit(argument, row, parts));
        tensor_release(&parts->indices);
        tensor_release(&parts->values);
    }
    return status_ok();
}

struct status sparse_rows_each(struct kernel_context *k, const struct sparse_input *sparse,
                               sparse_row_visit *visit, void *argument)
{
    struct shape vector = shape_of(sparse->rank - 1);
    struct sparse_parts parts = { 0 };
    TRY(kernel_scratch(k, DT_INT64, &vector, &parts.shape));
    memcpy(parts.shape.data, sparse->sizes + 1, tensor_bytes(&parts.shape));
    struct status status = visit_rows(k, sparse, &parts, visit, argument);
    sparse_parts_finish(&parts);
    return status;
}

/* ---- stacks ---- */

struct status sparse_stack_create(struct kernel_context *k, struct sparse_stack *stack)
{
    void *items;
    TRY(arena_reserve(kernel_arena(k), (size_t)stack->count * sizeof *stack->items, &items));
    memset(items, 0, (size_t)stack->count * sizeof *stack->items);
    stack->items = items;
    return status_ok();
}

void sparse_stack_finish(struct sparse_stack *stack)
{
    for (int64_t i = 0; i < stack->count; i++)
        sparse_parts_finish(&stack->items[i]);
}

struct status sparse_stack_add(struct sparse_stack *stack, int64_t i, const char *what, int more)
{
    const struct sparse_parts *parts = &stack->items[i];
    if (i > 0 && parts->shape.size != stack->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inconsistent %s across SparseTensors: rank prior to "
                            "SparseTensor[%" PRId64 "] was: %" PRId64
                            " but rank of SparseTensor[%" PRId64 "] is: %" PRId64,
                            what, i, stack->rank + more, i, parts->shape.size + more);
    stack->rank = parts->shape.size;
    stack->total += parts->values.size;
    return status_ok();
}

/* The characters of strings may end with the item. */
static struct status copy_value(struct kernel_context *k, const struct tensor *values, int64_t i,
                                struct tensor *out, int64_t at)
{
    if (values->dtype != DT_STRING) {
        copy_element(values, i, out, at);
        return status_ok();
    }
    struct bytes text = tensor_strings(values)[i];
    void *kept;
    TRY(arena_reserve(kernel_arena(k), text.size + 1, &kept));
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    tensor_strings_mut(out)[at] = (struct bytes){ kept, text.size };
    return status_ok();
}

/* The index of item i in the new dimensions, then its own. */
static void put_index(const struct sparse_stack *stack, const struct shape *outer, int64_t item,
                      const int64_t *index, int64_t *out)
{
    for (int64_t d = stack->outer - 1; d >= 0; d--) {
        out[d] = item % outer->dims[d];
        item /= outer->dims[d];
    }
    memcpy(out + stack->outer, index, (size_t)stack->rank * sizeof *index);
}

static struct status put_items(struct kernel_context *k, const struct sparse_stack *stack,
                               struct tensor *indices, struct tensor *values, int64_t *shape)
{
    const struct shape *outer = &kernel_input(k, 0)->shape;
    int64_t at = 0, width = stack->outer + stack->rank;
    for (int64_t i = 0; i < stack->count; i++) {
        const struct sparse_parts *parts = &stack->items[i];
        const int64_t *sizes = tensor_int64s(&parts->shape);
        for (int64_t d = 0; d < stack->rank; d++)
            if (i == 0 || sizes[d] > shape[stack->outer + d])
                shape[stack->outer + d] = sizes[d];
        for (int64_t v = 0; v < parts->values.size; v++, at++) {
            put_index(stack, outer, i, tensor_int64s(&parts->indices) + v * stack->rank,
                      tensor_int64s_mut(indices) + at * width);
            TRY(copy_value(k, &parts->values, v, values, at));
        }
    }
    return status_ok();
}

struct status sparse_stack_output(struct kernel_context *k, const struct sparse_stack *stack)
{
    const struct shape *outer = &kernel_input(k, 0)->shape;
    int64_t width = stack->outer + stack->rank;
    struct shape matrix = shape_of(stack->total, width), vector = shape_of(stack->total),
                 line = shape_of(width);
    struct tensor *indices, *values, *shape;
    TRY(kernel_output(k, 0, &matrix, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(kernel_output(k, 2, &line, &shape));
    for (int64_t d = 0; d < stack->outer; d++)
        tensor_int64s_mut(shape)[d] = outer->dims[d];
    return put_items(k, stack, indices, values, tensor_int64s_mut(shape));
}
