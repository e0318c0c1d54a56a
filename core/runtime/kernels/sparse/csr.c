#include "runtime/kernels/sparse/csr.h"

#include <stdio.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/sparse_input.h"

/* ---- the matrices ---- */

static void find_sizes(struct csr *csr)
{
    const int64_t *sizes = csr_sizes(csr);
    csr->rank = (int)csr->parts[CSR_SIZES].size;
    csr->batch = csr->rank == 3 ? sizes[0] : 1;
    csr->rows = sizes[csr->rank - 2];
    csr->columns = sizes[csr->rank - 1];
    csr->entries = csr->parts[CSR_VALUES].size;
}

struct status csr_input(const struct kernel_context *k, int index, struct csr *out)
{
    const struct tensor *input = kernel_input(k, index);
    const struct tensor_box *box = input->shape.rank == 0 ? tensor_box_at(input, 0, BOX_CSR) : NULL;
    if (box == NULL)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input %d is not a scalar that holds a CSRSparseMatrix", index);
    memcpy(out->parts, box->parts, sizeof out->parts);
    find_sizes(out);
    return status_ok();
}

static struct status check_sizes(int rank, const int64_t *sizes, int64_t entries)
{
    int64_t batch = rank == 3 ? sizes[0] : 1, row_starts;
    bool is_small = entries <= INT32_MAX;
    for (int i = 0; i < rank; i++)
        is_small = is_small && sizes[i] >= 0 && sizes[i] < INT32_MAX;
    if (is_small && !__builtin_mul_overflow(batch, sizes[rank - 2] + 1, &row_starts))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "a CSRSparseMatrix has dimensions and entries below %d", INT32_MAX);
}

struct status csr_make(struct kernel_context *k, int rank, const int64_t *sizes, int64_t entries,
                       enum dtype dtype, struct csr *out)
{
    *out = (struct csr){ 0 };
    TRY(check_sizes(rank, sizes, entries));
    int64_t batch = rank == 3 ? sizes[0] : 1;
    const struct shape shapes[CSR_PARTS] = {
        [CSR_SIZES] = shape_of(rank),
        [CSR_STARTS] = shape_of(batch + 1),
        [CSR_ROWS] = shape_of(batch * (sizes[rank - 2] + 1)),
        [CSR_COLUMNS] = shape_of(entries),
        [CSR_VALUES] = shape_of(entries),
    };
    const enum dtype dtypes[CSR_PARTS] = { DT_INT64, DT_INT32, DT_INT32, DT_INT32, dtype };
    for (int i = 0; i < CSR_PARTS; i++) {
        struct status status = kernel_scratch(k, dtypes[i], &shapes[i], &out->parts[i]);
        if (status_is_ok(status))
            continue;
        csr_release(out);
        return status;
    }
    memcpy(out->parts[CSR_SIZES].data, sizes, (size_t)rank * sizeof *sizes);
    memset(out->parts[CSR_STARTS].data, 0, tensor_bytes(&out->parts[CSR_STARTS]));
    if (out->parts[CSR_ROWS].size > 0)
        memset(out->parts[CSR_ROWS].data, 0, tensor_bytes(&out->parts[CSR_ROWS]));
    find_sizes(out);
    return status_ok();
}

struct status csr_output(struct kernel_context *k, struct csr *csr)
{
    return tensor_box_output(k, BOX_CSR, CSR_PARTS, csr->parts);
}

void csr_release(struct csr *csr)
{
    tensors_release(CSR_PARTS, csr->parts);
}

/* counts[i + 1], the size of part i, becomes its end. */
static void sum_up(int32_t *counts, int64_t parts)
{
    for (int64_t i = 0; i < parts; i++)
        counts[i + 1] += counts[i];
}

/* ---- from and to coordinates ---- */

/* Entries in the order of their matrices; those of a matrix stay in the order given, as in
 * TensorFlow, so that entries out of order move to other rows. */
