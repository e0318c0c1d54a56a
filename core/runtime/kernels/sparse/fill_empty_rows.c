/*
 * fill_empty_rows: RaggedFillEmptyRows and SparseFillEmptyRows, which give each row without values
 * a default, and their gradients. Rows come in order, and values stay in order within a row.
 */
#include <inttypes.h>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* ---- what is given ---- */

static struct status check_vector(const struct tensor *x, int rank, const char *name)
{
    if (x->shape.rank == rank)
        return status_ok();
    return INVALID("%s must be a %s, saw: %s", name, rank == 0 ? "scalar" : "vector",
                   shape_text(&x->shape));
}

static struct status check_ragged(struct kernel_context *k)
{
    const struct tensor *ids = kernel_input(k, 0), *values = kernel_input(k, 1);
    TRY(check_vector(kernel_input(k, 2), 0, "nrows"));
    TRY(check_vector(ids, 1, "value_rowids"));
    TRY(check_vector(values, 1, "values"));
    if (values->size != ids->size)
        return INVALID("The length of `values` (%" PRId64
                       ") must match the first dimension of `value_rowids` (%" PRId64 ").",
                       values->size, ids->size);
    return check_vector(kernel_input(k, 3), 0, "default_value");
}

static struct status check_sparse(struct kernel_context *k)
{
    const struct shape *indices = &kernel_input(k, 0)->shape, *values = &kernel_input(k, 1)->shape;
    const struct shape *dense = &kernel_input(k, 2)->shape, *empty = &kernel_input(k, 3)->shape;
    if (dense->rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "dense_shape must be a vector, saw: %s",
                            shape_text(dense));
    if (indices->rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "indices must be a matrix, saw: %s",
                            shape_text(indices));
    if (values->rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "values must be a vector, saw: %s",
                            shape_text(values));
    if (values->dims[0] != indices->dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The length of `values` (%lld) must match the first dimension of "
                            "`indices` (%lld).",
                            (long long)values->dims[0], (long long)indices->dims[0]);
    if (dense->dims[0] != indices->dims[1])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The length of `dense_shape` (%lld) must match the second dimension "
                            "of `indices` (%lld).",
                            (long long)dense->dims[0], (long long)indices->dims[1]);
    if (empty->rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "default_value must be a scalar, saw: %s",
                            shape_text(empty));
    if (dense->dims[0] == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Dense shape cannot be empty.");
    return status_ok();
}

/* ---- filling: `rank` numbers are the position of a value, and the first one is its row ---- */

/* Counts the values of each row. */
static struct status count_rows(const struct tensor *indices, int64_t rank, int64_t rows,
                                int64_t *counts)
{
    for (int64_t i = 0; i < indices->shape.dims[0]; i++) {
        int64_t row = tensor_int64s(indices)[i * rank];
        if (row < 0 || row >= rows)
            return INVALID("indices(%" PRId64 ", 0) is invalid: %" PRId64 " >= %" PRId64, i, row,
                           rows);
        counts[row]++;
    }
    return status_ok();
}

/* Turns the number of values of each row into the place of its first one, and writes the defaults
 * of empty rows. */
static void begin_rows(int64_t *counts, int64_t rows, const struct tensor *value, int64_t rank,
                       struct tensor *indices, struct tensor *values, bool *is_empty)
{
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t count = counts[row];
        counts[row] = at;
        is_empty[row] = count == 0;
        if (count == 0) {
            int64_t *index = tensor_int64s_mut(indices) + at * rank;
            memset(index, 0, (size_t)rank * sizeof *index);
            index[0] = row;
            copy_element(value, 0, values, at);
        }
        at += count > 0 ? count : 1;
    }
}

/* TensorFlow gives a matrix for the ids of a ragged tensor without rows. */
static struct shape indices_shape(const struct tensor *indices, int64_t rows, int64_t total)
{
    if (indices->shape.rank == 2)
        return shape_of(total, indices->shape.dims[1]);
    return rows > 0 ? shape_of(total) : shape_of(0, 1);
}

