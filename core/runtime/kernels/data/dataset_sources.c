/* Datasets that are made of tensors: one element, one for each row, or a range of numbers. */
#include <string.h>

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

/* ---- SparseTensorSliceDataset: the matrices, or vectors, of a sparse tensor ---- */

struct sparse_slices {
    int64_t row; /* of the next element */
    int64_t at;  /* the first index that is not given yet */
};

static int64_t sparse_slices_count(const struct run_dataset *dataset)
{
    return tensor_int64s(&dataset->inputs[2])[0];
}

/* The first dimension of index `at`. */
static int64_t sparse_row(const struct run_dataset *dataset, int64_t at)
{
    const struct tensor *indices = &dataset->inputs[0];
    return tensor_int64s(indices)[at * indices->shape.dims[1]];
}

static struct status sparse_slices_check(struct kernel_context *k, struct run_dataset *dataset)
{
    static const char *const names[] = { "indices", "values", "dense_shape" };
    static const int ranks[] = { 2, 1, 1 };
    const struct tensor *indices = &dataset->inputs[0], *sizes = &dataset->inputs[2];
    for (int i = 0; i < 3; i++)
        if (dataset->inputs[i].shape.rank != ranks[i])
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input %s must be a %s. Got: %s",
                                names[i], i == 0 ? "matrix" : "vector",
                                shape_text(&dataset->inputs[i].shape));
    int64_t count = indices->shape.dims[0];
    if (count != dataset->inputs[1].size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Number of values must match first dimension of indices. Got %lld "
                            "values, indices shape: %s",
                            (long long)dataset->inputs[1].size, shape_text(&indices->shape));
    if (indices->shape.dims[1] != sizes->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Number of dimensions must match second dimension of indices. Got "
                            "%lld dimensions, indices shape: %s",
                            (long long)sizes->size, shape_text(&indices->shape));
    if (sizes->size < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The shape argument requires at least one element.");
    for (int64_t i = 1; i < count; i++)
        if (sparse_row(dataset, i) < sparse_row(dataset, i - 1))
            return kernel_error(k, STATUS_UNIMPLEMENTED,
                                "The SparseTensor must be ordered in the batch dimension; "
                                "handling arbitrarily ordered input is not currently supported.");
    return status_ok();
}

/* The indices, values and sizes of one row, whose indices are `first` to `end`. */
static struct status sparse_slice(struct kernel_context *k, const struct run_dataset *dataset,
                                  int64_t first, int64_t end, struct tensor *element)
{
    const struct tensor *indices = &dataset->inputs[0], *sizes = &dataset->inputs[2];
    int64_t rank = sizes->size - 1;
    struct shape pairs = shape_of(end - first, rank), count = shape_of(end - first),
                 tail = shape_of(rank);
    TRY(kernel_scratch(k, DT_INT64, &pairs, &element[0]));
    TRY(kernel_scratch(k, dataset->inputs[1].dtype, &count, &element[1]));
    TRY(kernel_scratch(k, DT_INT64, &tail, &element[2]));
    for (int64_t i = first; i < end; i++) {
        copy_elements(DT_INT64, tensor_int64s_mut(&element[0]) + (i - first) * rank,
                      tensor_int64s(indices) + i * (rank + 1) + 1, rank);
        copy_element(&dataset->inputs[1], i, &element[1], i - first);
    }
    copy_elements(DT_INT64, element[2].data, tensor_int64s(sizes) + 1, rank);
    return status_ok();
}

static struct status sparse_slices_next(struct kernel_context *k, struct iterator *iterator,
                                        struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct sparse_slices *slices = iterator->state;
    int64_t count = dataset->inputs[0].shape.dims[0], first = slices->at;
    *end = slices->row >= sparse_slices_count(dataset);
    if (*end)
        return status_ok();
    while (slices->at < count && sparse_row(dataset, slices->at) < slices->row)
        first = ++slices->at; /* of no row, as in TensorFlow */
    while (slices->at < count && sparse_row(dataset, slices->at) == slices->row)
        slices->at++;
    slices->row++;
    memset(element, 0, 3 * sizeof *element);
    struct status status = sparse_slice(k, dataset, first, slices->at, element);
    if (!status_is_ok(status))
        tensors_release(3, element);
    return status;
}

static struct status sparse_slices_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    shape->count = 3;
    shape->dtypes = ARENA_ARRAY(prepare_arena(p), enum dtype, shape->count);
    shape->dtypes[0] = shape->dtypes[2] = DT_INT64;
    return node_attr_type(shape->node, "Tvalues", &shape->dtypes[1]);
}

/* ---- WindowOp: its inputs are the elements ---- */

static struct status window_compute(struct kernel_context *k)
{
    struct tensors elements = { 0 };
    const struct attr_value *types;
    struct tensor out;
    int count = kernel_inputs_count(k);
    TRY(node_attr_list(kernel_node(k), "output_types", &types));
    if (count % types->count != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "%d inputs are no elements of %d tensors",
                            count, types->count);
    TRY(tensors_reserve(k, &elements, count));
    for (int i = 0; i < count; i++) {
        struct tensor tensor = tensor_acquire(kernel_input(k, i));
        tensors_append(&elements, 1, &tensor);
    }
    struct status status = dataset_hold(k, types->count, &elements, &out);
    tensors_finish(&elements);
    if (status_is_ok(status))
        kernel_output_set(k, 0, out);
    return status;
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
    DATASET("SparseTensorSliceDataset", sparse_slices_check, sparse_slices_next,
            .prepare = sparse_slices_prepare, .iterator_bytes = sizeof(struct sparse_slices),
            .cardinality = sparse_slices_count),
    { "WindowOp", DTYPES_ALL, .compute = window_compute },
    DATASET("RangeDataset", range_check, range_next, .prepare = range_prepare, .begin = range_begin,
            .iterator_bytes = sizeof(struct number_range), .cardinality = range_cardinality),
};
const struct kernel_table kernels_dataset_sources = { rows, COUNT(rows) };
