/*
 * TensorArrayGradV3 and its other forms: the array that collects the gradients of an array's
 * elements. An array has one for each `source`, and each node with that source gets the same.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_array.h"

static struct status grad_prepare(struct prepare_context *p)
{
    struct bytes *source = prepare_state(p, sizeof *source, NULL);
    return node_attr_string(prepare_node(p), "source", source);
}

/* The dimensions that each gradient has before those of the element. */
static struct status read_prefix(struct kernel_context *k, struct shape *out)
{
    *out = shape_scalar();
    if (kernel_inputs_count(k) < 3)
        return status_ok();
    const struct tensor *prefix = kernel_input(k, 2);
    if (prefix->shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "shape_to_prepend must be a vector, but has shape %s",
                            shape_text(&prefix->shape));
    int64_t dims[SHAPE_RANK_MAX];
    TRY(kernel_check_rank(k, prefix->size));
    for (int64_t i = 0; i < prefix->size; i++)
        dims[i] = tensor_index(prefix, i);
    return shape_check((int)prefix->size, dims, out);
}

static struct status prepend(const struct kernel_context *k, const struct shape *prefix,
                             const struct shape *shape, struct shape *out)
{
    *out = *shape;
    if (shape->rank < 0)
        return status_ok();
    TRY(kernel_check_rank(k, (int64_t)prefix->rank + shape->rank));
    *out = *prefix;
    for (int d = 0; d < shape->rank; d++)
        shape_append(out, shape->dims[d]);
    return status_ok();
}

/* The gradients start as zeros of the shapes of the elements that have been written. */
static struct status copy_shapes(const struct kernel_context *k, const struct tensor_cells *array,
                                 const struct shape *prefix, struct tensor_cells *gradient)
{
    for (int64_t i = 0; i < array->count; i++) {
        if (!array->cells[i].is_written)
            continue;
        TRY(prepend(k, prefix, &array->cells[i].shape, &gradient->cells[i].shape));
        gradient->cells[i].is_written = true;
    }
    return prepend(k, prefix, &array->shape, &gradient->shape);
}

static struct status create_gradient(struct kernel_context *k, struct tensor_cells *array,
                                     struct bytes source)
{
    struct tensor_cells *gradient;
    struct shape prefix;
    TRY(read_prefix(k, &prefix));
    TRY(tensor_cells_create(k, &tensor_array_type, array->dtype, array->count, &gradient));
    struct status status = copy_shapes(k, array, &prefix, gradient);
    if (!status_is_ok(status)) {
        object_release(&gradient->object);
        return status;
    }
    gradient->clears = true;
    gradient->is_gradient = true;
    gradient->has_one_shape = array->has_one_shape;
    gradient->source = source;
    gradient->sibling = array->gradients;
    array->gradients = gradient;
    return status_ok();
}

static struct status grad_compute(struct kernel_context *k)
{
    const struct bytes *source = kernel_state(k);
    struct tensor_cells *array;
    TRY(tensor_cells_input(k, &tensor_array_type, &array));
    if (array->is_gradient)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Wrong input container. _tensor_array_grads: '%s' is itself the "
                            "gradient of an array",
                            array->node->name);
    array->grows = false; /* its size is that of the gradients */
    struct tensor_cells *gradient = array->gradients;
    while (gradient != NULL && !bytes_equal(gradient->source, *source))
        gradient = gradient->sibling;
    if (gradient == NULL) {
        TRY(create_gradient(k, array, *source));
        gradient = array->gradients;
    }
    object_acquire(&gradient->object);
    TRY(tensor_cells_output(k, gradient));
    return tensor_array_flow(k);
}

static const struct kernel rows[] = {
    { "TensorArrayGradV3", DTYPES_ALL, .prepare = grad_prepare, .compute = grad_compute },
    { "TensorArrayGradWithShape", DTYPES_ALL, .prepare = grad_prepare, .compute = grad_compute },
    { "TensorArrayGradV2", DTYPES_ALL, .prepare = grad_prepare, .compute = grad_compute },
    { "TensorArrayGrad", DTYPES_ALL, .prepare = grad_prepare, .compute = grad_compute },
};
const struct kernel_table kernels_tensor_array_grad = { rows, COUNT(rows) };
