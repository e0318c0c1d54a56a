/* Datasets of random numbers, and of random elements of another one, with TensorFlow's choices for
 * given seeds. */
#include "runtime/kernels/data/iterator_seeds.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- RandomDataset: numbers of 32 bits without end ---- */

static struct status random_prepare(struct prepare_context *p, struct dataset_shape *shape)
{
    (void)p;
    if (shape->count == 1 && shape->dtypes[0] == DT_INT64)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for its output_types",
                        shape->node->op_name, shape->node->name);
}

static struct status random_check(struct kernel_context *k, struct run_dataset *dataset)
{
    return iterator_seeds_check(k, dataset, 0);
}

static struct status random_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct philox_reader *reader = iterator->state;
    bool renews = false; /* of RandomDataset */
    status_ignore(
        node_attr_bool(iterator->dataset->shape->node, "rerandomize_each_iteration", &renews));
    reader->philox = iterator_seeds_take(k, iterator->dataset, 0, renews);
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
    return iterator_seeds_check(k, dataset, SEED_AT);
}

static struct status sampling_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct philox_reader *reader = iterator->state;
    reader->philox = iterator_seeds_take(k, iterator->dataset, SEED_AT, false);
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

#define RANDOM(name)                                                                           \
    DATASET(name, random_check, random_next, .prepare = random_prepare, .begin = random_begin, \
            .iterator_bytes = sizeof(struct philox_reader),                                    \
            .dataset_bytes = sizeof(struct iterator_seeds), .cardinality = random_cardinality)
static const struct kernel rows[] = {
    RANDOM("RandomDataset"),
    RANDOM("RandomDatasetV2"),
    DATASET("SamplingDataset", sampling_check, sampling_next, .begin = sampling_begin,
            .iterator_bytes = sizeof(struct philox_reader),
            .dataset_bytes = sizeof(struct iterator_seeds), .same_width = true),
};
const struct kernel_table kernels_dataset_random = { rows, COUNT(rows) };
