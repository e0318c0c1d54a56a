/* Datasets whose elements a function makes or chooses. */
#include "runtime/kernels/data/dataset.h"

/* ---- Map ---- */

static struct status map_next(struct kernel_context *k, struct iterator *iterator,
                              struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    TRY(iterator_pull(k, iterator, end));
    if (*end)
        return status_ok();
    int count = dataset_input(dataset, 0)->count;
    return dataset_call(k, dataset, 0, count, iterator->element, dataset->count, element);
}

/* The Python API says that functions give one element for each. */
static int64_t preserved_cardinality(const struct run_dataset *dataset)
{
    bool preserved = false;
    status_ignore(node_attr_bool(dataset->shape->node, "preserve_cardinality", &preserved));
    return preserved ? dataset_input(dataset, 0)->cardinality : CARDINALITY_UNKNOWN;
}

/* ---- Filter and TakeWhile ---- */

/* Takes the next element of the input and asks the function about it. If *yes, the caller owns the
 * element; otherwise it is released. */
static struct status next_asked(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *yes, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    TRY(iterator_pull(k, iterator, end));
    if (*end)
        return status_ok();
    tensors_acquire(dataset->count, iterator->element, element);
    struct status status = dataset_ask(k, dataset, 0, dataset->count, iterator->element, yes);
    if (!status_is_ok(status) || !*yes)
        tensors_release(dataset->count, element);
    return status;
}

static struct status filter_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    bool yes = false;
    do
        TRY(next_asked(k, iterator, element, &yes, end));
    while (!yes && !*end);
    return status_ok();
}

static struct status take_while_next(struct kernel_context *k, struct iterator *iterator,
                                     struct tensor *element, bool *end)
{
    bool yes = false;
    TRY(next_asked(k, iterator, element, &yes, end));
    *end = *end || !yes;
    return status_ok();
}

/* ---- FlatMap: the elements of the datasets that the function makes, one after the other ---- */

struct flat_map {
    struct iterator *inner; /* NULL: the next element of the input makes it */
};

static struct status flat_map_next(struct kernel_context *k, struct iterator *iterator,
                                   struct tensor *element, bool *end)
{
    struct flat_map *flat = iterator->state;
    for (;;) {
        if (flat->inner == NULL) {
            TRY(dataset_open_next(k, iterator, &flat->inner, end));
            if (*end)
                return status_ok();
        }
        TRY(iterator_next(k, flat->inner, element, end));
        if (!*end)
            return status_ok();
        iterator_destroy(flat->inner);
        flat->inner = NULL;
    }
}

static void flat_map_finish(struct iterator *iterator)
{
    iterator_destroy(((struct flat_map *)iterator->state)->inner);
}

/* ---- Scan: the function takes a state and an element, and gives the next of both ---- */

struct scan {
    struct tensors values; /* the state; then room for the arguments, and for the results */
};

static int states_count(const struct run_dataset *dataset)
{
    const struct attr_value *types = node_attr(dataset->shape->node, "Tstate");
    return types->count;
}

static struct status scan_begin(struct kernel_context *k, struct iterator *iterator)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct scan *scan = iterator->state;
    int states = states_count(dataset), width = dataset_input(dataset, 0)->count;
    TRY(tensors_reserve(k, &scan->values, 3 * (int64_t)states + width + dataset->count));
    tensors_acquire(states, dataset->inputs + 1, scan->values.at);
    scan->values.count = states;
    return status_ok();
}

static struct status scan_next(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    const struct run_dataset *dataset = iterator->dataset;
    struct scan *scan = iterator->state;
    int states = states_count(dataset), width = dataset_input(dataset, 0)->count;
    struct tensor *state = scan->values.at, *args = state + states,
                  *results = args + states + width;
    TRY(iterator_pull(k, iterator, end));
    if (*end)
        return status_ok();
    tensors_acquire(states, state, args);
    tensors_move(width, iterator->element, args + states);
    TRY(dataset_call(k, dataset, 0, states + width, args, states + dataset->count, results));
    tensors_release(states, state);
    tensors_move(states, results, state);
    tensors_move(dataset->count, results + states, element);
    return status_ok();
}

static void scan_finish(struct iterator *iterator)
{
    tensors_finish(&((struct scan *)iterator->state)->values);
}

#define MAP(name)    DATASET(name, NULL, map_next, .cardinality = preserved_cardinality)
#define FILTER(name) DATASET(name, NULL, filter_next, .same_width = true)
static const struct kernel rows[] = {
    MAP("MapDataset"),
    MAP("ParallelMapDataset"),
    MAP("ParallelMapDatasetV2"),
    FILTER("FilterDataset"),
    FILTER("ParallelFilterDataset"),
    DATASET("TakeWhileDataset", NULL, take_while_next, .same_width = true),
    DATASET("FlatMapDataset", NULL, flat_map_next, .finish = flat_map_finish,
            .iterator_bytes = sizeof(struct flat_map)),
    DATASET("ScanDataset", NULL, scan_next, .begin = scan_begin, .finish = scan_finish,
            .iterator_bytes = sizeof(struct scan), .cardinality = preserved_cardinality),
};
const struct kernel_table kernels_dataset_functions = { rows, COUNT(rows) };