static struct status fill_from_indices(const int64_t *indices, const struct tensor *values,
                                       struct csr *out)
{
    int32_t *columns = tensor_int32s_mut(&out->parts[CSR_COLUMNS]);
    int32_t *starts = tensor_int32s_mut(&out->parts[CSR_STARTS]);
    int64_t last = 0;
    for (int64_t i = 0; i < out->entries; i++) {
        const int64_t *index = indices + i * out->rank;
        int64_t matrix = out->rank == 3 ? index[0] : 0;
        if (matrix < last)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "indices[%lld] is of matrix %lld, after one of matrix %lld",
                                (long long)i, (long long)matrix, (long long)last);
        last = matrix;
        starts[matrix + 1]++;
        csr_rows_mut(out, matrix)[index[out->rank - 2] + 1]++;
        columns[i] = (int32_t)index[out->rank - 1];
    }
    sum_up(starts, out->batch);
    for (int64_t m = 0; m < out->batch; m++)
        sum_up(csr_rows_mut(out, m), out->rows);
    copy_elements(values->dtype, out->parts[CSR_VALUES].data, values->data, values->size);
    return status_ok();
}

static struct status output_from_indices(struct kernel_context *k, int rank, const int64_t *sizes,
                                         const int64_t *indices, const struct tensor *values)
{
    struct csr csr;
    TRY(csr_make(k, rank, sizes, values->size, values->dtype, &csr));
    struct status status = fill_from_indices(indices, values, &csr);
    if (status_is_ok(status))
        return csr_output(k, &csr);
    csr_release(&csr);
    return status;
}

static struct status from_sparse_compute(struct kernel_context *k)
{
    struct sparse_input sparse;
    TRY(sparse_input_read(k, 0, 1, 2, &sparse));
    if (sparse.rank != 2 && sparse.rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "SparseTensor must have rank 2 or 3; but indices has rank: %lld",
                            (long long)sparse.rank);
    TRY(sparse_input_check_bounds(&sparse));
    return output_from_indices(k, (int)sparse.rank, sparse.sizes, sparse.indices, sparse.values);
}

static struct status misplaced(struct kernel_context *k, const struct tensor *dense,
                               const int64_t *index, int64_t i)
{
    char text[96] = "";
    size_t size = 0;
    for (int d = 0; d < dense->shape.rank; d++)
        size += (size_t)snprintf(text + size, sizeof text - size, d == 0 ? "%lld" : ", %lld",
                                 (long long)index[d]);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "indices[%lld] = [%s] does not index into param shape %s, node name: %s",
                        (long long)i, text, shape_text(&dense->shape), kernel_node(k)->name);
}

/* The entries of a dense tensor at `indices`. */
static struct status gather(struct kernel_context *k, const struct tensor *dense,
                            const struct tensor *indices, struct tensor *values)
{
    int rank = dense->shape.rank;
    for (int64_t i = 0; i < values->size; i++) {
        const int64_t *index = tensor_int64s(indices) + i * rank;
        int64_t place = 0;
        for (int d = 0; d < rank; d++) {
            if (index[d] < 0 || index[d] >= dense->shape.dims[d])
                return misplaced(k, dense, index, i);
            place = place * dense->shape.dims[d] + index[d];
        }
        copy_element(dense, place, values, i);
    }
    return status_ok();
}

static struct status from_dense_compute(struct kernel_context *k)
{
    const struct tensor *dense = kernel_input(k, 0), *indices = kernel_input(k, 1);
    int rank = dense->shape.rank;
    struct tensor values;
    if (rank != 2 && rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "params must have rank == 2 or 3; but saw shape: %s",
                            shape_text(&dense->shape));
    if (indices->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "indices must be a matrix, but saw shape: %s",
                            shape_text(&indices->shape));
    if (indices->shape.dims[1] != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "indices.shape[1] must be equal to the rank of params, but saw: %lld "
                            "vs. %d",
                            (long long)indices->shape.dims[1], rank);
    struct shape vector = shape_of(indices->shape.dims[0]);
    TRY(kernel_scratch(k, dense->dtype, &vector, &values));
    struct status status = gather(k, dense, indices, &values);
    if (status_is_ok(status))
        status = output_from_indices(k, rank, dense->shape.dims, tensor_int64s(indices), &values);
    tensor_release(&values);
    return status;
}

