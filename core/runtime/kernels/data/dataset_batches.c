/* Batches of elements: Batch, MapAndBatch, Unbatch and Rebatch. */
#include "runtime/kernels/data/dataset.h"

/* ---- Batch ---- */

struct batch_rows {
    struct tensors rows; /* of the elements, one after the other */
};

/* The last input, in the ops that have it. */
static bool drops_remainder(const struct run_dataset *dataset)
{
    const struct tensor *last = &dataset->inputs[dataset->inputs_count - 1];
    return last->dtype == DT_BOOL && tensor_bools(last)[0];
}

static struct status batch_check(struct kernel_context *k, struct run_dataset *dataset)
{
    int last = dataset->inputs_count - 1;
    if (dataset->inputs[last].dtype == DT_BOOL)
        TRY(dataset_check_flag(k, dataset, last, "drop_remainder"));
    return dataset_check_number(k, dataset, 1, "Batch size", 1);
}

static struct status stack_rows(struct kernel_context *k, const struct tensors *rows, int width,
                                struct tensor *element)
{
    for (int i = 0; i < width; i++) {
        struct status status =
            tensors_stack(k, rows->count / width, rows->at + i, width, i, &element[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, element);
            return status;
        }
    }
    return status_ok();
}

/* Makes the element of the rows that were collected; `ended`: there were fewer than requested. */
static struct status batch_of_rows(struct kernel_context *k, const struct run_dataset *dataset,
                                   struct tensors *rows, bool ended, struct tensor *element,
                                   bool *end)
{
    *end = ended && (rows->count == 0 || drops_remainder(dataset));
    struct status status = status_ok();
    if (!*end)
        status = stack_rows(k, rows, dataset->count, element);
    tensors_clear(rows);
    return status;
}

static struct status batch_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    struct batch_rows *batch = iterator->state;
    tensors_clear(&batch->rows); /* of a call that failed */
    TRY(iterator_collect(k, iterator, &batch->rows, dataset_number(iterator->dataset, 1), end));
    return batch_of_rows(k, iterator->dataset, &batch->rows, *end, element, end);
}

static void batch_finish(struct iterator *iterator)
{
    tensors_finish(&((struct batch_rows *)iterator->state)->rows);
}

static int64_t batch_cardinality(const struct run_dataset *dataset)
{
    return dataset_count_batches(dataset, dataset_number(dataset, 1), drops_remainder(dataset));
}

/* ---- MapAndBatch ---- */

/* The input of batch_size, after the captures. num_parallel_calls and drop_remainder follow. */
static int mapped_size_at(const struct run_dataset *dataset)
{
    return 1 + plan_function_captures_count(dataset->shape->functions[0]);
}

static struct status mapped_check(struct kernel_context *k, struct run_dataset *dataset)
{
    int at = mapped_size_at(dataset);
    TRY(dataset_check_number(k, dataset, at, "batch_size", 1));
    bool is_automatic = dataset->inputs[at + 1].shape.rank == 0 &&
                        dataset_number(dataset, at + 1) == -1; /* tf.data.AUTOTUNE */
    if (!is_automatic)
        TRY(dataset_check_number(k, dataset, at + 1, "num_parallel_calls", 1));
    return dataset_check_flag(k, dataset, at + 2, "drop_remainder");
}

/* A failing row ends the batch, but its other rows are still read. `row` has room for one. */
static struct status collect_mapped(struct kernel_context *k, struct iterator *iterator,
                                    struct tensor *row, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct tensors *rows = &((struct batch_rows *)iterator->state)->rows;
    int64_t most = dataset_number(dataset, mapped_size_at(dataset));
    struct status first = status_ok();
    for (int64_t i = 0; i < most; i++) {
        TRY(tensors_reserve(k, rows, dataset->count));
        TRY(iterator_pull(k, iterator, end));
        if (*end)
            break;
        struct status status = dataset_call(k, dataset, 0, dataset_input(dataset, 0)->count,
                                            iterator->element, dataset->count, row);
        if (status_is_ok(status))
            tensors_append(rows, dataset->count, row);
        else if (status_is_ok(first))
            first = status_keep(kernel_arena(k), status);
    }
    return first;
}

static struct status mapped_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    struct batch_rows *batch = iterator->state;
    tensors_clear(&batch->rows); /* of a call that failed */
    TRY(collect_mapped(k, iterator, element, end));
    return batch_of_rows(k, iterator->dataset, &batch->rows, *end, element, end);
}

static int64_t mapped_cardinality(const struct run_dataset *dataset)
{
    bool preserved = false;
    status_ignore(node_attr_bool(dataset->shape->node, "preserve_cardinality", &preserved));
    if (!preserved)
        return CARDINALITY_UNKNOWN;
    return dataset_count_batches(dataset, dataset_number(dataset, mapped_size_at(dataset)),
                                 drops_remainder(dataset));
}

