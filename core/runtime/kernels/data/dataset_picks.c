/* Datasets that pass on elements of others unchanged: some of them, repeated, concatenated, or
 * zipped. */
#include "runtime/kernels/data/dataset.h"

static int64_t input_cardinality(const struct run_dataset *dataset)
{
    return dataset_input(dataset, 0)->cardinality;
}

/* ---- what only says how TensorFlow should run: all elements as they come ---- */

static struct status pass_next(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    return iterator_next(k, iterator->input, element, end);
}

static struct status prefetch_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return dataset_check_number(k, dataset, 1, "buffer_size", -1);
}

static struct status check_threads(struct kernel_context *k, struct run_dataset *dataset,
                                   const char *name)
{
    TRY(dataset_check_number(k, dataset, 1, name, INT64_MIN));
    if (dataset_number(dataset, 1) >= 0)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "`%s` must be >= 0", name);
}

static struct status parallelism_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return check_threads(k, dataset, "max_intra_op_parallelism");
}

static struct status thread_pool_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return check_threads(k, dataset, "num_threads");
}

/* ---- SleepDataset: waits before each element ---- */

static struct status sleep_check(struct kernel_context *k, struct run_dataset *dataset)
{
    TRY(dataset_check_number(k, dataset, 1, "sleep_microseconds", INT64_MIN));
    if (dataset_number(dataset, 1) >= 0)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "`sleep_microseconds` must be >= 0");
}

static struct status sleep_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    int64_t duration_ns;
    if (__builtin_mul_overflow(dataset_number(iterator->dataset, 1), 1000, &duration_ns))
        duration_ns = INT64_MAX;
    TRY(kernel_sleep(k, duration_ns));
    return iterator_next(k, iterator->input, element, end);
}

/* ---- Take and Skip ---- */

static struct status count_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return dataset_check_number(k, dataset, 1, "count", INT64_MIN);
}

static struct status take_next(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    int64_t *taken = iterator->state, most = dataset_number(iterator->dataset, 1);
    *end = most >= 0 && *taken >= most;
    if (*end)
        return status_ok();
    ++*taken;
    return iterator_next(k, iterator->input, element, end);
}

static int64_t take_cardinality(const struct run_dataset *dataset)
{
    int64_t most = dataset_number(dataset, 1), count = input_cardinality(dataset);
    if (count == CARDINALITY_UNKNOWN || most < 0)
        return count;
    return count == CARDINALITY_INFINITE || most < count ? most : count;
}

static struct status skip_next(struct kernel_context *k, struct iterator *iterator,
                               struct tensor *element, bool *end)
{
    int64_t *skipped = iterator->state, count = dataset_number(iterator->dataset, 1);
    *end = count < 0; /* all */
    for (; !*end && *skipped < count; ++*skipped) {
        TRY(iterator_pull(k, iterator, end));
        if (!*end)
            tensors_release(iterator->dataset->count, iterator->element);
    }
    return *end ? status_ok() : iterator_next(k, iterator->input, element, end);
}

static int64_t skip_cardinality(const struct run_dataset *dataset)
{
    int64_t skipped = dataset_number(dataset, 1), count = input_cardinality(dataset);
    if (skipped < 0)
        return 0;
    if (count < 0)
        return count;
    return skipped < count ? count - skipped : 0;
}

/* ---- Repeat ---- */

struct repeat {
    int64_t rounds; /* that have ended */
    bool has_given; /* an element in this round */
};

static struct status repeat_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    struct repeat *repeat = iterator->state;
    int64_t most = dataset_number(iterator->dataset, 1);
    *end = most == 0;
    while (!*end) {
        TRY(iterator_next(k, iterator->input, element, end));
        if (!*end) {
            repeat->has_given = true;
            return status_ok();
        }
        /* A round without an element ends an endless repetition too: all further rounds would be
         * empty. */
        *end = most < 0 ? !repeat->has_given : ++repeat->rounds >= most;
        if (*end)
            break;
        repeat->has_given = false;
        iterator_destroy(iterator->input);
        iterator->input = NULL;
        TRY(iterator_create(k, dataset_input(iterator->dataset, 0), &iterator->input));
    }
    return status_ok();
}

static int64_t repeat_cardinality(const struct run_dataset *dataset)
{
    int64_t rounds = dataset_number(dataset, 1), count = input_cardinality(dataset), product;
    if (rounds == 0 || count == 0)
        return 0;
    if (rounds < 0)
        return count == CARDINALITY_UNKNOWN ? CARDINALITY_UNKNOWN : CARDINALITY_INFINITE;
    if (count < 0)
        return count;
    return __builtin_mul_overflow(count, rounds, &product) ? CARDINALITY_UNKNOWN : product;
}

/* ---- Concatenate ---- */