/* Puts the coordinates of all entries into [entries, rank]. */
static void put_indices(const struct csr *csr, int64_t *out)
{
    const int32_t *columns = tensor_int32s(&csr->parts[CSR_COLUMNS]);
    for (int64_t m = 0; m < csr->batch; m++) {
        const int32_t *rows = csr_rows(csr, m);
        for (int64_t r = 0; r < csr->rows; r++)
            for (int64_t i = rows[r]; i < rows[r + 1]; i++, out += csr->rank) {
                out[0] = m;
                out[csr->rank - 2] = r;
                out[csr->rank - 1] = columns[csr_starts(csr)[m] + i];
            }
    }
}

/* INVALID_ARGUMENT: the values do not have the node's type. */
static struct status check_type(struct kernel_context *k, const struct csr *csr, const char *text)
{
    enum dtype wanted, dtype = csr->parts[CSR_VALUES].dtype;
    TRY(node_attr_type(kernel_node(k), "type", &wanted));
    if (dtype == wanted)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, text, dtype_name(dtype), dtype_name(wanted));
}

static struct status to_sparse_compute(struct kernel_context *k)
{
    struct csr csr;
    struct tensor *indices;
    TRY(csr_input(k, 0, &csr));
    TRY(check_type(k, &csr, "Expected a CSRSparseMatrix of another type: saw type: %s, not %s"));
    struct shape shape = shape_of(csr.entries, csr.rank);
    TRY(kernel_output(k, 0, &shape, &indices));
    put_indices(&csr, tensor_int64s_mut(indices));
    kernel_output_set(k, 1, tensor_acquire(&csr.parts[CSR_VALUES]));
    kernel_output_set(k, 2, tensor_acquire(&csr.parts[CSR_SIZES]));
    return status_ok();
}

/* The last of entries in one place wins. */
static struct status to_dense_compute(struct kernel_context *k)
{
    struct csr csr;
    struct shape shape;
    struct tensor *out;
    TRY(csr_input(k, 0, &csr));
    TRY(check_type(k, &csr, "Asked for a CSRSparseMatrix of another type: saw dtype: %s, not %s"));
    TRY(shape_check(csr.rank, csr_sizes(&csr), &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t m = 0; m < csr.batch; m++) {
        const int32_t *rows = csr_rows(&csr, m);
        for (int64_t r = 0; r < csr.rows; r++)
            for (int64_t i = rows[r]; i < rows[r + 1]; i++) {
                int64_t from = csr_starts(&csr)[m] + i;
                copy_element(&csr.parts[CSR_VALUES], from, out,
                             (m * csr.rows + r) * csr.columns +
                                 tensor_int32s(&csr.parts[CSR_COLUMNS])[from]);
            }
    }
    return status_ok();
}

/* ---- parts ---- */

static struct status components_compute(struct kernel_context *k)
{
    struct csr csr;
    struct tensor *rows, *columns, *values;
    const struct tensor *index = kernel_input(k, 1);
    TRY(csr_input(k, 0, &csr));
    if (index->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "index should be a scalar, but saw shape: %s",
                            shape_text(&index->shape));
    TRY(check_type(k, &csr, "dtype of input is not equal to 'type': %s vs. %s"));
    int64_t matrix = tensor_index(index, 0);
    if (matrix < 0 || matrix >= csr.batch)
        return status_error(STATUS_INVALID_ARGUMENT, "index (%lld) not in [0, %lld)",
                            (long long)matrix, (long long)csr.batch);
    int64_t first = csr_starts(&csr)[matrix], count = csr_starts(&csr)[matrix + 1] - first;
    struct shape row_shape = shape_of(csr.rows + 1), shape = shape_of(count);
    TRY(kernel_output(k, 0, &row_shape, &rows));
    TRY(kernel_output(k, 1, &shape, &columns));
    TRY(kernel_output(k, 2, &shape, &values));
    copy_elements(DT_INT32, rows->data, csr_rows(&csr, matrix), rows->size);
    if (count == 0)
        return status_ok();
    copy_elements(DT_INT32, columns->data, tensor_int32s(&csr.parts[CSR_COLUMNS]) + first, count);
    copy_elements(values->dtype, values->data,
                  at_bytes_const(csr.parts[CSR_VALUES].data, first, dtype_size(values->dtype)),
                  count);
    return status_ok();
}

/* A scalar, or one number for each matrix of a batch. */
static struct status nnz_compute(struct kernel_context *k)
{
    struct csr csr;
    struct tensor *out;
    TRY(csr_input(k, 0, &csr));
    struct shape shape = csr.rank == 3 ? shape_of(csr.batch) : shape_scalar();
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t m = 0; m < csr.batch; m++)
        tensor_int32s_mut(out)[m] = csr_starts(&csr)[m + 1] - csr_starts(&csr)[m];
    return status_ok();
}

