/* Datasets that are made of tensors: one element, one for each row, or a range of numbers. */
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- TensorDataset: the tensors are the only element ---- */

static struct status tensor_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    (void)k;
    bool *is_done = iterator->state;
    *end = *is_done;
    *is_done = true;
    if (!*end)
        tensors_acquire(iterator->dataset->count, iterator->dataset->inputs, element);
    return status_ok();
}

static int64_t one_element(const struct run_dataset *dataset)
{
    (void)dataset;
    return 1;
}

/* ---- TensorSliceDataset: row i of each tensor ---- */

static int64_t slices_count(const struct run_dataset *dataset)
{
    return dataset->inputs[0].shape.dims[0];
}

static struct status slices_check(struct kernel_context *k, struct run_dataset *dataset)
{
    for (int i = 0; i < dataset->inputs_count; i++) {
        if (dataset->inputs[i].shape.rank < 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All components must be at least 1-dimensional");
        if (dataset->inputs[i].shape.dims[0] != slices_count(dataset))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All components must have the same size in the 0th dimension");
    }
    return status_ok();
}

static struct status slices_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    int64_t *at = iterator->state;
    *end = *at >= slices_count(dataset);
    for (int i = 0; i < dataset->count && !*end; i++) {
        struct status status = tensor_row(k, &dataset->inputs[i], *at, &element[i]);
        if (!status_is_ok(status)) {
            tensors_release(i, element);
            return status;
        }
    }
    ++*at;
    return status_ok();
}

/* ---- RangeDataset ---- */

struct number_range {
    int64_t next;
    bool is_done; /* the next number would overflow */
};

static struct status range_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    (void)p;
    if (shape->count == 1 && (DTYPES(shape->dtypes[0]) & DTYPES_LOOPS) != 0)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op 'RangeDataset' of node '%s' is not implemented for its output_types",
                        shape->node->name);
}

static struct status range_check(struct kernel_context *k, struct run_dataset *dataset)
{
    static const char *const names[] = { "start", "stop", "step" };
    for (int i = 0; i < 3; i++)
        TRY(dataset_check_number(k, dataset, i, names[i], INT64_MIN));
    if (dataset_number(dataset, 2) == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "step must be a non-zero integer.");
    return status_ok();
}

static struct status range_begin(struct kernel_context *k, struct iterator *iterator)
{
    (void)k;
    ((struct number_range *)iterator->state)->next = dataset_number(iterator->dataset, 0);
    return status_ok();
}

static bool range_ends(const struct run_dataset *dataset, int64_t next)
{
    int64_t stop = dataset_number(dataset, 1);
    return dataset_number(dataset, 2) > 0 ? next >= stop : next <= stop;
}

static void set_number(struct tensor *scalar, int64_t value)
{
    if (scalar->dtype == DT_FLOAT)
        tensor_floats_mut(scalar)[0] = (float)value;
    else if (scalar->dtype == DT_DOUBLE)
        tensor_doubles_mut(scalar)[0] = (double)value;
    else
        tensor_set_index(scalar, 0, value);
}

static struct status range_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct number_range *range = iterator->state;
    struct shape scalar = shape_scalar();
    *end = range->is_done || range_ends(dataset, range->next);
    if (*end)
        return status_ok();
    TRY(kernel_scratch(k, dataset->shape->dtypes[0], &scalar, &element[0]));
    set_number(&element[0], range->next);
    range->is_done = __builtin_add_overflow(range->next, dataset_number(dataset, 2), &range->next);
    return status_ok();
}

static int64_t range_cardinality(const struct run_dataset *dataset)
{
    __int128 start = dataset_number(dataset, 0), stop = dataset_number(dataset, 1),
             step = dataset_number(dataset, 2);
    if (range_ends(dataset, dataset_number(dataset, 0)))
        return 0;
    return (int64_t)((stop - start + step - (step > 0 ? 1 : -1)) / step);
}

static const struct kernel rows[] = {
    DATASET("TensorDataset", NULL, tensor_next, .iterator_bytes = sizeof(bool),
            .cardinality = one_element),
    DATASET("TensorSliceDataset", slices_check, slices_next, .iterator_bytes = sizeof(int64_t),
            .cardinality = slices_count),
    DATASET("RangeDataset", range_check, range_next, .prepare = range_prepare, .begin = range_begin,
            .iterator_bytes = sizeof(struct number_range), .cardinality = range_cardinality),
};
const struct kernel_table kernels_dataset_sources = { rows, COUNT(rows) };
