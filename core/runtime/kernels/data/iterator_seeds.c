#include "runtime/kernels/data/iterator_seeds.h"

#include "runtime/kernels/kernel_tools.h"

struct seed_generator {
    struct object object;
    struct tensor self;
    struct iterator_seeds seeds;
};

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

bool iterator_seeds_are_shared(const struct run_dataset *dataset)
{
    return find_generator(dataset) != NULL;
}

struct status iterator_seeds_check(struct kernel_context *k, const struct run_dataset *dataset,
                                   int first)
{
    TRY(dataset_check_number(k, dataset, first, "seed", INT64_MIN));
    return dataset_check_number(k, dataset, first + 1, "seed2", INT64_MIN);
}

static void set_seeds(struct kernel_context *k, struct iterator_seeds *seeds, int64_t seed,
                      int64_t seed2, bool renews)
{
    bool is_random = seed == 0 && seed2 == 0;
    seeds->seed = is_random ? kernel_random_seed(k) : (uint64_t)seed;
    seeds->seed2 = is_random ? kernel_random_seed(k) : (uint64_t)seed2;
    seeds->renews = renews;
    seeds->next.philox = philox_of_key(seeds->seed, 0, seeds->seed2);
    seeds->is_ready = true;
}

struct philox iterator_seeds_take(struct kernel_context *k, struct run_dataset *dataset, int first,
                                  bool renews)
{
    struct seed_generator *generator = find_generator(dataset);
    struct iterator_seeds *seeds = generator != NULL ? &generator->seeds : dataset->state;
    if (!seeds->is_ready)
        set_seeds(k, seeds, dataset_number(dataset, first), dataset_number(dataset, first + 1),
                  renews);
    if (!seeds->renews)
        return philox_of_key(seeds->seed, 0, seeds->seed2);
    uint64_t seed = philox_next(&seeds->next);
    return philox_of_key(seed, 0, philox_next(&seeds->next));
}

/* DummySeedGenerator: the handle of a generator that belongs to one dataset, and needs no name
 * here. */
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

static const struct kernel rows[] = {
    { "DummySeedGenerator", DTYPES_ALL, .compute = dummy_compute },
    { "AnonymousSeedGenerator", DTYPES_ALL, .compute = generator_compute },
    { "DeleteSeedGenerator", DTYPES_ALL, .compute = delete_compute },
};
const struct kernel_table kernels_iterator_seeds = { rows, COUNT(rows) };
