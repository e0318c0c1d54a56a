/*
 * GroupByWindow and GroupByReducer: a function gives each element a key, an int64. The elements of
 * one key make windows, or are folded into one state. Where the order is free, the keys go up, as
 * in TensorFlow.
 */
#include <string.h>

#include "base/lower_bound.h"
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"

struct dataset_group {
    int64_t key;          /* first */
    int64_t size;         /* of its windows; 0: not known yet */
    struct tensors parts; /* the elements that wait, one after the other; or the state */
};

struct dataset_groups {
    struct dataset_group *at; /* by key */
    int64_t count;
    struct tensor memory;
    struct tensors scratch; /* room for arguments and results */
    bool input_ended;
    int64_t next;             /* after the end of the input: the group that is due */
    struct iterator *flushed; /* what a window became; NULL: none is due */
};

enum { KEY_FUNCTION, REDUCE_FUNCTION, SIZE_FUNCTION };                /* of GroupByWindow */
enum { INIT_FUNCTION = 1, FOLD_FUNCTION = 2, FINALIZE_FUNCTION = 3 }; /* of GroupByReducer */

/* Computes a number by a function. Takes over the `args`. */
static struct status ask_number(struct kernel_context *k, const struct run_dataset *dataset,
                                int function, const char *name, int count, struct tensor *args,
                                int64_t *out)
{
    struct tensor answer;
    TRY(dataset_call(k, dataset, function, count, args, 1, &answer));
    struct status status = status_ok();
    if (answer.dtype == DT_INT64 && answer.shape.rank == 0)
        *out = tensor_int64s(&answer)[0];
    else
        status = kernel_error(k, STATUS_INVALID_ARGUMENT, "`%s` must return a scalar int64.", name);
    tensor_release(&answer);
    return status;
}

static struct status make_key(struct kernel_context *k, int64_t key, struct tensor *out)
{
    struct shape scalar = shape_scalar();
    TRY(kernel_scratch(k, DT_INT64, &scalar, out));
    tensor_int64s_mut(out)[0] = key;
    return status_ok();
}

/* The group of that key, which may be a new one. */
static struct status find_group(struct kernel_context *k, struct dataset_groups *groups,
                                int64_t key, struct dataset_group **out)
{
    int64_t place = lower_bound(groups->at, sizeof *groups->at, groups->count, key);
    if (place == groups->count || groups->at[place].key != key) {
        TRY(kernel_scratch_reserve(k, &groups->memory, groups->count, 1, sizeof *groups->at));
        groups->at = groups->memory.data;
        memmove(groups->at + place + 1, groups->at + place,
                (size_t)(groups->count - place) * sizeof *groups->at);
        groups->at[place] = (struct dataset_group){ .key = key };
        groups->count++;
    }
    *out = &groups->at[place];
    return status_ok();
}

/* The group of iterator->element, which stays where it is. */
static struct status find_group_of_element(struct kernel_context *k, struct iterator *iterator,
                                           struct dataset_group **out)
{
    struct dataset_groups *groups = iterator->state;
    int width = dataset_input(iterator->dataset, 0)->count;
    int64_t key;
    TRY(tensors_reserve(k, &groups->scratch, width));
    tensors_acquire(width, iterator->element, groups->scratch.at);
    TRY(ask_number(k, iterator->dataset, KEY_FUNCTION, "key_func", width, groups->scratch.at,
                   &key));
    return find_group(k, groups, key, out);
}

static void groups_finish(struct iterator *iterator)
{
    struct dataset_groups *groups = iterator->state;
    for (int64_t i = 0; i < groups->count; i++)
        tensors_finish(&groups->at[i].parts);
    tensors_finish(&groups->scratch);
    tensor_release(&groups->memory);
    iterator_destroy(groups->flushed);
}

/* ---- GroupByWindow ---- */

static struct status ask_size(struct kernel_context *k, const struct run_dataset *dataset,
                              struct dataset_group *group)
{
    struct tensor key;
    int64_t size;
    if (group->size > 0)
        return status_ok();
    TRY(make_key(k, group->key, &key));
    TRY(ask_number(k, dataset, SIZE_FUNCTION, "window_size_func", 1, &key, &size));
    if (size <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Window size must be greater than zero, but got %lld.",
                            (long long)size);
    group->size = size;
    return status_ok();
}

/* Opens the dataset that the function makes from the elements of a group, and empties the group. */
static struct status flush_group(struct kernel_context *k, struct iterator *iterator,
                                 struct dataset_group *group)
{
    struct dataset_groups *groups = iterator->state;
    struct tensor args[2];
    TRY(make_key(k, group->key, &args[0]));
    struct status status =
        dataset_hold(k, dataset_input(iterator->dataset, 0)->count, &group->parts, &args[1]);
    if (!status_is_ok(status)) {
        tensor_release(&args[0]);
        return status;
    }
    return dataset_open(k, iterator->dataset, REDUCE_FUNCTION, 2, args, &groups->flushed);
}

