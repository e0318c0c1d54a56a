/*
 * Interleave: the elements of the datasets that a function makes, `block_length` of each in turn,
 * from `cycle_length` datasets at a time. The parallel ops give the same order, as TensorFlow's do
 * when they are to be deterministic.
 */
#include <sched.h>

#include "runtime/kernels/data/dataset.h"

struct interleave {
    struct iterator **open; /* [cycle] NULL: the next dataset takes this place */
    struct tensor memory;
    int64_t cycle, at, open_count;
    int64_t given; /* elements of the current block */
    bool input_ended, is_filled;
};

/* The inputs of cycle_length and block_length: after the captures, whose number varies. */
static int cycle_at(const struct run_dataset *dataset)
{
    return 1 + plan_function_captures_count(dataset->shape->functions[0]);
}

static bool is_parallel(const struct run_dataset *dataset)
{
    return dataset->inputs_count > cycle_at(dataset) + 2;
}

/* num_parallel_calls is the last input. */
static struct status check_calls(struct kernel_context *k, const struct run_dataset *dataset)
{
    int last = dataset->inputs_count - 1;
    TRY(dataset_check_number(k, dataset, last, "num_parallel_calls", -1));
    int64_t calls = dataset_number(dataset, last),
            cycle = dataset_number(dataset, cycle_at(dataset));
    if (cycle < 0 || calls <= cycle)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be "
                        "either `tf.data.AUTOTUNE` or a value less than or equal to "
                        "`cycle_length`. However, `num_parallel_calls` is %lld and `cycle_length` "
                        "is %lld",
                        (long long)calls, (long long)cycle);
}

static struct status interleave_check(struct kernel_context *k, struct run_dataset *dataset)
{
    int at = cycle_at(dataset);
    TRY(dataset_check_number(k, dataset, at, "cycle_length", -1));
    TRY(dataset_check_number(k, dataset, at + 1, "block_length", 1));
    if (dataset_number(dataset, at) == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "cycle_length must be greater than zero.");
    return is_parallel(dataset) ? check_calls(k, dataset) : status_ok();
}

/* tf.data.AUTOTUNE: the number of processors that the process may use, as in TensorFlow. */
static int64_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static struct status interleave_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct interleave *state = iterator->state;
    int64_t cycle = dataset_number(iterator->dataset, cycle_at(iterator->dataset)), bytes;
    if (cycle < 0)
        cycle = processors();
    if (__builtin_mul_overflow(cycle, (int64_t)sizeof(struct iterator *), &bytes))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "a cycle_length of %lld",
                            (long long)cycle);
    struct shape shape = shape_of(bytes);
    TRY(kernel_scratch(k, DT_UINT8, &shape, &state->memory));
    state->open = state->memory.data;
    state->cycle = cycle;
    for (int64_t i = 0; i < cycle; i++)
        state->open[i] = NULL;
    return status_ok();
}

static void turn(struct interleave *state)
{
    state->given = 0;
    state->at = (state->at + 1) % state->cycle;
}

/* Opens the next dataset in the current slot, or moves on if there is none. */
static struct status interleave_open(struct kernel_context *k, struct iterator *iterator)
{
    struct interleave *state = iterator->state;
    if (!state->input_ended)
        TRY(dataset_open_next(k, iterator, &state->open[state->at], &state->input_ended));
    if (state->input_ended)
        turn(state);
    else
        state->open_count++;
    return status_ok();
}

/* Takes the next element of the dataset in the current slot, and closes the dataset at its end. */
static struct status take_here(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    struct interleave *state = iterator->state;
    struct iterator **open = &state->open[state->at];
    TRY(iterator_next(k, *open, element, end));
    if (!*end) {
        if (++state->given == dataset_number(iterator->dataset, cycle_at(iterator->dataset) + 1))
            turn(state);
        return status_ok();
    }
    iterator_destroy(*open);
    *open = NULL;
    state->open_count--;
    return status_ok();
}

static struct status interleave_next(struct kernel_context *k, struct iterator *iterator,
                                     struct tensor *element, bool *end)
{
    struct interleave *state = iterator->state;
    while (!state->input_ended || state->open_count > 0) {
        struct iterator **open = &state->open[state->at];
        if (*open == NULL) {
            TRY(interleave_open(k, iterator));
            continue;
        }
        TRY(take_here(k, iterator, element, end));
        if (!*end)
            return status_ok();
        turn(state);
    }
    *end = true;
    return status_ok();
}

