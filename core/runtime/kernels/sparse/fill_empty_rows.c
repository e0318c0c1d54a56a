/*
 * fill_empty_rows: RaggedFillEmptyRows, which gives each row without values a default, and the
 * gradients of it and of SparseFillEmptyRows (sparse.c). Values stay in order within a row.
 */
#include <inttypes.h>

#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

/* ---- RaggedFillEmptyRows ---- */

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
    int64_t rows;
    TRY(check_vector(kernel_input(k, 2), 0, "nrows"));
    rows = tensor_int64s(kernel_input(k, 2))[0];
    TRY(check_vector(ids, 1, "value_rowids"));
    TRY(check_vector(values, 1, "values"));
    if (values->size != ids->size)
        return INVALID("The length of `values` (%" PRId64
                       ") must match the first dimension of `value_rowids` (%" PRId64 ").",
                       values->size, ids->size);
    TRY(check_vector(kernel_input(k, 3), 0, "default_value"));
    if (rows < 0)
        return INVALID("Expected shape dimensions to be non-negative, got %" PRId64, rows);
    if (rows == 0 && ids->size > 0)
        return INVALID("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = "
                       "%" PRId64,
                       ids->size);
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t row = tensor_int64s(ids)[i];
        if (row < 0 || row >= rows)
            return INVALID("indices(%" PRId64 ", 0) is invalid: %" PRId64 " >= %" PRId64, i, row,
                           rows);
    }
    return status_ok();
}

/* Turns the number of values of each row into the place of its first one, and writes the defaults
 * of empty rows. */
static void begin_rows(int64_t *counts, int64_t rows, const struct tensor *value,
                       struct tensor *ids, struct tensor *values, bool *is_empty)
{
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t count = counts[row];
        counts[row] = at;
        is_empty[row] = count == 0;
        if (count == 0) {
            tensor_int64s_mut(ids)[at] = row;
            copy_element(value, 0, values, at);
        }
        at += count > 0 ? count : 1;
    }
}

static struct status fill_rows(struct kernel_context *k, int64_t rows, int64_t *counts)
{
    const struct tensor *ids = kernel_input(k, 0), *values = kernel_input(k, 1);
    struct tensor *out_ids, *out_values, *is_empty, *places;
    int64_t total = values->size;
    for (int64_t i = 0; i < ids->size; i++)
        counts[tensor_int64s(ids)[i]]++;
    for (int64_t row = 0; row < rows; row++)
        total += counts[row] == 0;
    /* TensorFlow gives a matrix if there is nothing at all. */
    struct shape all = shape_of(total), all_ids = rows > 0 ? all : shape_of(0, 1);
    struct shape vector = shape_of(rows);
    TRY(kernel_output(k, 0, &all_ids, &out_ids));
    TRY(kernel_output(k, 1, &all, &out_values));
    TRY(kernel_output(k, 2, &vector, &is_empty));
    TRY(kernel_output(k, 3, &values->shape, &places));
    begin_rows(counts, rows, kernel_input(k, 3), out_ids, out_values, is_empty->data);
    for (int64_t i = 0; i < values->size; i++) {
        int64_t row = tensor_int64s(ids)[i], at = counts[row]++;
        tensor_int64s_mut(out_ids)[at] = row;
        copy_element(values, i, out_values, at);
        tensor_int64s_mut(places)[i] = at;
    }
    return status_ok();
}

static struct status ragged_compute(struct kernel_context *k)
{
    struct tensor counts;
    TRY(check_ragged(k));
    int64_t rows = tensor_int64s(kernel_input(k, 2))[0];
    struct shape vector = shape_of(rows);
    TRY(kernel_scratch(k, DT_INT64, &vector, &counts));
    if (rows > 0)
        memset(counts.data, 0, tensor_bytes(&counts));
    struct status status = fill_rows(k, rows, tensor_int64s_mut(&counts));
    tensor_release(&counts);
    return status;
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
    { "SparseFillEmptyRowsGrad", DTYPES_REAL | DTYPES_COMPLEX, "T", .compute = gradient_compute },
};
const struct kernel_table kernels_fill_empty_rows = { rows, COUNT(rows) };
