/*
 * bincount: how often each number occurs, in a dense output: Bincount, DenseBincount,
 * RaggedBincount, SparseBincount. With weights, the sums of the weights.
 */
#include "runtime/kernels/array/bincount.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse_input.h"

/* A weight of 1. */
static const void *unit_of(enum dtype dtype)
{
    static const float one_f32 = 1;
    static const double one_f64 = 1;
    static const int64_t one = 1; /* its first half is the int32 */

    return dtype == DT_FLOAT    ? (const void *)&one_f32
           : dtype == DT_DOUBLE ? (const void *)&one_f64
                                : (const void *)&one;
}

void bincount_add(const struct tensor *weights, int64_t at, bool binary, struct tensor *out,
                  int64_t bin)
{
    size_t bytes = dtype_size(out->dtype);
    void *total = at_bytes(out->data, bin, bytes);

    if (binary)
        memcpy(total, unit_of(out->dtype), bytes);
    else
        add_elements(out->dtype,
                     weights->size > 0 ? at_bytes_const(weights->data, at, bytes)
                                       : unit_of(out->dtype),
                     total, 1);
}

struct status bincount_check_weights(const struct tensor *values, const struct tensor *weights)
{
    if (weights->size == 0 || shape_equal(&values->shape, &weights->shape))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Weights and values must have the same shape. Weight shape: %s; values "
                        "shape: %s",
                        shape_text(&weights->shape), shape_text(&values->shape));
}

struct status bincount_check_splits(const struct tensor *splits, int64_t values)
{
    const int64_t *at = tensor_int64s(splits);

    if (at[0] != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Splits must start with 0, not with %lld",
                            (long long)at[0]);
    for (int64_t i = 1; i < splits->size; i++)
        if (at[i] < at[i - 1])
            return status_error(STATUS_INVALID_ARGUMENT, "Splits must be in ascending order");
    if (at[splits->size - 1] != values)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Splits must end with the number of values, got %lld instead of %lld",
                            (long long)at[splits->size - 1], (long long)values);
    return status_ok();
}

/* ---- Bincount ---- */

static struct status bincount_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    const struct tensor *weights = kernel_input(k, 2);
    struct tensor *out;
    if (size->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                            size->shape.rank);
    int64_t bins = tensor_index(size, 0);
    if (bins < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                            (long long)bins);
    if (weights->size != 0 && weights->size != x->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input indices and weights must have the same size.");
    struct shape shape = shape_of(bins);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i++) {
        int64_t bin = tensor_index(x, i);
        if (bin < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Input arr must be non-negative!");
        if (bin < bins)
            bincount_add(weights, i, false, out, bin);
    }
    return status_ok();
}

/* ---- DenseBincount ---- */

static struct status binary_prepare(struct prepare_context *p)
{
    bool *binary = prepare_state(p, sizeof *binary, NULL);

    return node_attr_bool(prepare_node(p), "binary_output", binary);
}

static struct status check_dense_bincount(const struct tensor *x, const struct tensor *size,
                                          const struct tensor *weights)
{
    if (size->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                            size->shape.rank);
    if (tensor_index(size, 0) < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                            (long long)tensor_index(size, 0));
    if (x->shape.rank > 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d",
                            x->shape.rank);
    if (weights->size != 0 && !shape_equal(&weights->shape, &x->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in "
                            "which case it acts as all weights equal to 1. Received %s",
                            shape_text(&weights->shape));
    for (int64_t i = 0; i < x->size; i++)
        if (tensor_index(x, i) < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input 'in' must be non-negative! Negative input value found: %lld",
                                (long long)tensor_index(x, i));
    return status_ok();
}

/* Counts value i of x in the bins of a row; a bin beyond the last one does not count. */
static void count_value(struct kernel_context *k, const struct tensor *x,
                        const struct tensor *weights, int64_t row, int64_t i, struct tensor *out)
{
    const bool *binary = kernel_state(k);
    int64_t bins = out->shape.dims[out->shape.rank - 1], bin = tensor_index(x, i);

    if (bin < bins)
        bincount_add(weights, i, *binary, out, row * bins + bin);
}

/* Each row of a matrix has bins of its own. */
static struct status dense_bincount_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    const struct tensor *weights = kernel_input(k, 2);
    struct tensor *out;

    TRY(check_dense_bincount(x, size, weights));
    int64_t bins = tensor_index(size, 0);
    int64_t width = x->shape.rank == 0 ? 1 : x->shape.dims[x->shape.rank - 1];
    struct shape shape = x->shape.rank == 2 ? shape_of(x->shape.dims[0], bins) : shape_of(bins);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i++)
        count_value(k, x, weights, i / width, i, out);
    return status_ok();
}