static struct status concatenate_next(struct kernel_context *k, struct iterator *iterator,
                                      struct tensor *element, bool *end)
{
    bool *is_second = iterator->state;
    TRY(iterator_next(k, iterator->input, element, end));
    if (!*end || *is_second)
        return status_ok();
    *is_second = true;
    iterator_destroy(iterator->input);
    iterator->input = NULL;
    TRY(iterator_create(k, dataset_input(iterator->dataset, 1), &iterator->input));
    return iterator_next(k, iterator->input, element, end);
}

static int64_t concatenate_cardinality(const struct run_dataset *dataset)
{
    int64_t first = input_cardinality(dataset), second = dataset_input(dataset, 1)->cardinality,
            sum;
    if (first == CARDINALITY_INFINITE || second == CARDINALITY_INFINITE)
        return CARDINALITY_INFINITE;
    if (first < 0 || second < 0 || __builtin_add_overflow(first, second, &sum))
        return CARDINALITY_UNKNOWN;
    return sum;
}

/* ---- Shard: each num_shards-th element, from `index` on ---- */

static struct status shard_check(struct kernel_context *k, struct run_dataset *dataset)
{
    TRY(dataset_check_number(k, dataset, 1, "num_shards", INT64_MIN));
    TRY(dataset_check_number(k, dataset, 2, "index", INT64_MIN));
    int64_t shards = dataset_number(dataset, 1), index = dataset_number(dataset, 2);
    if (shards <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Number of shards must be greater than zero (currently num_shards = "
                            "%lld).",
                            (long long)shards);
    if (index < 0 || index >= shards)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Index must be between 0 and %lld (currently index = %lld).",
                            (long long)shards - 1, (long long)index);
    return status_ok();
}

static struct status shard_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    int64_t *at = iterator->state, shards = dataset_number(iterator->dataset, 1),
            index = dataset_number(iterator->dataset, 2);
    for (;;) {
        TRY(iterator_next(k, iterator->input, element, end));
        if (*end || (*at)++ % shards == index)
            return status_ok();
        tensors_release(iterator->dataset->count, element);
    }
}

static int64_t shard_cardinality(const struct run_dataset *dataset)
{
    int64_t count = input_cardinality(dataset), shards = dataset_number(dataset, 1);
    if (count < 0)
        return count;
    return count / shards + (dataset_number(dataset, 2) < count % shards ? 1 : 0);
}

/* ---- IgnoreErrors: the elements that can be made ---- */

static struct status ignore_errors_next(struct kernel_context *k, struct iterator *iterator,
                                        struct tensor *element, bool *end)
{
    struct status status = iterator_next(k, iterator->input, element, end);
    while (!status_is_ok(status) && !dataset_error_ends_run(status.code)) {
        TRY(kernel_check(k));
        status = iterator_next(k, iterator->input, element, end);
    }
    return status;
}

/* ---- Zip: one element of each dataset makes one; the shortest decides ---- */

static struct status zip_check(struct kernel_context *k, struct run_dataset *dataset)
{
    int64_t count = 0;
    for (int i = 0; i < dataset->inputs_count; i++)
        count += dataset_input(dataset, i)->count;
    if (count == dataset->count)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "datasets have elements of %lld tensors together, should be %d",
                        (long long)count, dataset->count);
}

/* The iterator over input 0 is in iterator->input, the others in the state. */
struct zip {
    struct iterator **others;
    struct tensor memory;
};

static struct status zip_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct zip *zip = iterator->state;
    int count = iterator->dataset->inputs_count;
    struct shape shape = shape_of((int64_t)((size_t)count * sizeof(struct iterator *)));
    TRY(kernel_scratch(k, DT_UINT8, &shape, &zip->memory));
    zip->others = zip->memory.data;
    for (int i = 0; i < count; i++)
        zip->others[i] = NULL;
    for (int i = 1; i < count; i++)
        TRY(iterator_create(k, dataset_input(iterator->dataset, i), &zip->others[i]));
    return status_ok();
}

static struct status zip_next(struct kernel_context *k, struct iterator *iterator,
                              struct tensor *element, bool *end)
{
    struct zip *zip = iterator->state;
    int at = 0;
    for (int i = 0; i < iterator->dataset->inputs_count; i++) {
        struct iterator *part = i == 0 ? iterator->input : zip->others[i];
        struct status status = iterator_next(k, part, element + at, end);
        if (!status_is_ok(status) || *end) {
            tensors_release(at, element);
            return status;
        }
        at += part->dataset->count;
    }
    return status_ok();
}

static void zip_finish(struct iterator *iterator)
{
    struct zip *zip = iterator->state;
    for (int i = 1; zip->others != NULL && i < iterator->dataset->inputs_count; i++)
        iterator_destroy(zip->others[i]);
    tensor_release(&zip->memory);
}

static int64_t zip_cardinality(const struct run_dataset *dataset)
{
    int64_t least = CARDINALITY_INFINITE;
    for (int i = 0; i < dataset->inputs_count; i++) {
        int64_t count = dataset_input(dataset, i)->cardinality;
        if (count == CARDINALITY_UNKNOWN)
            return CARDINALITY_UNKNOWN;
        if (count >= 0 && (least == CARDINALITY_INFINITE || count < least))
            least = count;
    }
    return least;
}

