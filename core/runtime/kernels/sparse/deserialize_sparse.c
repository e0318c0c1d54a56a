/*
 * deserialize_sparse: DeserializeSparse and DeserializeManySparse, which read sparse tensors that
 * serialize_sparse.c wrote, [...., 3] strings or variants, and stack them along new dimensions.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "tensor/tensor_wire.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* The three tensors of one sparse tensor. */
struct sparse_parts {
    struct tensor indices, values, shape;
};

struct sparse_stack {
    struct sparse_parts *items; /* [count] */
    int64_t count;
    int64_t outer; /* new dimensions in front */
    int64_t rank;  /* of each */
    int64_t total; /* values of all */
    enum dtype dtype;
};

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
    if (i > 0 && parts->shape.size != stack->rank)
        return INVALID(
            "Inconsistent shape across SparseTensors: rank prior to SparseTensor[%" PRId64
            "] was: %" PRId64 " but rank of SparseTensor[%" PRId64 "] is: %" PRId64,
            i, stack->rank, i, parts->shape.size);
    stack->rank = parts->shape.size;
    stack->total += parts->values.size;
    return status_ok();
}

/* ---- all of them ---- */

/* Strings of a message live in it only as long as the input does. */
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

static struct status make_outputs(struct kernel_context *k, const struct sparse_stack *stack)
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
    return make_outputs(k, stack);
}

static struct status deserialize_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct sparse_stack stack = { .count = x->size / 3, .outer = x->shape.rank - 1 };
    void *items;
    TRY(check_input(x, strcmp(kernel_node(k)->op_name, "DeserializeManySparse") == 0));
    TRY(node_attr_type(kernel_node(k), "dtype", &stack.dtype));
    TRY(arena_reserve(kernel_arena(k), (size_t)stack.count * sizeof *stack.items, &items));
    memset(items, 0, (size_t)stack.count * sizeof *stack.items);
    stack.items = items;
    struct status status = read_items(k, &stack);
    for (int64_t i = 0; i < stack.count; i++) {
        tensor_release(&stack.items[i].indices);
        tensor_release(&stack.items[i].values);
        tensor_release(&stack.items[i].shape);
    }
    return status;
}

static const struct kernel rows[] = {
    { "DeserializeSparse", DTYPES_MOVED, "dtype", .compute = deserialize_compute },
    { "DeserializeManySparse", DTYPES_MOVED, "dtype", .compute = deserialize_compute },
};
const struct kernel_table kernels_deserialize_sparse = { rows, COUNT(rows) };