/* ---- RaggedBincount ---- */

static struct status ragged_bincount_compute(struct kernel_context *k)
{
    const struct tensor *splits = kernel_input(k, 0), *x = kernel_input(k, 1);
    const struct tensor *size = kernel_input(k, 2), *weights = kernel_input(k, 3);
    struct tensor *out;

    if (splits->shape.rank != 1 || splits->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Splits must be a vector that is not empty");
    TRY(bincount_check_splits(splits, x->size));
    TRY(check_dense_bincount(x, size, weights));
    struct shape shape = shape_of(splits->size - 1, tensor_index(size, 0));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t row = 0; row + 1 < splits->size; row++)
        for (int64_t i = tensor_index(splits, row); i < tensor_index(splits, row + 1); i++)
            count_value(k, x, weights, row, i, out);
    return status_ok();
}

/* ---- SparseBincount ---- */

static struct status check_bins(const struct sparse_input *sparse, const struct tensor *size,
                                const struct tensor *weights)
{
    if (size->shape.rank != 0 || tensor_index(size, 0) < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "size should be one number >= 0, got shape %s",
                            shape_text(&size->shape));
    if (sparse->rank != 1 && sparse->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input must be a 1 or 2-dimensional tensor. Got rank %lld",
                            (long long)sparse->rank);
    TRY(sparse_input_check_bounds(sparse));
    return bincount_check_weights(sparse->values, weights);
}

static struct status sparse_bincount_compute(struct kernel_context *k)
{
    const bool *binary = kernel_state(k);
    const struct tensor *size = kernel_input(k, 3), *weights = kernel_input(k, 4);
    struct sparse_input sparse;
    struct tensor *out;

    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    TRY(check_bins(&sparse, size, weights));
    int64_t bins = tensor_index(size, 0);
    struct shape shape = shape_of(bins);
    if (sparse.rank == 2)
        shape = shape_of(sparse.sizes[0], bins);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < sparse.count; i++) {
        int64_t value = tensor_index(sparse.values, i);
        int64_t row = sparse.rank == 2 ? sparse_input_index(&sparse, i)[0] : 0;
        if (value < 0 && sparse.rank == 1) /* TensorFlow skips it in a matrix */
            return status_error(STATUS_INVALID_ARGUMENT, "Input must be non-negative");
        if (value >= 0 && value < bins)
            bincount_add(weights, i, *binary, out, row * bins + value);
    }
    return status_ok();
}

#define DTYPES_COUNTED (DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE))
static const struct kernel rows[] = {
    { "Bincount", DTYPES_COUNTED, "T", .compute = bincount_compute },
    { "DenseBincount", DTYPES_COUNTED, "T", .prepare = binary_prepare,
      .compute = dense_bincount_compute },
    { "RaggedBincount", DTYPES_COUNTED, "T", .prepare = binary_prepare,
      .compute = ragged_bincount_compute },
    { "SparseBincount", DTYPES_COUNTED, "T", .prepare = binary_prepare,
      .compute = sparse_bincount_compute },
};
const struct kernel_table kernels_bincount = { rows, COUNT(rows) };
