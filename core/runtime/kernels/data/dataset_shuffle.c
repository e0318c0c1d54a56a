/*
 * Shuffle, with TensorFlow's order for given seeds. The buffer is filled up before each element; a
 * number of TensorFlow's generator (Philox, word by word) chooses one of the buffer, and the first
 * takes its place. An epoch of ShuffleAndRepeat may begin before the one before it is over: then
 * elements of both are in the buffer, and those of the older one are chosen first.
 */
#include <string.h>

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/data/iterator_seeds.h"
#include "runtime/kernels/kernel_tools.h"

struct shuffle {
    struct philox_reader random;
    struct tensors buffer; /* elements, one after the other, from place `first` on */
    int64_t first;         /* the elements before are gone */
    int64_t *epochs;       /* [epochs_count] how many elements of each epoch are in the buffer */
    int64_t epochs_count;
    struct tensor epochs_memory;
    int64_t epoch;
    bool input_ended, has_read;
};

/* The inputs: the dataset, buffer_size, seed, seed2, then count if it repeats. In newer versions
 * the last one is a generator of seeds; version 2 has no seeds of its own. */
#define SEED_AT 2

static bool has_seeds(const struct run_dataset *dataset)
{
    return dataset->inputs[SEED_AT].dtype == DT_INT64;
}

static bool repeats(const struct run_dataset *dataset)
{
    return strncmp(dataset->shape->node->op_name, "ShuffleAndRepeat", 16) == 0;
}

/* The number of epochs; -1: without end. */
static int64_t epochs_wanted(const struct run_dataset *dataset)
{
    return repeats(dataset) ? dataset_number(dataset, SEED_AT + 2) : 1;
}

static struct status shuffle_check(struct kernel_context *k, struct run_dataset *dataset)
{
    TRY(dataset_check_number(k, dataset, 1, "buffer_size", INT64_MIN));
    int64_t size = dataset_number(dataset, 1);
    if (size < 1 && size != CARDINALITY_UNKNOWN)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    if (!has_seeds(dataset))
        return iterator_seeds_are_shared(dataset)
                   ? status_ok()
                   : kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d is no generator of seeds",
                                  SEED_AT);
    TRY(iterator_seeds_check(k, dataset, SEED_AT));
    if (repeats(dataset))
        TRY(dataset_check_number(k, dataset, SEED_AT + 2, "count", -1));
    return status_ok();
}

/* The seeds of the next iterator. */
static struct philox take_seeds(struct kernel_context *k, struct run_dataset *dataset)
{
    bool reshuffles = true;
    status_ignore(node_attr_bool(dataset->shape->node, "reshuffle_each_iteration", &reshuffles));
    return iterator_seeds_take(k, dataset, SEED_AT, reshuffles);
}

static struct status add_epoch(struct kernel_context *k, struct shuffle *shuffle)
{
    TRY(kernel_scratch_reserve(k, &shuffle->epochs_memory, shuffle->epochs_count, 1,
                               sizeof *shuffle->epochs));
    shuffle->epochs = shuffle->epochs_memory.data;
    shuffle->epochs[shuffle->epochs_count++] = 0;
    return status_ok();
}

static struct status shuffle_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct shuffle *shuffle = iterator->state;
    shuffle->random.philox = take_seeds(k, iterator->dataset);
    shuffle->input_ended = epochs_wanted(iterator->dataset) == 0;
    return add_epoch(k, shuffle);
}

/* The input has come to its end: the next epoch begins, if there is one. */
static struct status end_epoch(struct kernel_context *k, struct iterator *iterator)
{
    struct shuffle *shuffle = iterator->state;
    int64_t wanted = epochs_wanted(iterator->dataset);
    shuffle->epoch++;
    shuffle->input_ended = wanted < 0 ? !shuffle->has_read : shuffle->epoch >= wanted;
    if (shuffle->input_ended)
        return status_ok();
    iterator_destroy(iterator->input);
    iterator->input = NULL;
    TRY(iterator_create(k, dataset_input(iterator->dataset, 0), &iterator->input));
    return add_epoch(k, shuffle);
}

