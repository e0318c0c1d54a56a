/* Ops that make a tensor of a dataset without an iterator: one value, its only element, one by its
 * index, its size. */
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"

/* The dataset in input 0, and an iterator over it. Owner of the iterator: the caller. */
static struct status open_input(struct kernel_context *k, struct iterator **out)
{
    struct run_dataset *dataset;
    TRY(dataset_of(k, kernel_input(k, 0), &dataset));
    return iterator_create(k, dataset, out);
}

/* ---- ReduceDataset: state = f(state, element), for each element ---- */

static struct status reduce_prepare(struct prepare_context *p)
{
    const struct plan_function **function = prepare_state(p, sizeof *function, NULL);
    *function = prepare_function(p, 0);
    return status_ok();
}

/* `args` has room for the state and an element. */
static struct status reduce_step(struct kernel_context *k, struct iterator *iterator, int states,
                                 struct tensor *state, struct tensor *args, bool *end)
{
    const struct plan_function *function = *(const struct plan_function *const *)kernel_state(k);
    int width = iterator->dataset->count, captures = plan_function_captures_count(function);
    TRY(iterator_next(k, iterator, args + states, end));
    if (*end)
        return status_ok();
    tensors_move(states, state, args);
    return plan_function_run(k, function, states + width, args,
                             captures > 0 ? args + states + width : NULL, states, state);
}

static struct status reduce_all(struct kernel_context *k, struct iterator *iterator,
                                struct tensors *values)
{
    const struct plan_function *function = *(const struct plan_function *const *)kernel_state(k);
    int captures = plan_function_captures_count(function), width = iterator->dataset->count;
    int states = kernel_inputs_count(k) - 1 - captures;
    bool end = false;
    TRY(tensors_reserve(k, values, 2 * (int64_t)states + width + captures));
    struct tensor *state = values->at, *args = state + states;
    for (int i = 0; i < states; i++)
        state[i] = kernel_take_input(k, 1 + i);
    values->count = states;
    for (int i = 0; i < captures; i++)
        args[states + width + i] = *kernel_input(k, 1 + states + i); /* borrowed */
    while (!end)
        TRY(reduce_step(k, iterator, states, state, args, &end));
    return tensors_output(k, values);
}

static struct status reduce_compute(struct kernel_context *k)
{
    struct tensors values = { 0 };
    struct iterator *iterator;
    TRY(open_input(k, &iterator));
    struct status status = reduce_all(k, iterator, &values);
    iterator_destroy(iterator);
    tensors_finish(&values);
    return status;
}

/* ---- DatasetToSingleElement ---- */

static struct status single_element(struct kernel_context *k, struct iterator *iterator,
                                    struct tensors *values)
{
    int count = iterator->dataset->count;
    bool end = false;
    TRY(tensors_reserve(k, values, 2 * (int64_t)count));
    TRY(iterator_next(k, iterator, values->at, &end));
    if (end)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Dataset was empty.");
    values->count = count;
    TRY(iterator_next(k, iterator, values->at + count, &end));
    if (!end) {
        values->count = 2 * (int64_t)count;
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Dataset had more than one element.");
    }
    return tensors_output(k, values);
}

static struct status single_element_compute(struct kernel_context *k)
{
    struct tensors values = { 0 };
    struct iterator *iterator;
    TRY(open_input(k, &iterator));
    struct status status = single_element(k, iterator, &values);
    iterator_destroy(iterator);
    tensors_finish(&values);
    return status;
}

/* ---- GetElementAtIndex ---- */

static struct status check_index(struct kernel_context *k, const struct run_dataset *dataset,
                                 int64_t index)
{
    int64_t count = dataset->cardinality;
    /* TensorFlow draws the elements in another order by index than one by one. */
    if (dataset->is_shuffled)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "an element of a shuffled dataset by index");
    if (count < 0)
        return kernel_error(k, STATUS_FAILED_PRECONDITION,
                            "an element by index of a dataset of unknown or infinite size");
    if (index < 0 || index >= count)
        return kernel_error(k, STATUS_OUT_OF_RANGE, "Index out of range [0, %lld):%lld",
                            (long long)count, (long long)index);
    return status_ok();
}

/* Makes the elements before as well. Their errors are not this element's. */
static struct status element_at(struct kernel_context *k, struct iterator *iterator, int64_t index,
                                struct tensors *values)
{
    int count = iterator->dataset->count;
    bool end = false;
    TRY(check_index(k, iterator->dataset, index));
    TRY(tensors_reserve(k, values, count));
    for (int64_t i = 0; i < index && !end; i++) {
        struct status status = iterator_next(k, iterator, values->at, &end);
        if (!status_is_ok(status) && dataset_error_ends_run(status.code))
            return status;
        if (status_is_ok(status) && !end)
            tensors_release(count, values->at);
    }
    if (!end)
        TRY(iterator_next(k, iterator, values->at, &end));
    if (end)
        return kernel_error(k, STATUS_OUT_OF_RANGE, "the dataset ends before element %lld",
                            (long long)index);
    values->count = count;
    return tensors_output(k, values);
}

static struct status element_at_compute(struct kernel_context *k)
{
    struct tensors values = { 0 };
    struct iterator *iterator;
    const struct tensor *index;
    TRY(kernel_scalar(k, 1, "index", &index));
    TRY(open_input(k, &iterator));
    struct status status = element_at(k, iterator, tensor_int64s(index)[0], &values);
    iterator_destroy(iterator);
    tensors_finish(&values);
    return status;
}

/* ---- DatasetCardinality ---- */

static struct status cardinality_compute(struct kernel_context *k)
{
    struct run_dataset *dataset;
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(dataset_of(k, kernel_input(k, 0), &dataset));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int64s_mut(out)[0] = dataset->cardinality;
    return status_ok();
}

static const struct kernel rows[] = {
    { "ReduceDataset", DTYPES_ALL, .prepare = reduce_prepare, .compute = reduce_compute,
      .costly = true },
    { "DatasetToSingleElement", DTYPES_ALL, .compute = single_element_compute, .costly = true },
    { "GetElementAtIndex", DTYPES_ALL, .compute = element_at_compute, .costly = true },
    { "DatasetCardinality", DTYPES_ALL, .compute = cardinality_compute },
};
const struct kernel_table kernels_dataset_ends = { rows, COUNT(rows) };
