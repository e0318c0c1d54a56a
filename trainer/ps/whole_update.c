#include "trainer/ps/whole_update.h"

#include <stdlib.h>
#include <string.h>

static void make_room(struct whole_update *whole, size_t count)
{
    if (count <= whole->capacity)
        return;
    whole->capacity = count;
    whole->g = xrealloc(whole->g, count * sizeof *whole->g);
    whole->w = xrealloc(whole->w, count * sizeof *whole->w);
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        whole->slots[s] = xrealloc(whole->slots[s], count * sizeof *whole->slots[s]);
}

/* Appends the values and slots of a slice. Returns the place for its gradient. */
static float *add(struct whole_update *whole, struct slice *slice,
                  const struct slice_update *update)
{
    size_t first = whole->count, count = slice->size_bytes / sizeof(float);

    if (first == 0)
        whole->shape = slice->shape;
    else
        whole->shape.dims[0] += slice->shape.dims[0];
    make_room(whole, first + count);
    whole->count += count;
    pthread_mutex_lock(&slice->lock);
    memcpy(whole->w + first, slice->now.parts[0]->data, slice->size_bytes);
    for (int s = 0; s < update->optimizer->slots_count; s++)
        memcpy(whole->slots[s] + first, slice->now.parts[1 + s]->data, slice->size_bytes);
    pthread_mutex_unlock(&slice->lock);
    return whole->g + first;
}

void whole_update_add(struct whole_update *whole, struct slice *slice,
                      const struct slice_update *update, const float *g)
{
    memcpy(add(whole, slice, update), g, slice->size_bytes);
}

void whole_update_add_rows(struct whole_update *whole, struct slice *slice,
                           const struct slice_update *update, const struct rows_gradient *gradient)
{
    float *g = add(whole, slice, update);
    size_t row = slice->row_bytes / sizeof *g;

    memset(g, 0, slice->size_bytes);
    for (size_t i = 0; i < gradient->count; i++)
        memcpy(g + gradient->rows[i] * row, gradient->g + i * row, slice->row_bytes);
}

/* Gives a slice its new slots, and then passes its new values as the gradient of `apply`. */
static void give_back(const struct whole_update *whole, struct slice *slice, size_t first,
                      const struct slice_update *update)
{
    pthread_mutex_lock(&slice->lock);
    for (int s = 0; s < update->optimizer->slots_count; s++)
        memcpy(slice_writable(slice, 1 + s), whole->slots[s] + first, slice->size_bytes);
    pthread_mutex_unlock(&slice->lock);
    slice_apply(slice, update, whole->w + first);
}

void whole_update_apply(struct whole_update *whole, struct slice *slices, int count,
                        const struct slice_update *update)
{
    struct optimizer_step step = { .rate = update->rate,
                                   .settings = update->settings,
                                   .scalars = slices[0].now.scalars,
                                   .w = whole->w,
                                   .g = whole->g,
                                   .out = whole->w,
                                   .count = whole->count };
    size_t first = 0;

    memcpy(step.slots, whole->slots, sizeof step.slots);
    update->optimizer->whole(&step, &whole->shape);
    for (int i = 0; i < count; first += slices[i++].size_bytes / sizeof(float))
        give_back(whole, &slices[i], first, update);
    whole->count = 0;
}

void whole_update_finish(struct whole_update *whole)
{
    free(whole->g);
    free(whole->w);
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        free(whole->slots[s]);
}