/* Moves the elements to the start of the buffer once more than half of it is free. */
static void close_gap(struct shuffle *shuffle)
{
    struct tensors *buffer = &shuffle->buffer;
    int64_t left = buffer->count - shuffle->first;
    if (shuffle->first <= left)
        return;
    if (left > 0)
        memmove(buffer->at, buffer->at + shuffle->first, (size_t)left * sizeof *buffer->at);
    buffer->count = left;
    shuffle->first = 0;
}

static struct status fill_buffer(struct kernel_context *k, struct iterator *iterator)
{
    struct shuffle *shuffle = iterator->state;
    struct tensors *buffer = &shuffle->buffer;
    int width = iterator->dataset->count;
    int64_t most = dataset_number(iterator->dataset, 1);
    while (!shuffle->input_ended && (most < 0 || (buffer->count - shuffle->first) / width < most)) {
        bool end = false;
        TRY(tensors_reserve(k, buffer, width));
        TRY(iterator_pull(k, iterator, &end));
        if (end) {
            TRY(end_epoch(k, iterator));
            continue;
        }
        shuffle->has_read = true;
        tensors_append(buffer, width, iterator->element);
        shuffle->epochs[shuffle->epochs_count - 1]++;
    }
    return status_ok();
}

static void drop_empty_epochs(struct shuffle *shuffle)
{
    int64_t empty = 0;
    while (empty < shuffle->epochs_count - 1 && shuffle->epochs[empty] == 0)
        empty++;
    shuffle->epochs_count -= empty;
    memmove(shuffle->epochs, shuffle->epochs + empty,
            (size_t)shuffle->epochs_count * sizeof *shuffle->epochs);
}

static struct status shuffle_next(struct kernel_context *k, struct iterator *iterator,
                                  struct tensor *element, bool *end)
{
    struct shuffle *shuffle = iterator->state;
    int width = iterator->dataset->count;
    close_gap(shuffle);
    TRY(fill_buffer(k, iterator));
    *end = shuffle->buffer.count == shuffle->first;
    if (*end)
        return status_ok();
    drop_empty_epochs(shuffle);
    struct tensor *first = shuffle->buffer.at + shuffle->first;
    struct tensor *chosen = first + philox_next(&shuffle->random) % shuffle->epochs[0] * width;
    tensors_move(width, chosen, element);
    if (chosen != first)
        tensors_move(width, first, chosen);
    shuffle->first += width;
    shuffle->epochs[0]--;
    return status_ok();
}

static void shuffle_finish(struct iterator *iterator)
{
    struct shuffle *shuffle = iterator->state;
    tensors_finish(&shuffle->buffer); /* the places of gone elements are empty */
    tensor_release(&shuffle->epochs_memory);
}

static int64_t shuffle_cardinality(const struct run_dataset *dataset)
{
    int64_t count = dataset_input(dataset, 0)->cardinality, epochs = epochs_wanted(dataset),
            product;
    if (epochs == 0 || count == 0)
        return 0;
    if (epochs < 0)
        return count == CARDINALITY_UNKNOWN ? CARDINALITY_UNKNOWN : CARDINALITY_INFINITE;
    if (count < 0)
        return count;
    return __builtin_mul_overflow(count, epochs, &product) ? CARDINALITY_UNKNOWN : product;
}

#define SHUFFLE(name)                                                                            \
    DATASET(name, shuffle_check, shuffle_next, .begin = shuffle_begin, .finish = shuffle_finish, \
            .same_width = true, .iterator_bytes = sizeof(struct shuffle),                        \
            .dataset_bytes = sizeof(struct iterator_seeds), .cardinality = shuffle_cardinality)
static const struct kernel rows[] = {
    SHUFFLE("ShuffleDataset"),
    SHUFFLE("ShuffleDatasetV2"),
    SHUFFLE("ShuffleDatasetV3"),
    SHUFFLE("ShuffleAndRepeatDataset"),
    SHUFFLE("ShuffleAndRepeatDatasetV2"),
};
const struct kernel_table kernels_dataset_shuffle = { rows, COUNT(rows) };