/* ---- DirectedInterleave: each element of the first dataset says which other one is next ---- */

static struct status directed_check(struct kernel_context *k, struct run_dataset *dataset)
{
    const struct run_dataset *selector = dataset_input(dataset, 0);
    if (selector->count != 1 ||
        (selector->shape->dtypes != NULL && selector->shape->dtypes[0] != DT_INT64))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The selector input must be a dataset of scalar int64 elements.");
    for (int i = 1; i < dataset->inputs_count; i++)
        TRY(dataset_check_width(k, dataset, dataset_input(dataset, i)));
    return status_ok();
}

/* Reads the index of the next dataset from its input. */
static struct status read_selector(struct kernel_context *k, const struct iterator *iterator,
                                   int *out)
{
    const struct tensor *selector = iterator->element;
    int count = iterator->dataset->inputs_count - 1;
    if (selector->dtype != DT_INT64 || selector->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The selector input must be a dataset of scalar int64 elements.");
    int64_t index = tensor_int64s(selector)[0];
    if (index < 0 || index >= count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Selector index out of range: %lld >= %d",
                            (long long)index, count);
    *out = (int)index + 1;
    return status_ok();
}

static bool all_ended(const struct iterator *iterator)
{
    const struct zip *zip = iterator->state;
    for (int i = 1; i < iterator->dataset->inputs_count; i++)
        if (zip->others[i] != NULL)
            return false;
    return true;
}

static struct status directed_next(struct kernel_context *k, struct iterator *iterator,
                                   struct tensor *element, bool *end)
{
    struct zip *zip = iterator->state;
    bool stops = false;
    int chosen = 0;
    status_ignore(node_attr_bool(iterator->dataset->shape->node, "stop_on_empty_dataset", &stops));
    for (;;) {
        *end = all_ended(iterator);
        if (!*end)
            TRY(iterator_pull(k, iterator, end));
        if (*end)
            return status_ok();
        struct status status = read_selector(k, iterator, &chosen);
        tensor_release(iterator->element);
        if (!status_is_ok(status))
            return status;
        if (zip->others[chosen] == NULL)
            continue;
        TRY(iterator_next(k, zip->others[chosen], element, end));
        if (!*end || stops)
            return status_ok();
        iterator_destroy(zip->others[chosen]);
        zip->others[chosen] = NULL;
    }
}

static int64_t directed_cardinality(const struct run_dataset *dataset)
{
    for (int i = 1; i < dataset->inputs_count; i++)
        if (dataset_input(dataset, i)->cardinality == CARDINALITY_INFINITE)
            return CARDINALITY_INFINITE;
    return CARDINALITY_UNKNOWN;
}

#define PASS(name, check, ...) \
    DATASET(name, check, pass_next, .same_width = true, .cardinality = input_cardinality)
static const struct kernel rows[] = {
    PASS("PrefetchDataset", prefetch_check),
    DATASET("SleepDataset", sleep_check, sleep_next, .same_width = true,
            .cardinality = input_cardinality),
    PASS("OptionsDataset", NULL),
    PASS("ModelDataset", NULL),
    PASS("RewriteDataset", NULL),
    PASS("MaxIntraOpParallelismDataset", parallelism_check),
    PASS("PrivateThreadPoolDataset", thread_pool_check),
    DATASET("TakeDataset", count_check, take_next, .same_width = true,
            .iterator_bytes = sizeof(int64_t), .cardinality = take_cardinality),
    DATASET("SkipDataset", count_check, skip_next, .same_width = true,
            .iterator_bytes = sizeof(int64_t), .cardinality = skip_cardinality),
    DATASET("RepeatDataset", count_check, repeat_next, .same_width = true,
            .iterator_bytes = sizeof(struct repeat), .cardinality = repeat_cardinality),
    DATASET("ConcatenateDataset", NULL, concatenate_next, .same_width = true,
            .iterator_bytes = sizeof(bool), .cardinality = concatenate_cardinality),
    DATASET("ShardDataset", shard_check, shard_next, .same_width = true,
            .iterator_bytes = sizeof(int64_t), .cardinality = shard_cardinality),
    DATASET("ZipDataset", zip_check, zip_next, .begin = zip_begin, .finish = zip_finish,
            .iterator_bytes = sizeof(struct zip), .cardinality = zip_cardinality),
    DATASET("DirectedInterleaveDataset", directed_check, directed_next, .begin = zip_begin,
            .finish = zip_finish, .iterator_bytes = sizeof(struct zip),
            .cardinality = directed_cardinality),
    DATASET("IgnoreErrorsDataset", NULL, ignore_errors_next, .same_width = true),
};
const struct kernel_table kernels_dataset_picks = { rows, COUNT(rows) };
