/*
 * TensorArrayV3, its older forms, and their ops. Elements are views and shared buffers: a write, a
 * read and a scatter copy nothing. The value `flow` only puts the ops in order.
 */
#include "runtime/kernels/lists/tensor_array.h"

#include "runtime/kernels/kernel_tools.h"

/* ---- making ---- */

struct array_state {
    enum dtype dtype;
    const struct shape *shape;
    bool grows, clears, has_one_shape;
};

static struct status array_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct array_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_type(node, "dtype", &state->dtype));
    TRY(node_attr_shape(node, "element_shape", &state->shape));
    TRY(node_attr_bool(node, "dynamic_size", &state->grows));
    TRY(node_attr_bool(node, "clear_after_read", &state->clears));
    if (op_attr_find(node->op, "identical_element_shapes") == NULL)
        return status_ok();
    return node_attr_bool(node, "identical_element_shapes", &state->has_one_shape);
}

static struct status array_compute(struct kernel_context *k)
{
    const struct array_state *state = kernel_state(k);
    const struct tensor *size = kernel_input(k, 0);
    struct tensor_cells *array;
    if (size->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray size must be scalar, but had shape: %s",
                            shape_text(&size->shape));
    if (tensor_index(size, 0) < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Size should be >= 0.");
    TRY(tensor_cells_create(k, &tensor_array_type, state->dtype, tensor_index(size, 0), &array));
    array->shape = *state->shape;
    array->grows = state->grows;
    array->clears = state->clears;
    array->has_one_shape = state->has_one_shape;
    TRY(tensor_cells_output(k, array));
    return tensor_array_flow(k);
}

/* ---- one element ---- */

static struct status index_input(struct kernel_context *k, int64_t *out)
{
    const struct tensor *index = kernel_input(k, 1);
    if (index->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorArray index must be scalar, but had shape: %s",
                            shape_text(&index->shape));
    *out = tensor_index(index, 0);
    return status_ok();
}

static struct status write_compute(struct kernel_context *k)
{
    struct tensor_cells *array;
    int64_t index = 0;
    TRY(index_input(k, &index));
    TRY(tensor_array_input(k, kernel_input(k, 2)->dtype, "is trying to write", &array));
    TRY(tensor_array_write(k, array, index, kernel_take_input(k, 2)));
    kernel_output_set(k, 0, kernel_take_input(k, 3));
    return status_ok();
}

static struct status dtype_prepare(struct prepare_context *p)
{
    enum dtype *dtype = prepare_state(p, sizeof *dtype, NULL);
    return node_attr_type(prepare_node(p), "dtype", dtype);
}

static struct status read_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct tensor_cells *array;
    struct tensor value;
    int64_t index = 0;
    TRY(index_input(k, &index));
    TRY(tensor_array_input(k, *dtype, "requested", &array));
    TRY(tensor_array_read(k, array, index, &value));
    kernel_output_set(k, 0, value);
    return status_ok();
}

/* ---- the array itself ---- */

static struct status size_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor_cells *array;
    struct tensor *out;
    TRY(tensor_cells_input(k, &tensor_array_type, &array));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)array->count;
    return status_ok();
}

static struct status close_compute(struct kernel_context *k)
{
    struct tensor_cells *array;
    TRY(tensor_cells_input(k, &tensor_array_type, &array));
    tensor_cells_close(array);
    return status_ok();
}

/* No counted objects: an array that holds its own handle would never be released. */
#define FORMS(v)                                                                                  \
    { "TensorArray" v, DTYPES_MOVED, .prepare = array_prepare, .compute = array_compute },        \
        { "TensorArrayWrite" v, DTYPES_MOVED, .compute = write_compute },                         \
        { "TensorArrayRead" v, DTYPES_MOVED, .prepare = dtype_prepare, .compute = read_compute }, \
        { "TensorArraySize" v, DTYPES_ALL, .compute = size_compute },                             \
    {                                                                                             \
        "TensorArrayClose" v, DTYPES_ALL, .compute = close_compute                                \
    }

static const struct kernel rows[] = {
    FORMS("V3"),
    FORMS("V2"),
    FORMS(""),
};
const struct kernel_table kernels_tensor_array = { rows, COUNT(rows) };
