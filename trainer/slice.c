#include "trainer/slice.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"

#define ALIGNMENT 64

static void *aligned(size_t size_bytes)
{
    void *data;

    if (posix_memalign(&data, ALIGNMENT, size_bytes > 0 ? size_bytes : 1) != 0) {
        fprintf(stderr, "out of memory: %zu bytes\n", size_bytes);
        abort();
    }
    return data;
}

static struct values *values_create(struct slice *slice, void *data)
{
    struct values *values = zalloc(sizeof *values);

    atomic_init(&values->references, 1);
    values->slice = slice;
    values->borrowed = data != NULL;
    values->data = data != NULL ? data : aligned(slice->size_bytes);
    return values;
}

static void values_destroy(struct values *values)
{
    if (values == NULL)
        return;
    if (!values->borrowed)
        free(values->data);
    free(values);
}

void values_release(struct values *values)
{
    if (atomic_fetch_sub_explicit(&values->references, 1, memory_order_acq_rel) != 1)
        return;
    values_destroy(atomic_exchange(&values->slice->spare, values));
}

void slice_init(struct slice *slice, int id, size_t size_bytes, bool trainable, void *data,
                const struct optimizer *optimizer, const float *settings)
{
    *slice = (struct slice){ .id = id, .trainable = trainable, .size_bytes = size_bytes };
    pthread_mutex_init(&slice->lock, NULL);
    slice->current = values_create(slice, data);
    if (!trainable)
        return;
    size_t count = size_bytes / sizeof(float);
    for (int s = 0; s < optimizer->slots_count; s++) {
        float initial = optimizer_initial(settings, optimizer->slots[s].initial_setting);
        slice->slots[s] = aligned(size_bytes);
        for (size_t i = 0; i < count; i++)
            slice->slots[s][i] = initial;
    }
    for (int s = 0; s < optimizer->scalars_count; s++)
        slice->scalars[s] = optimizer_initial(settings, optimizer->scalar_settings[s]);
}

void slice_finish(struct slice *slice)
{
    assert(atomic_load(&slice->current->references) == 1);
    values_destroy(slice->current);
    values_destroy(atomic_load(&slice->spare));
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        free(slice->slots[s]);
    pthread_mutex_destroy(&slice->lock);
}

struct values *slice_acquire(struct slice *slice)
{
    pthread_mutex_lock(&slice->lock);
    struct values *values = slice->current;
    atomic_fetch_add_explicit(&values->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(&slice->lock);
    return values;
}

/* Where the next values go: the current ones when nobody else has them (only under the lock can one
 * get them). */
static struct values *writable(struct slice *slice)
{
    if (atomic_load_explicit(&slice->current->references, memory_order_acquire) == 1)
        return slice->current;
    struct values *spare = atomic_exchange(&slice->spare, NULL);
    if (spare == NULL)
        return values_create(slice, NULL);
    atomic_store(&spare->references, 1);
    return spare;
}

void slice_apply(struct slice *slice, const struct optimizer *optimizer, float rate,
                 const float *settings, const float *g)
{
    pthread_mutex_lock(&slice->lock);
    struct values *old = slice->current, *next = writable(slice);
    struct optimizer_step step = { .rate = rate,
                                   .settings = settings,
                                   .scalars = slice->scalars,
                                   .w = old->data,
                                   .out = next->data,
                                   .g = g,
                                   .count = slice->size_bytes / sizeof(float) };
    memcpy(step.slots, slice->slots, sizeof step.slots);
    optimizer->apply(&step);
    slice->current = next;
    pthread_mutex_unlock(&slice->lock);
    if (next != old)
        values_release(old);
}
