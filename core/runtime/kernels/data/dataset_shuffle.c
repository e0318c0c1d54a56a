/*
 * Shuffle, with TensorFlow's order for given seeds. The buffer is filled up before each element; a
 * number of TensorFlow's generator (Philox, word by word) chooses one of the buffer, and the first
 * takes its place. An epoch of ShuffleAndRepeat may begin before the one before it is over: then
 * elements of both are in the buffer, and those of the older one are chosen first.
 *
 * A dataset that reshuffles has a generator of its own for the seeds of its iterators, or shares
 * one with others: the object of AnonymousSeedGenerator.
 */
#include <string.h>

#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/philox.h"

struct shuffle_seeds {
    uint64_t seed, seed2;
    bool reshuffles, is_ready;
    struct philox_reader next; /* seeds for iterators, if it reshuffles */
};

struct seed_generator {
    struct object object;
    struct tensor self;
    struct shuffle_seeds seeds;
};

struct shuffle {
    struct philox_reader random;
    struct tensors buffer; /* elements, one after the other, from place `first` on */
    int64_t first;         /* the elements before are gone */
    int64_t *epochs;       /* [epochs_count] how many elements of each epoch are in the buffer */
    int64_t epochs_count, epochs_capacity;
    struct tensor epochs_memory;
    int64_t epoch;
    bool input_ended, has_read;
};

/* The inputs: the dataset, buffer_size, seed, seed2, then count if it repeats. In newer versions
 * the last one is a generator of seeds; version 2 has no seeds of its own. */
#define SEED_AT 2

static void generator_destroy(struct object *object)
{
    struct tensor self = ((struct seed_generator *)object)->self;
    tensor_release(&self); /* with it the generator */
}

static const struct object_type generator_type = { "SeedGenerator", generator_destroy };

/* The generator in the last input; NULL: there is none. */
static struct seed_generator *find_generator(const struct run_dataset *dataset)
{
    const struct tensor *last = &dataset->inputs[dataset->inputs_count - 1];
    struct object *object =
        last->dtype == DT_RESOURCE && last->size == 1 ? *(struct object *const *)last->data : NULL;
    return object != NULL && object->type == &generator_type ? (struct seed_generator *)object
                                                             : NULL;
}

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
        return find_generator(dataset) != NULL
                   ? status_ok()
                   : kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d is no generator of seeds",
                                  SEED_AT);
    TRY(dataset_check_number(k, dataset, SEED_AT, "seed", INT64_MIN));
    TRY(dataset_check_number(k, dataset, SEED_AT + 1, "seed2", INT64_MIN));
    if (repeats(dataset))
        TRY(dataset_check_number(k, dataset, SEED_AT + 2, "count", -1));
    return status_ok();
}

static void set_seeds(struct kernel_context *k, struct shuffle_seeds *seeds, int64_t seed,
                      int64_t seed2, bool reshuffles)
{
    bool is_random = seed == 0 && seed2 == 0;
    seeds->seed = is_random ? kernel_random_seed(k) : (uint64_t)seed;
    seeds->seed2 = is_random ? kernel_random_seed(k) : (uint64_t)seed2;
    seeds->reshuffles = reshuffles;
    seeds->next.philox = philox_of_key(seeds->seed, 0, seeds->seed2);
    seeds->is_ready = true;
}

/* The seeds of the dataset itself. */
static struct shuffle_seeds *own_seeds(struct kernel_context *k, struct run_dataset *dataset)
{
    struct shuffle_seeds *seeds = dataset->state;
    bool reshuffles = true;
    if (seeds->is_ready)
        return seeds;
    status_ignore(node_attr_bool(dataset->shape->node, "reshuffle_each_iteration", &reshuffles));
    set_seeds(k, seeds, dataset_number(dataset, SEED_AT), dataset_number(dataset, SEED_AT + 1),
              reshuffles);
    return seeds;
}

