/* UniqueDataset: the elements that differ from all before them, found by a hash of their bytes. */
#include <string.h>

#include "base/fingerprint.h"
#include "runtime/kernels/data/dataset.h"
#include "runtime/kernels/kernel_tools.h"

struct unique_elements {
    struct tensors seen;
    int64_t *places; /* [places_count], a power of two: 1 + the index of an element seen, or 0 */
    int64_t places_count;
    struct tensor memory; /* of the places */
    uint64_t secret[2];   /* of the hash, because strangers choose the elements */
};

static struct status unique_check(struct kernel_context *k, struct run_dataset *dataset)
{
    if (dataset->count != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "UniqueDataset only supports inputs with a single component.");
    enum dtype dtype = dataset->shape->dtypes[0];
    if (dtype == DT_INT32 || dtype == DT_INT64 || dtype == DT_STRING)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, "
                        "or `tf.string` component.");
}

static uint64_t hash_element(const struct unique_elements *unique, const struct tensor *element)
{
    uint64_t pair[2] = { 0 };
    if (element->dtype != DT_STRING)
        return siphash64(unique->secret, (struct bytes){ element->data, tensor_bytes(element) });
    for (int64_t i = 0; i < element->size; i++) {
        pair[1] = siphash64(unique->secret, tensor_strings(element)[i]);
        pair[0] = siphash64(unique->secret, (struct bytes){ (const char *)pair, sizeof pair });
    }
    return pair[0];
}

static struct status unique_begin(struct kernel_context *k, struct iterator *iterator)
{
    struct unique_elements *unique = iterator->state;
    (void)k;
    fingerprint_secret(unique->secret);
    return status_ok();
}

/* The place of an equal element, or a free one. */
static int64_t *find_place(const struct unique_elements *unique, const struct tensor *element)
{
    uint64_t mask = (uint64_t)unique->places_count - 1, at = hash_element(unique, element) & mask;
    while (unique->places[at] != 0 &&
           !tensor_equal(&unique->seen.at[unique->places[at] - 1], element))
        at = (at + 1) & mask;
    return &unique->places[at];
}

/* Keeps half of the places free. */
static struct status reserve_places(struct kernel_context *k, struct unique_elements *unique)
{
    if (2 * (unique->seen.count + 1) <= unique->places_count)
        return status_ok();
    int64_t count = unique->places_count > 0 ? 2 * unique->places_count : 16;
    TRY(kernel_scratch_reserve(k, &unique->memory, 0, count, sizeof *unique->places));
    unique->places = unique->memory.data;
    memset(unique->places, 0, (size_t)count * sizeof *unique->places);
    unique->places_count = count;
    for (int64_t i = 0; i < unique->seen.count; i++)
        *find_place(unique, &unique->seen.at[i]) = i + 1;
    return status_ok();
}

static struct status unique_next(struct kernel_context *k, struct iterator *iterator,
                                 struct tensor *element, bool *end)
{
    struct unique_elements *unique = iterator->state;
    for (;;) {
        TRY(reserve_places(k, unique));
        TRY(tensors_reserve(k, &unique->seen, 1));
        TRY(iterator_next(k, iterator->input, element, end));
        if (*end)
            return status_ok();
        int64_t *place = find_place(unique, element);
        if (*place == 0) {
            unique->seen.at[unique->seen.count++] = tensor_acquire(element);
            *place = unique->seen.count;
            return status_ok();
        }
        tensor_release(element);
    }
}

static void unique_finish(struct iterator *iterator)
{
    struct unique_elements *unique = iterator->state;
    tensors_finish(&unique->seen);
    tensor_release(&unique->memory);
}

static const struct kernel rows[] = {
    DATASET("UniqueDataset", unique_check, unique_next, .begin = unique_begin,
            .finish = unique_finish, .same_width = true,
            .iterator_bytes = sizeof(struct unique_elements)),
};
const struct kernel_table kernels_dataset_unique = { rows, COUNT(rows) };
