/* Optionals: values that may be missing. TensorFlow's branches pass the intermediate values of the
 * branch that ran in them, and iterators give one at the end of a dataset. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"

/* An optional without a value is a box without tensors. */
static struct status none_compute(struct kernel_context *k)
{
    return tensor_box_output(k, BOX_OPTIONAL, 0, NULL);
}

static struct status from_value_compute(struct kernel_context *k)
{
    int count = kernel_inputs_count(k);
    struct tensor *parts = ARENA_ARRAY(kernel_arena(k), struct tensor, count);
    for (int i = 0; i < count; i++)
        parts[i] = kernel_take_input(k, i);
    return tensor_box_output(k, BOX_OPTIONAL, count, parts);
}

static struct status read_optional(struct kernel_context *k, const struct tensor_box **out)
{
    const struct tensor *optional = kernel_input(k, 0);
    const char *op = kernel_node(k)->op_name;
    if (optional->shape.rank != 0)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "Input to %s must be a scalar tensor containing an OptionalVariant object.", op);
    *out = tensor_box_at(optional, 0, BOX_OPTIONAL);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to %s must be an OptionalVariant object.", op);
    return status_ok();
}

static struct status has_value_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    const struct tensor_box *box;
    struct tensor *out;
    TRY(read_optional(k, &box));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_bools_mut(out)[0] = box->count > 0;
    return status_ok();
}

static struct status get_value_prepare(struct prepare_context *p)
{
    const struct attr_value **shapes = prepare_state(p, sizeof *shapes, NULL);
    const struct node *node = prepare_node(p);
    TRY(node_attr_list_of(node, "output_shapes", ATTR_SHAPE, shapes));
    if ((*shapes)->count == node->outputs_count)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "output_types and output_shapes must be same length, got: output_types: %d "
                        "output_shapes: %d",
                        node->outputs_count, (*shapes)->count);
}

static struct status check_component(const struct kernel_context *k, int i,
                                     const struct tensor *component, const struct shape *shape)
{
    enum dtype dtype = kernel_node(k)->outputs[i].dtype;
    if (component->dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The given optional does not match the expected type for component %d. "
                            "Expected: %s. Actual: %s.",
                            i, dtype_name(dtype), dtype_name(component->dtype));
    if (!shape_compatible(&component->shape, shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The given optional does not match the expected shape for component "
                            "%d. Expected: %s. Actual: %s.",
                            i, shape_text(shape), shape_text(&component->shape));
    return status_ok();
}

static struct status get_value_compute(struct kernel_context *k)
{
    const struct attr_value *shapes = *(const struct attr_value *const *)kernel_state(k);
    int count = kernel_outputs_count(k);
    const struct tensor_box *box;
    TRY(read_optional(k, &box));
    if (box->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "The given optional does not have a value.");
    if (box->count != count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The given optional has %d components, expected %d", box->count, count);
    for (int i = 0; i < count; i++)
        TRY(check_component(k, i, &box->parts[i], shapes->elements[i].shape));
    for (int i = 0; i < count; i++)
        kernel_output_set(k, i, tensor_acquire(&box->parts[i]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "OptionalNone", DTYPES_ALL, .compute = none_compute },
    { "OptionalFromValue", DTYPES_ALL, .compute = from_value_compute },
    { "OptionalHasValue", DTYPES_ALL, .compute = has_value_compute },
    { "OptionalGetValue", DTYPES_ALL, .prepare = get_value_prepare, .compute = get_value_compute },
};
const struct kernel_table kernels_optional = { rows, COUNT(rows) };
