/* DenseToSparseBatchDataset: tensors of one rank as the rows of sparse tensors, which hold all of
 * their elements. */
#include <string.h>

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

#define SIZE_AT  1
#define SHAPE_AT 2

struct sparse_batch {
    struct tensors rows;
};

static struct status batch_check(struct kernel_context *k, struct run_dataset *dataset)
{
    const struct tensor *sizes = &dataset->inputs[SHAPE_AT];
    TRY(dataset_check_number(k, dataset, SIZE_AT, "Batch size", 1));
    if (dataset_input(dataset, 0)->count != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "DenseToSparseDataset only supports inputs with a single component.");
    if (sizes->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "row_shape must be a vector");
    for (int64_t i = 0; i < sizes->size; i++)
        if (tensor_int64s(sizes)[i] < -1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= -1",
                                (long long)tensor_int64s(sizes)[i]);
    return kernel_check_rank(k, sizes->size + 1);
}

/* Does the row fit the row shape? Widens the sizes [rank] that it leaves open. */
static struct status fit_row(struct kernel_context *k, const struct tensor *wanted,
                             const struct tensor *row, int64_t *sizes)
{
    struct shape row_shape = shape_make((int)wanted->size, tensor_int64s(wanted));
    if (row->shape.rank != wanted->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Input element had shape (%s) that is incompatible with the row shape "
                            "(%s).",
                            shape_text(&row->shape), shape_text(&row_shape));
    for (int d = 0; d < row->shape.rank; d++) {
        bool is_open = tensor_int64s(wanted)[d] == -1;
        if (!is_open && row->shape.dims[d] > sizes[d])
            return kernel_error(k, STATUS_DATA_LOSS,
                                "Input element had shape (%s) that is larger than the row shape "
                                "(%s).",
                                shape_text(&row->shape), shape_text(&row_shape));
        if (is_open && row->shape.dims[d] > sizes[d])
            sizes[d] = row->shape.dims[d];
    }
    return status_ok();
}

/* The indices of all elements of a row [count, 1 + rank]. */
static void put_indices(int64_t row, const struct shape *shape, int64_t count, int64_t *out)
{
    for (int64_t i = 0; i < count; i++, out += shape->rank + 1) {
        int64_t rest = i;
        out[0] = row;
        for (int d = shape->rank - 1; d >= 0; d--) {
            out[d + 1] = rest % shape->dims[d];
            rest /= shape->dims[d];
        }
    }
}

/* The parts of a batch: indices, values and sizes. */
static struct status make_parts(struct kernel_context *k, const struct run_dataset *dataset,
                                const struct tensors *rows, struct tensor parts[3])
{
    const struct tensor *wanted = &dataset->inputs[SHAPE_AT];
    int64_t rank = wanted->size, total = 0;
    struct shape vector = shape_of(rank + 1);
    TRY(kernel_scratch(k, DT_INT64, &vector, &parts[2]));
    int64_t *sizes = tensor_int64s_mut(&parts[2]);
    sizes[0] = rows->count;
    for (int64_t d = 0; d < rank; d++)
        sizes[d + 1] = tensor_int64s(wanted)[d] == -1 ? 0 : tensor_int64s(wanted)[d];
    for (int64_t i = 0; i < rows->count; i++) {
        TRY(fit_row(k, wanted, &rows->at[i], sizes + 1));
        total += rows->at[i].size;
    }
    struct shape pairs = shape_of(total, rank + 1), count = shape_of(total);
    TRY(shape_check(2, pairs.dims, &pairs));
    TRY(kernel_scratch(k, DT_INT64, &pairs, &parts[0]));
    TRY(kernel_scratch(k, rows->at[0].dtype, &count, &parts[1]));
    for (int64_t i = 0, at = 0; i < rows->count; at += rows->at[i++].size) {
        const struct tensor *row = &rows->at[i];
        size_t size = dtype_size(row->dtype);
        TRY(kernel_check(k));
        if (row->dtype != parts[1].dtype)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "rows of %s and %s",
                                dtype_name(parts[1].dtype), dtype_name(row->dtype));
        put_indices(i, &row->shape, row->size, tensor_int64s_mut(&parts[0]) + at * (rank + 1));
        copy_elements(row->dtype, at_bytes(parts[1].data, at, size), row->data, row->size);
    }
    return status_ok();
}

static struct status batch_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    struct sparse_batch *batch = iterator->state;
    const struct run_dataset *dataset = iterator->dataset;
    struct tensor parts[3] = { 0 };
    tensors_clear(&batch->rows); /* of a call that failed */
    TRY(iterator_collect(k, iterator, &batch->rows, dataset_number(dataset, SIZE_AT), end));
    *end = batch->rows.count == 0;
    if (*end)
        return status_ok();
    struct status status = make_parts(k, dataset, &batch->rows, parts);
    tensors_clear(&batch->rows);
    if (!status_is_ok(status)) {
        tensors_release(3, parts);
        return status;
    }
    element[0] = (struct tensor){ 0 };
    status = tensors_box_sparse(k, &parts[0], &parts[1], &parts[2], &element[0]);
    if (!status_is_ok(status))
        tensor_release(&element[0]);
    return status;
}

static void batch_finish(struct iterator *iterator)
{
    tensors_finish(&((struct sparse_batch *)iterator->state)->rows);
}

static int64_t batch_cardinality(const struct run_dataset *dataset)
{
    return dataset_count_batches(dataset, dataset_number(dataset, SIZE_AT), false);
}

/* TensorFlow declares the type of the values; an element is a vector of variants. */
static struct status batch_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    shape->count = 1;
    shape->dtypes = ARENA_ARRAY(prepare_arena(p), enum dtype, 1);
    shape->dtypes[0] = DT_VARIANT;
    return status_ok();
}

static const struct kernel rows[] = {
    DATASET("DenseToSparseBatchDataset", batch_check, batch_next, .prepare = batch_prepare,
            .finish = batch_finish, .iterator_bytes = sizeof(struct sparse_batch),
            .cardinality = batch_cardinality),
};
const struct kernel_table kernels_dataset_sparse_batches = { rows, COUNT(rows) };
