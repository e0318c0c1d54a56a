/*
 * deserialize_sparse: DeserializeSparse and DeserializeManySparse, which read sparse tensors that
 * serialize_sparse.c wrote, [...., 3] strings or variants, and stack them along new dimensions.
 */
#include <inttypes.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/sparse/sparse_stack.h"
#include "tensor/tensor_wire.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* ---- one tensor ---- */

static struct status scan_string(struct bytes text, struct tensor_wire *out)
{
    if (text.size == 0)
        return INVALID("Could not construct tensor from proto");
    if (!status_is_ok(tensor_wire_scan(text, out)))
        return INVALID("Could not parse serialized proto");
    return status_ok();
}

static struct status read_string(struct kernel_context *k, struct bytes text, enum dtype dtype,
                                 struct tensor *out)
{
    struct tensor_wire wire;
    TRY(scan_string(text, &wire));
    if (wire.dtype != dtype)
        return INVALID("Type mismatch: actual %s vs. expect %s", dtype_name(wire.dtype),
                       dtype_name(dtype));
    TRY(tensor_wire_read(&wire, kernel_arena(k), out));
    return status_ok();
}

static struct status read_tensor(struct kernel_context *k, int64_t i, enum dtype dtype,
                                 struct tensor *out)
{
    const struct tensor *x = kernel_input(k, 0);
    if (x->dtype == DT_STRING)
        return read_string(k, tensor_strings(x)[i], dtype, out);
    const struct tensor_box *box = tensor_box_at(x, i, BOX_PLAIN);
    if (box == NULL)
        return INVALID("Could not get a tensor from serialized_sparse");
    if (box->parts[0].dtype != dtype)
        return INVALID("Type mismatch: actual %s vs. expect %s", dtype_name(box->parts[0].dtype),
                       dtype_name(dtype));
    *out = tensor_acquire(&box->parts[0]);
    return status_ok();
}

/* The type of the values is checked last, as TensorFlow does. */
static struct status values_type(struct kernel_context *k, int64_t i, enum dtype *out)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor_wire wire;
    if (x->dtype == DT_STRING) {
        TRY(scan_string(tensor_strings(x)[i], &wire));
        *out = wire.dtype;
        return status_ok();
    }
    const struct tensor_box *box = tensor_box_at(x, i, BOX_PLAIN);
    if (box == NULL)
        return INVALID("Could not get a tensor from serialized_sparse");
    *out = box->parts[0].dtype;
    return status_ok();
}

static struct status check_item(const struct sparse_parts *parts, int64_t i)
{
    const struct tensor *indices = &parts->indices, *values = &parts->values,
                        *shape = &parts->shape;
    if (indices->shape.rank != 2)
        return INVALID("Expected serialized_sparse[%" PRId64
                       ", 0] to represent an index matrix but received shape %s",
                       i, shape_text(&indices->shape));
    if (values->shape.rank != 1)
        return INVALID("Expected serialized_sparse[%" PRId64
                       ", 1] to represent a values vector but received shape %s",
                       i, shape_text(&values->shape));
    if (shape->shape.rank != 1)
        return INVALID("Expected serialized_sparse[%" PRId64
                       ", 1] to be a shape vector but its shape is %s",
                       i, shape_text(&shape->shape));
    if (indices->shape.dims[0] != values->size)
        return INVALID("Expected row counts of SparseTensor[%" PRId64
                       "].indices and SparseTensor[%" PRId64
                       "].values to match but they do not: %" PRId64 " vs. %" PRId64,
                       i, i, indices->shape.dims[0], values->size);
    if (indices->shape.dims[1] != shape->size)
        return INVALID("Expected column counts of SparseTensor[%" PRId64
                       "].indices to match size of SparseTensor[%" PRId64
                       "].shape but they do not: %" PRId64 " vs. %" PRId64,
                       i, i, indices->shape.dims[1], shape->size);
    return status_ok();
}

static struct status read_item(struct kernel_context *k, struct sparse_stack *stack, int64_t i)
{
    struct sparse_parts *parts = &stack->items[i];
    enum dtype dtype;
    TRY(read_tensor(k, 3 * i, DT_INT64, &parts->indices));
    TRY(values_type(k, 3 * i + 1, &dtype));
    TRY(read_tensor(k, 3 * i + 1, dtype, &parts->values));
    TRY(read_tensor(k, 3 * i + 2, DT_INT64, &parts->shape));
    TRY(check_item(parts, i));
    if (dtype != stack->dtype)
        return INVALID("Requested SparseTensor of type %s but SparseTensor[%" PRId64
                       "].values.dtype() == %s",
                       dtype_name(stack->dtype), i, dtype_name(dtype));
    return sparse_stack_add(stack, i, "shape", 0);
}

/* ---- all of them ---- */

static struct status check_input(const struct tensor *x, bool many)
{
    int rank = x->shape.rank;
    if (many && rank != 2)
        return INVALID("Serialized sparse should be a matrix, not of shape %s",
                       shape_text(&x->shape));
    if (rank < 1)
        return INVALID("Serialized sparse should have non-zero rank %s", shape_text(&x->shape));
    if (x->shape.dims[rank - 1] != 3)
        return INVALID("Serialized sparse should have 3 as the last dimension %s",
                       shape_text(&x->shape));
    if (x->size == 0)
        return INVALID("Serialized sparse should have at least 1 serialized tensor, but has a zero "
                       "dimension %s",
                       shape_text(&x->shape));
    return status_ok();
}

static struct status read_items(struct kernel_context *k, struct sparse_stack *stack)
{
    for (int64_t i = 0; i < stack->count; i++) {
        if (i % 1024 == 0)
            TRY(kernel_check(k));
        TRY(read_item(k, stack, i));
    }
    return sparse_stack_output(k, stack);
}

static struct status deserialize_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct sparse_stack stack = { .count = x->size / 3, .outer = x->shape.rank - 1 };
    TRY(check_input(x, strcmp(kernel_node(k)->op_name, "DeserializeManySparse") == 0));
    TRY(node_attr_type(kernel_node(k), "dtype", &stack.dtype));
    TRY(sparse_stack_create(k, &stack));
    struct status status = read_items(k, &stack);
    sparse_stack_finish(&stack);
    return status;
}

static const struct kernel rows[] = {
    { "DeserializeSparse", DTYPES_MOVED, "dtype", .compute = deserialize_compute },
    { "DeserializeManySparse", DTYPES_MOVED, "dtype", .compute = deserialize_compute },
};
const struct kernel_table kernels_deserialize_sparse = { rows, COUNT(rows) };
