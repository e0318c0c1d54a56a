/*
 * serialize_sparse: SerializeSparse and SerializeManySparse, which write a sparse tensor, or each
 * of its rows, as three serialized tensors or three variants: indices, values and shape.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/sparse/sparse_stack.h"
#include "runtime/kernels/sparse_input.h"
#include "tensor/tensor_wire.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

static struct status serialize_tensor(struct kernel_context *k, const struct tensor *x,
                                      struct bytes *out)
{
    if (!tensor_wire_can_put(x->dtype))
        return kernel_error(k, STATUS_UNIMPLEMENTED, "a tensor of %s as a TensorProto",
                            dtype_name(x->dtype));
    size_t size =
        tensor_wire_size(x, TENSOR_WIRE_CONTENT); /* of strings, too, as TensorFlow does */
    struct buffer text = { 0 };
    void *kept;
    TRY(arena_reserve(kernel_arena(k), size + 1, &kept));
    if (!buffer_try_reserve(&text, size))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a string of %zu bytes", size);
    tensor_wire_put(x, TENSOR_WIRE_CONTENT, &text);
    if (text.size > 0)
        memcpy(kept, text.data, text.size);
    *out = (struct bytes){ kept, text.size };
    buffer_finish(&text);
    return status_ok();
}

/* Element i of the output becomes the tensor. */
static struct status put_tensor(struct kernel_context *k, const struct tensor *x,
                                struct tensor *out, int64_t i)
{
    struct tensor part = tensor_acquire(x);
    if (out->dtype == DT_VARIANT)
        return tensor_box_create(k, BOX_PLAIN, 1, &part, &tensor_variants_mut(out)[i]);
    struct status status = serialize_tensor(k, x, &tensor_strings_mut(out)[i]);
    tensor_release(&part);
    return status;
}

static struct status one_compute(struct kernel_context *k)
{
    struct shape three = shape_of(3);
    struct tensor *out;
    TRY(sparse_parts_check(k));
    TRY(kernel_output(k, 0, &three, &out));
    for (int i = 0; i < 3; i++)
        TRY(put_tensor(k, kernel_input(k, i), out, i));
    return status_ok();
}

/* ---- SerializeManySparse ---- */

struct row_writer {
    struct kernel_context *context;
    struct tensor *out;
};

static struct status put_row(void *argument, int64_t row, const struct sparse_parts *parts)
{
    const struct row_writer *writer = argument;
    TRY(put_tensor(writer->context, &parts->indices, writer->out, 3 * row));
    TRY(put_tensor(writer->context, &parts->values, writer->out, 3 * row + 1));
    return put_tensor(writer->context, &parts->shape, writer->out, 3 * row + 2);
}

static struct status many_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    struct sparse_input sparse;
    TRY(sparse_parts_check(k));
    if (kernel_input(k, 2)->size < 2)
        return INVALID("Rank of input SparseTensor should be > 1, but saw rank: %" PRId64,
                       kernel_input(k, 2)->size);
    if (indices->shape.dims[0] != values->size)
        return INVALID("indices and values rows (indexing dimension) must match. (indices = "
                       "%" PRId64 ", values = %" PRId64 ")",
                       indices->shape.dims[0], values->size);
    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    TRY(sparse_input_check_order(&sparse));
    struct shape matrix = shape_of(sparse.sizes[0], 3);
    struct row_writer writer = { .context = k };
    TRY(kernel_output(k, 0, &matrix, &writer.out));
    return sparse_rows_each(k, &sparse, put_row, &writer);
}

static const struct kernel rows[] = {
    { "SerializeSparse", DTYPES_MOVED, "T", .compute = one_compute },
    { "SerializeManySparse", DTYPES_MOVED, "T", .compute = many_compute },
};
const struct kernel_table kernels_serialize_sparse = { rows, COUNT(rows) };
