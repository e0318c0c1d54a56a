/* Datasets of random numbers, and of random elements of another one, with TensorFlow's choices for
 * given seeds. */
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/philox.h"

/* Chosen with the first iterator, if both are 0: all iterators of a dataset see the same
 * numbers. */
struct dataset_seeds {
    uint64_t seed, seed2;
    bool is_ready;
};

static struct status check_seeds(struct kernel_context *k, const struct run_dataset *dataset,
                                 int first)
{
    TRY(dataset_check_number(k, dataset, first, "seed", INT64_MIN));
    return dataset_check_number(k, dataset, first + 1, "seed2", INT64_MIN);
}

static void start_reader(struct kernel_context *k, struct iterator *iterator, int first)
{
    struct run_dataset *dataset = iterator->dataset;
    struct dataset_seeds *seeds = dataset->state;
    struct philox_reader *reader = iterator->state;
    if (!seeds->is_ready) {
        int64_t seed = dataset_number(dataset, first), seed2 = dataset_number(dataset, first + 1);
        bool is_random = seed == 0 && seed2 == 0;
        seeds->seed = is_random ? kernel_random_seed(k) : (uint64_t)seed;
        seeds->seed2 = is_random ? kernel_random_seed(k) : (uint64_t)seed2;
        seeds->is_ready = true;
    }
    reader->philox = philox_of_key(seeds->seed, 0, seeds->seed2);
}

/* ---- RandomDataset: numbers of 32 bits without end ---- */

static struct status random_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    (void)p;
    if (shape->count == 1 && shape->dtypes[0] == DT_INT64)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op 'RandomDataset' of node '%s' is not implemented for its output_types",
                        shape->node->name);
}

static struct status random_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return check_seeds(k, dataset, 0);
}

static struct status random_begin(struct kernel_context *k, struct iterator *iterator)
{
    start_reader(k, iterator, 0);
    return status_ok();
}

static struct status random_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    const struct shape scalar = shape_scalar();
    *end = false;
    TRY(kernel_scratch(k, DT_INT64, &scalar, element));
    tensor_int64s_mut(element)[0] = philox_next(iterator->state);
    return status_ok();
}

static int64_t random_cardinality(const struct run_dataset *dataset)
{
    (void)dataset;
    return CARDINALITY_INFINITE;
}

/* ---- SamplingDataset: each element with the probability `rate` ---- */

#define RATE_AT 1
#define SEED_AT 2

static struct status sampling_check(struct kernel_context *k, struct run_dataset *dataset)
{
    if (dataset->inputs[RATE_AT].shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "rate must be a scalar");
    return check_seeds(k, dataset, SEED_AT);
}

static struct status sampling_begin(struct kernel_context *k, struct iterator *iterator)
{
    start_reader(k, iterator, SEED_AT);
    return status_ok();
}

static struct status sampling_next(struct kernel_context *k, struct iterator *iterator,
                                   struct tensor *element, bool *end)
{
    float rate = tensor_floats(&iterator->dataset->inputs[RATE_AT])[0];
    int count = iterator->dataset->count;
    for (;;) {
        TRY(iterator_next(k, iterator->input, element, end));
        if (*end || philox_float(philox_next(iterator->state)) < rate)
            return status_ok();
        tensors_release(count, element);
    }
}

static const struct kernel rows[] = {
    DATASET("RandomDataset", random_check, random_next, .prepare = random_prepare,
            .begin = random_begin, .iterator_bytes = sizeof(struct philox_reader),
            .dataset_bytes = sizeof(struct dataset_seeds), .cardinality = random_cardinality),
    DATASET("SamplingDataset", sampling_check, sampling_next, .begin = sampling_begin,
            .iterator_bytes = sizeof(struct philox_reader),
            .dataset_bytes = sizeof(struct dataset_seeds), .same_width = true),
};
const struct kernel_table kernels_dataset_random = { rows, COUNT(rows) };
