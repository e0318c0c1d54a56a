/*
 * serialize_sparse: SerializeSparse and SerializeManySparse, which write a sparse tensor, or each
 * of its rows, as three serialized tensors or three variants: indices, values and shape.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse_input.h"
#include "runtime/kernels/lists/tensor_box.h"
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

static struct status check_parts(struct kernel_context *k)
{
    static const char *const names[] = { "indices", "values", "shape" };
    for (int i = 0; i < 3; i++) {
        int rank = i == 0 ? 2 : 1;
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->rank != rank)
            return INVALID("Input %s should be a %s but received shape %s", names[i],
                           rank == 2 ? "matrix" : "vector", shape_text(shape));
    }
    return status_ok();
}

static struct status one_compute(struct kernel_context *k)
{
    struct shape three = shape_of(3);
    struct tensor *out;
    TRY(check_parts(k));
    TRY(kernel_output(k, 0, &three, &out));
    for (int i = 0; i < 3; i++)
        TRY(put_tensor(k, kernel_input(k, i), out, i));
    return status_ok();
}

/* ---- SerializeManySparse ---- */

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

static struct status put_row(struct kernel_context *k, const struct sparse_input *sparse,
                             int64_t row, int64_t begin, int64_t end, const struct tensor *shape,
                             struct tensor *out)
{
    struct tensor indices = { 0 }, values = { 0 };
    struct status status = make_row(k, sparse, begin, end, &indices, &values);
    if (status_is_ok(status))
        status = put_tensor(k, &indices, out, 3 * row);
    if (status_is_ok(status))
        status = put_tensor(k, &values, out, 3 * row + 1);
    if (status_is_ok(status))
        status = put_tensor(k, shape, out, 3 * row + 2);
    tensor_release(&indices);
    tensor_release(&values);
    return status;
}

static struct status put_rows(struct kernel_context *k, const struct sparse_input *sparse,
                              const struct tensor *shape, struct tensor *out)
{
    int64_t at = 0;
    for (int64_t row = 0; row < out->shape.dims[0]; row++) {
        int64_t begin = at;
        while (at < sparse->count && sparse_input_index(sparse, at)[0] == row)
            at++;
        if (row % 1024 == 0)
            TRY(kernel_check(k));
        TRY(put_row(k, sparse, row, begin, at, shape, out));
    }
    return status_ok();
}

static struct status many_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    struct sparse_input sparse;
    struct tensor *out, shape;
    TRY(check_parts(k));
    if (kernel_input(k, 2)->size < 2)
        return INVALID("Rank of input SparseTensor should be > 1, but saw rank: %" PRId64,
                       kernel_input(k, 2)->size);
    if (indices->shape.dims[0] != values->size)
        return INVALID("indices and values rows (indexing dimension) must match. (indices = "
                       "%" PRId64 ", values = %" PRId64 ")",
                       indices->shape.dims[0], values->size);
    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    TRY(sparse_input_check_order(&sparse));
    struct shape matrix = shape_of(sparse.sizes[0], 3), vector = shape_of(sparse.rank - 1);
    TRY(kernel_output(k, 0, &matrix, &out));
    TRY(kernel_scratch(k, DT_INT64, &vector, &shape));
    memcpy(shape.data, sparse.sizes + 1, tensor_bytes(&shape));
    struct status status = put_rows(k, &sparse, &shape, out);
    tensor_release(&shape);
    return status;
}

static const struct kernel rows[] = {
    { "SerializeSparse", DTYPES_MOVED, "T", .compute = one_compute },
    { "SerializeManySparse", DTYPES_MOVED, "T", .compute = many_compute },
};
const struct kernel_table kernels_serialize_sparse = { rows, COUNT(rows) };