/* Moves iterator->element to its group. *out: the window is full. */
static struct status add_to_window(struct kernel_context *k, struct iterator *iterator,
                                   struct dataset_group **out)
{
    int width = dataset_input(iterator->dataset, 0)->count;
    struct dataset_group *group;
    TRY(find_group_of_element(k, iterator, &group));
    TRY(ask_size(k, iterator->dataset, group));
    TRY(tensors_reserve(k, &group->parts, width));
    tensors_append(&group->parts, width, iterator->element);
    *out = group->parts.count / width >= group->size ? group : NULL;
    return status_ok();
}

/* Reads the next element. *out: a group whose window is due. */
static struct status read_to_window(struct kernel_context *k, struct iterator *iterator,
                                    struct dataset_group **out)
{
    struct dataset_groups *groups = iterator->state;
    TRY(iterator_pull(k, iterator, &groups->input_ended));
    if (groups->input_ended)
        return status_ok();
    struct status status = add_to_window(k, iterator, out);
    if (!status_is_ok(status))
        tensors_release(dataset_input(iterator->dataset, 0)->count, iterator->element);
    return status;
}

static struct status by_window_next(struct kernel_context *k, struct iterator *iterator,
                                    struct tensor *element, bool *end)
{
    struct dataset_groups *groups = iterator->state;
    for (;;) {
        struct dataset_group *due = NULL;
        if (groups->flushed != NULL) {
            TRY(iterator_next(k, groups->flushed, element, end));
            if (!*end)
                return status_ok();
            iterator_destroy(groups->flushed);
            groups->flushed = NULL;
        }
        *end = groups->input_ended && groups->next == groups->count;
        if (*end)
            return status_ok();
        if (groups->input_ended)
            due = &groups->at[groups->next++];
        else
            TRY(read_to_window(k, iterator, &due));
        if (due != NULL && due->parts.count > 0)
            TRY(flush_group(k, iterator, due));
    }
}

static int64_t by_window_cardinality(const struct run_dataset *dataset)
{
    return dataset_input(dataset, 0)->cardinality == CARDINALITY_INFINITE ? CARDINALITY_INFINITE
                                                                          : CARDINALITY_UNKNOWN;
}

/* ---- GroupByReducer ---- */

static int state_count(const struct run_dataset *dataset)
{
    return plan_function_results_count(dataset->shape->functions[INIT_FUNCTION]);
}

static struct status init_state(struct kernel_context *k, const struct run_dataset *dataset,
                                struct dataset_group *group)
{
    int states = state_count(dataset);
    struct tensor key;
    TRY(tensors_reserve(k, &group->parts, states));
    TRY(make_key(k, group->key, &key));
    TRY(dataset_call(k, dataset, INIT_FUNCTION, 1, &key, states, group->parts.at));
    group->parts.count = states;
    return status_ok();
}

static struct status fold_element(struct kernel_context *k, struct iterator *iterator)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct dataset_groups *groups = iterator->state;
    int states = state_count(dataset), width = dataset_input(dataset, 0)->count;
    struct dataset_group *group;
    TRY(find_group_of_element(k, iterator, &group));
    if (group->parts.count == 0)
        TRY(init_state(k, dataset, group));
    TRY(tensors_reserve(k, &groups->scratch, 2 * (int64_t)states + width));
    struct tensor *args = groups->scratch.at, *results = args + states + width;
    tensors_acquire(states, group->parts.at, args);
    tensors_acquire(width, iterator->element, args + states);
    TRY(dataset_call(k, dataset, FOLD_FUNCTION, states + width, args, states, results));
    tensors_release(states, group->parts.at);
    tensors_move(states, results, group->parts.at);
    return status_ok();
}

static struct status fold_all(struct kernel_context *k, struct iterator *iterator)
{
    struct dataset_groups *groups = iterator->state;
    while (!groups->input_ended) {
        TRY(iterator_pull(k, iterator, &groups->input_ended));
        if (groups->input_ended)
            break;
        struct status status = fold_element(k, iterator);
        tensors_release(dataset_input(iterator->dataset, 0)->count, iterator->element);
        if (!status_is_ok(status))
            return status;
    }
    return status_ok();
}

static struct status by_reducer_next(struct kernel_context *k, struct iterator *iterator,
                                     struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct dataset_groups *groups = iterator->state;
    int states = state_count(dataset);
    TRY(fold_all(k, iterator));
    *end = groups->next == groups->count;
    if (*end)
        return status_ok();
    struct tensors *state = &groups->at[groups->next++].parts;
    if (state->count < states) /* a function failed before it was there */
        return kernel_error(k, STATUS_FAILED_PRECONDITION, "a key has no state");
    state->count = 0; /* the call takes it over */
    return dataset_call(k, dataset, FINALIZE_FUNCTION, states, state->at, dataset->count, element);
}

#define GROUP(name, next_function, ...)                         \
    DATASET(name, NULL, next_function, .finish = groups_finish, \
            .iterator_bytes = sizeof(struct dataset_groups), __VA_ARGS__)
static const struct kernel rows[] = {
    GROUP("GroupByWindowDataset", by_window_next, .cardinality = by_window_cardinality),
    GROUP("GroupByReducerDataset", by_reducer_next, .cardinality = NULL),
    GROUP("ExperimentalGroupByReducerDataset", by_reducer_next, .cardinality = NULL),
};
const struct kernel_table kernels_dataset_groups = { rows, COUNT(rows) };