/* ---- ParallelInterleaveDataset and LegacyParallelInterleaveDatasetV2 ---- */

/* Opens the next dataset in the current place, if there is one. */
static struct status open_here(struct kernel_context *k, struct iterator *iterator)
{
    struct interleave *state = iterator->state;
    if (!state->input_ended)
        TRY(dataset_open_next(k, iterator, &state->open[state->at], &state->input_ended));
    if (!state->input_ended)
        state->open_count++;
    return status_ok();
}

static struct status fill_places(struct kernel_context *k, struct iterator *iterator)
{
    struct interleave *state = iterator->state;
    for (; state->at < state->cycle && !state->input_ended; state->at++)
        TRY(open_here(k, iterator)); /* after an error, the next call continues in this slot */
    state->at = 0;
    state->is_filled = true;
    return status_ok();
}

/* All slots are filled first, and each one again when its dataset ends. If no dataset is left
 * for the current slot, the block continues in the next one, as in TensorFlow. */
static struct status interleave_buffered_next(struct kernel_context *k, struct iterator *iterator,
                                              struct tensor *element, bool *end)
{
    struct interleave *state = iterator->state;
    if (!state->is_filled)
        TRY(fill_places(k, iterator));
    while (!state->input_ended || state->open_count > 0) {
        struct iterator **open = &state->open[state->at];
        if (*open == NULL) /* no dataset is left, or the one that was next gave an error */
            TRY(open_here(k, iterator));
        if (*open == NULL) {
            state->at = (state->at + 1) % state->cycle;
            continue;
        }
        TRY(take_here(k, iterator, element, end));
        if (!*end)
            return status_ok();
        TRY(open_here(k, iterator));
        if (*open != NULL)
            turn(state);
    }
    *end = true;
    return status_ok();
}

/* After block_length come `sloppy`, an attribute in the newer op, and sizes of buffers. None of
 * them changes the order here. */
static struct status interleave_buffered_check(struct kernel_context *k,
                                               struct run_dataset *dataset)
{
    int at = cycle_at(dataset), last = dataset->inputs_count - 1;
    TRY(dataset_check_number(k, dataset, at, "cycle_length", INT64_MIN));
    TRY(dataset_check_number(k, dataset, at + 1, "block_length", INT64_MIN));
    if (dataset_number(dataset, at) <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "`cycle_length` must be > 0");
    if (dataset_number(dataset, at + 1) <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "`block_length` must be > 0");
    if (last - at == 4)
        TRY(dataset_check_flag(k, dataset, at + 2, "sloppy"));
    TRY(dataset_check_number(k, dataset, last - 1, "buffer_output_elements", -1));
    return dataset_check_number(k, dataset, last, "prefetch_input_elements", -1);
}

static void interleave_finish(struct iterator *iterator)
{
    struct interleave *state = iterator->state;
    for (int64_t i = 0; i < state->cycle; i++)
        iterator_destroy(state->open[i]);
    tensor_release(&state->memory);
}

#define INTERLEAVE(name)                                                        \
    DATASET(name, interleave_check, interleave_next, .begin = interleave_begin, \
            .finish = interleave_finish, .iterator_bytes = sizeof(struct interleave))
#define INTERLEAVE_BUFFERED(name)                                                                 \
    DATASET(name, interleave_buffered_check, interleave_buffered_next, .begin = interleave_begin, \
            .finish = interleave_finish, .iterator_bytes = sizeof(struct interleave))
static const struct kernel rows[] = {
    INTERLEAVE("InterleaveDataset"),
    INTERLEAVE_BUFFERED("ParallelInterleaveDataset"),
    INTERLEAVE_BUFFERED("LegacyParallelInterleaveDatasetV2"),
    INTERLEAVE("ParallelInterleaveDatasetV2"),
    INTERLEAVE("ParallelInterleaveDatasetV3"),
    INTERLEAVE("ParallelInterleaveDatasetV4"),
};
const struct kernel_table kernels_dataset_interleave = { rows, COUNT(rows) };