/* ---- Unbatch: the rows of each element ---- */

struct unbatch {
    struct tensors batch; /* the element whose rows are due */
    int64_t at;
};

static struct status unbatch_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct unbatch *unbatch = iterator->state;
    return tensors_reserve(k, &unbatch->batch, iterator->dataset->count);
}

static struct status check_batch(const struct kernel_context *k, const struct tensors *batch)
{
    for (int64_t i = 0; i < batch->count; i++) {
        if (batch->at[i].shape.rank < 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Input element must have a non-scalar value in each component.");
        if (batch->at[i].shape.dims[0] != batch->at[0].shape.dims[0])
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT,
                "Input element must have the same batch size in each component. Component 0 had "
                "size %lld but component %lld had size, %lld.",
                (long long)batch->at[0].shape.dims[0], (long long)i,
                (long long)batch->at[i].shape.dims[0]);
    }
    return status_ok();
}

static struct status unbatch_next(struct kernel_context *k, struct iterator *iterator,
                                  struct tensor *element, bool *end)
{
    struct unbatch *unbatch = iterator->state;
    struct tensors *batch = &unbatch->batch;
    int width = iterator->dataset->count;
    while (batch->count == 0 || unbatch->at >= batch->at[0].shape.dims[0]) {
        tensors_clear(batch);
        unbatch->at = 0;
        TRY(iterator_pull(k, iterator, end));
        if (*end)
            return status_ok();
        tensors_append(batch, width, iterator->element);
        struct status status = check_batch(k, batch);
        if (!status_is_ok(status)) {
            tensors_clear(batch); /* a next call takes the next element */
            return status;
        }
    }
    for (int i = 0; i < width; i++) {
        struct status status = tensor_row(k, &batch->at[i], unbatch->at, &element[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, element);
            return status;
        }
    }
    unbatch->at++;
    return status_ok();
}

static void unbatch_finish(struct iterator *iterator)
{
    tensors_finish(&((struct unbatch *)iterator->state)->batch);
}

/* ---- Rebatch: the rows of all elements, in batches of sizes that take turns ---- */

struct rebatch {
    struct unbatch unbatch; /* first, for the functions above */
    struct tensors rows;    /* of the batch */
    int64_t turn;
};

static struct status rebatch_check(struct kernel_context *k, struct run_dataset *dataset)
{
    const struct tensor *sizes = &dataset->inputs[1];
    if (sizes->shape.rank > 1 || sizes->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "batch_sizes must be a scalar or a vector with elements, not %s",
                            shape_text(&sizes->shape));
    for (int64_t i = 0; i < sizes->size; i++)
        if (tensor_int64s(sizes)[i] < 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "batch_sizes must be positive");
    return dataset_check_flag(k, dataset, 2, "drop_remainder");
}

static struct status rebatch_next(struct kernel_context *k, struct iterator *iterator,
                                  struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    const struct tensor *sizes = &dataset->inputs[1];
    struct rebatch *state = iterator->state;
    tensors_clear(&state->rows); /* of a call that failed */
    *end = false;
    for (int64_t left = tensor_int64s(sizes)[state->turn % sizes->size]; left > 0; left--) {
        TRY(tensors_reserve(k, &state->rows, dataset->count));
        TRY(unbatch_next(k, iterator, element, end));
        if (*end)
            break;
        tensors_append(&state->rows, dataset->count, element);
    }
    state->turn++;
    return batch_of_rows(k, dataset, &state->rows, *end, element, end);
}

static void rebatch_finish(struct iterator *iterator)
{
    tensors_finish(&((struct rebatch *)iterator->state)->rows);
    unbatch_finish(iterator);
}

#define BATCH(name)                                                                    \
    DATASET(name, batch_check, batch_next, .finish = batch_finish, .same_width = true, \
            .iterator_bytes = sizeof(struct batch_rows), .cardinality = batch_cardinality)
static const struct kernel rows[] = {
    BATCH("BatchDataset"),
    BATCH("BatchDatasetV2"),
    BATCH("ParallelBatchDataset"),
    DATASET("MapAndBatchDataset", mapped_check, mapped_next, .finish = batch_finish,
            .iterator_bytes = sizeof(struct batch_rows), .cardinality = mapped_cardinality),
    DATASET("UnbatchDataset", NULL, unbatch_next, .begin = unbatch_begin, .finish = unbatch_finish,
            .same_width = true, .iterator_bytes = sizeof(struct unbatch)),
    DATASET("RebatchDatasetV2", rebatch_check, rebatch_next, .begin = unbatch_begin,
            .finish = rebatch_finish, .same_width = true, .iterator_bytes = sizeof(struct rebatch)),
};
const struct kernel_table kernels_dataset_batches = { rows, COUNT(rows) };