/* The seeds of the next iterator. */
static struct philox take_seeds(struct kernel_context *k, struct run_dataset *dataset)
{
    struct seed_generator *generator = find_generator(dataset);
    struct shuffle_seeds *seeds = generator != NULL ? &generator->seeds : own_seeds(k, dataset);
    if (!seeds->reshuffles)
        return philox_of_key(seeds->seed, 0, seeds->seed2);
    uint64_t seed = philox_next(&seeds->next);
    return philox_of_key(seed, 0, philox_next(&seeds->next));
}

static struct status add_epoch(struct kernel_context *k, struct shuffle *shuffle)
{
    if (shuffle->epochs_count == shuffle->epochs_capacity) {
        int64_t capacity = 2 * shuffle->epochs_capacity + 8;
        struct shape shape = shape_of(capacity * (int64_t)sizeof *shuffle->epochs);
        struct tensor memory;
        TRY(kernel_scratch(k, DT_UINT8, &shape, &memory));
        if (shuffle->epochs_count > 0)
            memcpy(memory.data, shuffle->epochs,
                   (size_t)shuffle->epochs_count * sizeof *shuffle->epochs);
        tensor_release(&shuffle->epochs_memory);
        shuffle->epochs_memory = memory;
        shuffle->epochs = memory.data;
        shuffle->epochs_capacity = capacity;
    }
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

/* Moves the buffer to the start of its memory when more than half of that is of gone elements. */
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
    int64_t count = dataset_cardinality(dataset_input(dataset, 0)), epochs = epochs_wanted(dataset),
            product;
    if (epochs == 0 || count == 0)
        return 0;
    if (epochs < 0)
        return count == CARDINALITY_UNKNOWN ? CARDINALITY_UNKNOWN : CARDINALITY_INFINITE;
    if (count < 0)
        return count;
    return __builtin_mul_overflow(count, epochs, &product) ? CARDINALITY_UNKNOWN : product;
}

/* The handle of a generator that a dataset would make itself: here that needs no name. */
static struct status dummy_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    return kernel_output(k, 0, &scalar, &out);
}

/* The deleter has nothing to do: the generator lives as long as some tensor holds it. */
static struct status generator_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar(), size = shape_of((int64_t)sizeof(struct seed_generator));
    const struct tensor *seed, *seed2, *reshuffle;
    struct tensor *handle, *deleter, self;
    TRY(kernel_scalar(k, 0, "seed", &seed));
    TRY(kernel_scalar(k, 1, "seed2", &seed2));
    TRY(kernel_scalar(k, 2, "reshuffle", &reshuffle));
    TRY(kernel_output(k, 0, &scalar, &handle));
    TRY(kernel_output(k, 1, &scalar, &deleter));
    TRY(kernel_scratch(k, DT_UINT8, &size, &self));
    struct seed_generator *generator = self.data;
    *generator = (struct seed_generator){ .object = { .type = &generator_type, .references = 1 },
                                          .self = self };
    set_seeds(k, &generator->seeds, tensor_int64s(seed)[0], tensor_int64s(seed2)[0],
              tensor_bools(reshuffle)[0]);
    tensor_resources_mut(handle)[0] = &generator->object;
    return status_ok();
}

static struct status delete_compute(struct kernel_context *k)
{
    (void)k;
    return status_ok();
}

#define SHUFFLE(name)                                                                            \
    DATASET(name, shuffle_check, shuffle_next, .begin = shuffle_begin, .finish = shuffle_finish, \
            .same_width = true, .iterator_bytes = sizeof(struct shuffle),                        \
            .dataset_bytes = sizeof(struct shuffle_seeds), .cardinality = shuffle_cardinality)
static const struct kernel rows[] = {
    SHUFFLE("ShuffleDataset"),
    SHUFFLE("ShuffleDatasetV2"),
    SHUFFLE("ShuffleDatasetV3"),
    SHUFFLE("ShuffleAndRepeatDataset"),
    SHUFFLE("ShuffleAndRepeatDatasetV2"),
    { "DummySeedGenerator", DTYPES_ALL, .compute = dummy_compute },
    { "AnonymousSeedGenerator", DTYPES_ALL, .compute = generator_compute },
    { "DeleteSeedGenerator", DTYPES_ALL, .compute = delete_compute },
};
const struct kernel_table kernels_dataset_shuffle = { rows, COUNT(rows) };