static struct status fill_rows(struct kernel_context *k, int64_t rows, int64_t *counts)
{
    const struct tensor *indices = kernel_input(k, 0), *values = kernel_input(k, 1);
    int64_t rank = indices->shape.rank == 2 ? indices->shape.dims[1] : 1, total = values->size;
    struct tensor *out_indices, *out_values, *is_empty, *places;
    TRY(count_rows(indices, rank, rows, counts));
    for (int64_t row = 0; row < rows; row++)
        total += counts[row] == 0;
    struct shape all_indices = indices_shape(indices, rows, total), all = shape_of(total);
    struct shape vector = shape_of(rows);
    TRY(kernel_output(k, 0, &all_indices, &out_indices));
    TRY(kernel_output(k, 1, &all, &out_values));
    TRY(kernel_output(k, 2, &vector, &is_empty));
    TRY(kernel_output(k, 3, &values->shape, &places));
    begin_rows(counts, rows, kernel_input(k, 3), rank, out_indices, out_values, is_empty->data);
    for (int64_t i = 0; i < values->size; i++) {
        const int64_t *index = tensor_int64s(indices) + i * rank;
        int64_t at = counts[index[0]]++;
        memcpy(tensor_int64s_mut(out_indices) + at * rank, index, (size_t)rank * sizeof *index);
        copy_element(values, i, out_values, at);
        tensor_int64s_mut(places)[i] = at;
    }
    return status_ok();
}

static struct status fill(struct kernel_context *k)
{
    struct tensor counts;
    int64_t rows = tensor_int64s(kernel_input(k, 2))[0], count = kernel_input(k, 1)->size;
    if (rows < 0)
        return INVALID("Expected shape dimensions to be non-negative, got %" PRId64, rows);
    if (rows == 0 && count > 0)
        return INVALID("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = "
                       "%" PRId64,
                       count);
    struct shape vector = shape_of(rows);
    TRY(kernel_scratch(k, DT_INT64, &vector, &counts));
    if (rows > 0)
        memset(counts.data, 0, tensor_bytes(&counts));
    struct status status = fill_rows(k, rows, tensor_int64s_mut(&counts));
    tensor_release(&counts);
    return status;
}

static struct status ragged_compute(struct kernel_context *k)
{
    TRY(check_ragged(k));
    return fill(k);
}

static struct status sparse_compute(struct kernel_context *k)
{
    TRY(check_sparse(k));
    return fill(k);
}

/* ---- the gradients ---- */

static struct status check_map(const struct tensor *map, const struct tensor *gradient)
{
    TRY(check_vector(map, 1, "reverse_index_map"));
    TRY(check_vector(gradient, 1, "grad_values"));
    for (int64_t i = 0; i < map->size; i++) {
        int64_t at = tensor_int64s(map)[i];
        if (at < 0 || at >= gradient->size)
            return INVALID("Elements in reverse index must be in [0, %" PRId64 ") but got %" PRId64,
                           gradient->size, at);
    }
    return status_ok();
}

static struct status gradient_compute(struct kernel_context *k)
{
    const struct tensor *map = kernel_input(k, 0), *gradient = kernel_input(k, 1);
    struct shape scalar = shape_scalar();
    struct tensor *values, *value, visited;
    TRY(check_map(map, gradient));
    TRY(kernel_output(k, 0, &map->shape, &values));
    TRY(kernel_output(k, 1, &scalar, &value));
    memset(value->data, 0, tensor_bytes(value));
    TRY(kernel_scratch(k, DT_BOOL, &gradient->shape, &visited));
    if (visited.size > 0)
        memset(visited.data, 0, tensor_bytes(&visited));
    for (int64_t i = 0; i < map->size; i++) {
        int64_t at = tensor_int64s(map)[i];
        copy_element(gradient, at, values, i);
        tensor_bools_mut(&visited)[at] = true;
    }
    for (int64_t i = 0; i < gradient->size; i++)
        if (!tensor_bools(&visited)[i])
            combine_elements(COMBINE_ADD, gradient->dtype,
                             at_bytes_const(gradient->data, i, dtype_size(gradient->dtype)),
                             value->data, 1);
    tensor_release(&visited);
    return status_ok();
}

static const struct kernel rows[] = {
    { "RaggedFillEmptyRows", DTYPES_MOVED, "T", .compute = ragged_compute },
    { "RaggedFillEmptyRowsGrad", DTYPES_REAL | DTYPES_COMPLEX, "T", .compute = gradient_compute },
    { "SparseFillEmptyRows", DTYPES_MOVED, "T", .compute = sparse_compute },
    { "SparseFillEmptyRowsGrad", DTYPES_REAL | DTYPES_COMPLEX, "T", .compute = gradient_compute },
};
const struct kernel_table kernels_fill_empty_rows = { rows, COUNT(rows) };
