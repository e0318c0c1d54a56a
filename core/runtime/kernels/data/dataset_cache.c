/*
 * Cache: the first iterator that comes to the end leaves its elements with the dataset, and later
 * ones give these. The cache ends with the dataset, so with the run.
 */
#include "runtime/kernels/data/dataset.h"

struct cache {
    struct tensors elements; /* one after the other */
    bool is_complete;
};

struct cache_walk {
    struct tensors elements; /* so far, while the input is read */
    int64_t at;              /* in the cache, once it is complete */
    bool reads_cache;
};

static struct status cache_check(struct kernel_context *k, struct run_dataset *dataset)
{
    const struct tensor *name = &dataset->inputs[1];
    if (name->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "filename must be a scalar");
    if (tensor_strings(name)[0].size == 0)
        return status_ok();
    return kernel_error(k, STATUS_UNIMPLEMENTED, "a cache in a file is not implemented");
}

static void cache_close(struct run_dataset *dataset)
{
    tensors_finish(&((struct cache *)dataset->state)->elements);
}

static struct status cache_begin(struct kernel_context *k, struct iterator *iterator)
{
    (void)k;
    const struct cache *cache = iterator->dataset->state;
    ((struct cache_walk *)iterator->state)->reads_cache = cache->is_complete;
    return status_ok();
}

static void cache_complete(struct cache *cache, struct cache_walk *walk)
{
    if (cache->is_complete)
        return;
    cache->elements = walk->elements;
    cache->is_complete = true;
    walk->elements = (struct tensors){ 0 };
}

static struct status cache_next(struct kernel_context *k, struct iterator *iterator,
                                struct tensor *element, bool *end)
{
    struct cache *cache = iterator->dataset->state;
    struct cache_walk *walk = iterator->state;
    int width = iterator->dataset->count;
    if (walk->reads_cache) {
        *end = walk->at >= cache->elements.count;
        if (!*end)
            tensors_acquire(width, cache->elements.at + walk->at, element);
        walk->at += width;
        return status_ok();
    }
    TRY(tensors_reserve(k, &walk->elements, width));
    TRY(iterator_pull(k, iterator, end));
    if (*end) {
        cache_complete(cache, walk);
        return status_ok();
    }
    tensors_acquire(width, iterator->element, element);
    tensors_append(&walk->elements, width, iterator->element);
    return status_ok();
}

static void cache_finish(struct iterator *iterator)
{
    tensors_finish(&((struct cache_walk *)iterator->state)->elements);
}

static int64_t cache_cardinality(const struct run_dataset *dataset)
{
    return dataset_input(dataset, 0)->cardinality;
}

/* The handle of a cache that TensorFlow's datasets share by name; here each has its own. */
static struct status handle_compute(struct kernel_context *k)
{
    struct shape scalar = shape_scalar();
    struct tensor *out;
    for (int i = 0; i < kernel_outputs_count(k); i++)
        TRY(kernel_output(k, i, &scalar, &out));
    return status_ok();
}

#define CACHE(name)                                                                                \
    DATASET(name, cache_check, cache_next, .begin = cache_begin, .finish = cache_finish,           \
            .close = cache_close, .same_width = true, .iterator_bytes = sizeof(struct cache_walk), \
            .dataset_bytes = sizeof(struct cache), .cardinality = cache_cardinality)
static const struct kernel rows[] = {
    CACHE("CacheDataset"),
    CACHE("CacheDatasetV2"),
    { "DummyMemoryCache", DTYPES_ALL, .compute = handle_compute },
};
const struct kernel_table kernels_dataset_cache = { rows, COUNT(rows) };
