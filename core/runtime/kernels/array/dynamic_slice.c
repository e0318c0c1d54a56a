/*
 * dynamic_slice: XlaDynamicSlice and XlaDynamicUpdateSlice read and replace a window of a tensor.
 * The start of the window is an input; a start that leaves no room for it moves inwards, as in XLA.
 * TensorFlow runs them on CPUs by compiling them. keras.ops.slice_update emits the second one,
 * which is how caches of keys and values grow.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

#define DTYPES_XLA (DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL))

struct inner_window {
    struct strided walk; /* the tensor, seen from the window */
    int64_t start;       /* the window's first element */
};

static struct status check_starts(const struct kernel_context *k, const struct tensor *x,
                                  const struct tensor *starts)
{
    if (starts->shape.rank != 1 || starts->size != x->shape.rank)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT,
            "index must be a vector with length equal to the number of input dimensions (%d), "
            "but its shape is %s",
            x->shape.rank, shape_text(&starts->shape));
    return status_ok();
}

/* A window of `size` that is nowhere larger than x. */
static void inner_window_make(const struct tensor *x, const struct tensor *starts,
                              const struct shape *size, struct inner_window *out)
{
    int64_t strides[SHAPE_RANK_MAX];
    *out = (struct inner_window){ 0 };
    dense_strides(&x->shape, strides);
    for (int d = 0; d < size->rank; d++) {
        int64_t last = x->shape.dims[d] - size->dims[d], start = tensor_index(starts, d);
        start = start < 0 ? 0 : start > last ? last : start;
        strided_append(&out->walk, size->dims[d], strides[d]);
        out->start += start * strides[d];
    }
}

static struct status find_size(const struct kernel_context *k, struct shape *out)
{
    const struct shape *x = &kernel_input(k, 0)->shape;
    const struct tensor *size = kernel_input(k, 2);
    if (size->shape.rank != 1 || size->size != x->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "size_indices must be a vector of %d elements, but its shape is %s",
                            x->rank, shape_text(&size->shape));
    *out = *x;
    for (int d = 0; d < x->rank; d++) {
        out->dims[d] = tensor_index(size, d);
        if (out->dims[d] < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "has negative size index to dynamic slice: %lld",
                                (long long)out->dims[d]);
        if (out->dims[d] > x->dims[d])
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT,
                "has slice size %lld greater than dimension size %lld in dimension %d of operand",
                (long long)out->dims[d], (long long)x->dims[d], d);
    }
    return status_ok();
}

static struct status dynamic_slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *starts = kernel_input(k, 1);
    struct shape size;
    struct inner_window window;
    struct tensor *out;
    TRY(check_starts(k, x, starts));
    TRY(find_size(k, &size));
    TRY(kernel_output(k, 0, &size, &out));
    if (out->size == 0)
        return status_ok();
    inner_window_make(x, starts, &size, &window);
    size_t bytes = dtype_size(x->dtype);
    strided_read(&window.walk, bytes, at_bytes_const(x->data, window.start, bytes), out->data);
    return status_ok();
}

static struct status check_update(const struct kernel_context *k, const struct shape *x,
                                  const struct shape *update)
{
    if (update->rank != x->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input and update must have the same rank, input shape is %s; "
                            "update shape is %s",
                            shape_text(x), shape_text(update));
    for (int d = 0; d < x->rank; d++) {
        if (update->dims[d] > x->dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Update dim size %lld greater than dynamic slice dimension: %lld",
                                (long long)update->dims[d], (long long)x->dims[d]);
    }
    return status_ok();
}

static struct status dynamic_update_slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *update = kernel_input(k, 1);
    const struct tensor *starts = kernel_input(k, 2);
    struct inner_window window;
    struct tensor *out;
    TRY(check_update(k, &x->shape, &update->shape));
    TRY(check_starts(k, x, starts));
    inner_window_make(x, starts, &update->shape, &window);
    TRY(kernel_output_copy(k, 0, 0, &out));
    size_t bytes = dtype_size(out->dtype);
    if (update->size > 0)
        strided_write(&window.walk, bytes, update->data, at_bytes(out->data, window.start, bytes));
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaDynamicSlice", DTYPES_XLA, .compute = dynamic_slice_compute },
    { "XlaDynamicUpdateSlice", DTYPES_XLA, .compute = dynamic_update_slice_compute },
};
const struct kernel_table kernels_dynamic_slice = { rows, COUNT(rows) };