/* ---- SparseMatrixTranspose ---- */

static void transpose_matrix(const struct csr *from, int64_t matrix, struct csr *out)
{
    int32_t *ends = csr_rows_mut(out, matrix), *rows = tensor_int32s_mut(&out->parts[CSR_COLUMNS]);
    const int32_t *starts = csr_rows(from, matrix);
    const int32_t *columns = tensor_int32s(&from->parts[CSR_COLUMNS]);
    int64_t first = csr_starts(from)[matrix];
    for (int64_t i = 0; i < starts[from->rows]; i++)
        ends[columns[first + i] + 1]++;
    sum_up(ends, from->columns);
    /* each start moves on to the end of its row, which is the start of the next one */
    for (int64_t r = 0; r < from->rows; r++)
        for (int64_t i = starts[r]; i < starts[r + 1]; i++) {
            int64_t to = first + ends[columns[first + i]]++;
            rows[to] = (int32_t)r;
            copy_element(&from->parts[CSR_VALUES], first + i, &out->parts[CSR_VALUES], to);
        }
    memmove(ends + 1, ends, (size_t)from->columns * sizeof *ends);
    ends[0] = 0;
}

struct status csr_transpose(struct kernel_context *k, const struct csr *from, bool conjugate,
                            struct csr *out)
{
    int64_t sizes[3];
    struct tensor *values = &out->parts[CSR_VALUES];
    memcpy(sizes, csr_sizes(from), (size_t)from->rank * sizeof *sizes);
    sizes[from->rank - 2] = from->columns;
    sizes[from->rank - 1] = from->rows;
    TRY(csr_make(k, from->rank, sizes, from->entries, from->parts[CSR_VALUES].dtype, out));
    copy_elements(DT_INT32, out->parts[CSR_STARTS].data, csr_starts(from), from->batch + 1);
    for (int64_t m = 0; m < from->batch; m++)
        transpose_matrix(from, m, out);
    if (conjugate)
        conjugate_elements(values->dtype, values->data, values->size);
    return status_ok();
}

static struct status transpose_compute(struct kernel_context *k)
{
    struct csr csr, out;
    bool conjugate;
    TRY(csr_input(k, 0, &csr));
    TRY(check_type(k, &csr, "dtype of input is not equal to 'type': %s vs. %s"));
    TRY(node_attr_bool(kernel_node(k), "conjugate", &conjugate));
    TRY(csr_transpose(k, &csr, conjugate, &out));
    return csr_output(k, &out);
}

static const struct kernel rows[] = {
    { "SparseTensorToCSRSparseMatrix", CSR_DTYPES, "T", .compute = from_sparse_compute },
    { "DenseToCSRSparseMatrix", CSR_DTYPES, "T", .compute = from_dense_compute },
    { "CSRSparseMatrixToSparseTensor", CSR_DTYPES, "type", .compute = to_sparse_compute },
    { "CSRSparseMatrixToDense", CSR_DTYPES, "type", .compute = to_dense_compute },
    { "CSRSparseMatrixComponents", CSR_DTYPES, "type", .compute = components_compute },
    { "SparseMatrixNNZ", DTYPES_ALL, .compute = nnz_compute },
    { "SparseMatrixTranspose", CSR_DTYPES, "type", .compute = transpose_compute },
};
const struct kernel_table kernels_csr = { rows, COUNT(rows) };
