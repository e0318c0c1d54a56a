/* Elements repeated along dimensions: Tile, BroadcastTo. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

static struct status tile_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *multiples = kernel_input(k, 1);
    int64_t strides[SHAPE_RANK_MAX];
    struct strided strided = { 0 };
    struct shape shape = { 0 };
    struct tensor *out;
    if (multiples->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected multiples to be 1-D, but got shape %s",
                            shape_text(&multiples->shape));
    if (multiples->size != x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected multiples argument to be a vector of length %d but got "
                            "length %lld",
                            x->shape.rank, (long long)multiples->size);
    dense_strides(&x->shape, strides);
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t times = tensor_index(multiples, d), dim;
        if (times < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected multiples[%d] >= 0, but got %lld", d, (long long)times);
        if (__builtin_mul_overflow(times, x->shape.dims[d], &dim))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d would not fit int64", d);
        shape_append(&shape, dim);
        strided_append(&strided, times, 0);
        strided_append(&strided, x->shape.dims[d], strides[d]);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

static struct status broadcast_to_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *wanted = kernel_input(k, 1);
    int64_t strides[SHAPE_RANK_MAX];
    struct strided strided = { 0 };
    struct shape shape = { 0 }, joint;
    struct tensor *out;
    if (wanted->shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape must be a vector, but has shape %s",
                            shape_text(&wanted->shape));
    TRY(kernel_check_rank(k, wanted->size));
    for (int64_t d = 0; d < wanted->size; d++)
        shape_append(&shape, tensor_index(wanted, d));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    if (x->shape.rank > shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Rank of input (%d) must be no greater than rank of output shape (%d).",
                            x->shape.rank, shape.rank);
    if (!status_is_ok(shape_broadcast(&x->shape, &shape, &joint)) || !shape_equal(&joint, &shape))
        return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                            shape_text(&x->shape), shape_text(&shape));
    dense_strides(&x->shape, strides);
    for (int d = 0; d < shape.rank; d++) {
        int from = d - (shape.rank - x->shape.rank);
        bool repeated = from < 0 || x->shape.dims[from] == 1;
        strided_append(&strided, shape.dims[d], repeated ? 0 : strides[from]);
    }
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    hold_elements(out->dtype, out->data, out->size);
    return status_ok();
}

static const struct kernel rows[] = {
    { "Tile", DTYPES_MOVED, .compute = tile_compute },
    { "BroadcastTo", DTYPES_ALL, .compute = broadcast_to_compute },
};
const struct kernel_table kernels_tile = { rows, COUNT(rows) };
