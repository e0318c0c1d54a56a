/* StackV2, Stack and their ops: loops of TensorFlow 1 keep values for their gradients in stacks. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_cells.h"

static struct status stack_prepare(struct prepare_context *p)
{
    enum dtype *dtype = prepare_state(p, sizeof *dtype, NULL);
    return node_attr_type(prepare_node(p), "elem_type", dtype);
}

static struct status stack_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    const struct tensor *max = kernel_input(k, 0);
    struct tensor_cells *stack;
    if (max->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Stack size must be a scalar, but had shape: %s",
                            shape_text(&max->shape));
    int64_t count_max = tensor_index(max, 0);
    TRY(tensor_cells_create(k, &tensor_stack_type, *dtype, 0, &stack));
    stack->count_max = count_max < 0 ? -1 : count_max;
    return tensor_cells_output(k, stack);
}

/* Stack, the first version, has no size. */
static struct status endless_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct tensor_cells *stack;
    TRY(tensor_cells_create(k, &tensor_stack_type, *dtype, 0, &stack));
    return tensor_cells_output(k, stack);
}

static struct status push_compute(struct kernel_context *k)
{
    struct tensor_cells *stack;
    const struct tensor *value = kernel_input(k, 1);
    TRY(tensor_cells_input(k, &tensor_stack_type, &stack));
    if (value->dtype != stack->dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "Must have type %s but got %s",
                            dtype_name(stack->dtype), dtype_name(value->dtype));
    if (stack->count_max >= 0 && stack->count >= stack->count_max)
        return status_error(STATUS_INVALID_ARGUMENT, "Stack[%s] overflowed its max_size (%lld)",
                            stack->node->name, (long long)stack->count_max);
    TRY(tensor_cells_grow(k, stack, stack->count + 1));
    stack->cells[stack->count - 1].value = tensor_acquire(value);
    kernel_output_set(k, 0, kernel_take_input(k, 1));
    return status_ok();
}

static struct status pop_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct tensor_cells *stack;
    TRY(tensor_cells_input(k, &tensor_stack_type, &stack));
    if (stack->dtype != *dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "Stack[%s] holds %s, not %s",
                            stack->node->name, dtype_name(stack->dtype), dtype_name(*dtype));
    if (stack->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Stack[%s] is empty when calling Pop().",
                            stack->node->name);
    kernel_output_set(k, 0, stack->cells[--stack->count].value);
    return status_ok();
}

static struct status close_compute(struct kernel_context *k)
{
    struct tensor_cells *stack;
    TRY(tensor_cells_input(k, &tensor_stack_type, &stack));
    tensor_cells_close(stack);
    return status_ok();
}

/* No counted objects: see tensor_array.c. */
static const struct kernel rows[] = {
    { "StackV2", DTYPES_MOVED, .prepare = stack_prepare, .compute = stack_compute },
    { "Stack", DTYPES_MOVED, .prepare = stack_prepare, .compute = endless_compute },
    { "StackPushV2", DTYPES_MOVED, .compute = push_compute },
    { "StackPush", DTYPES_MOVED, .compute = push_compute },
    { "StackPopV2", DTYPES_MOVED, .prepare = stack_prepare, .compute = pop_compute },
    { "StackPop", DTYPES_MOVED, .prepare = stack_prepare, .compute = pop_compute },
    { "StackCloseV2", DTYPES_ALL, .compute = close_compute },
    { "StackClose", DTYPES_ALL, .compute = close_compute },
};
const struct kernel_table kernels_tensor_stack = { rows, COUNT(rows) };
