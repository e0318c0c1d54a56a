#include "trainer/ps/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/memory.h"
#include "tensor/spectral.h"
#include "trainer/optimizers/average.h"

static void *allocate(size_t size_bytes)
{
    void *data = memory_alloc_table(size_bytes);

    if (data == NULL) {
        fprintf(stderr, "out of memory: %zu bytes\n", size_bytes);
        abort();
    }
    return data;
}

/* data: lent; for MEMORY_OWN, the buffer allocates size_bytes. */
static struct values_buffer *values_buffer_create(struct spare_buffers *home,
                                                  enum buffer_memory memory, size_t size_bytes,
                                                  void *data)
{
    struct values_buffer *values = zalloc(sizeof *values);

    atomic_init(&values->references, 1);
    values->home = home;
    values->memory = memory;
    values->data = memory == MEMORY_OWN ? allocate(size_bytes) : data;
    return values;
}

static void values_buffer_destroy(struct values_buffer *values)
{
    if (values == NULL)
        return;
    if (values->memory == MEMORY_OWN)
        free(values->data);
    free(values);
}

static bool has_lent(const struct spare_buffers *spares)
{
    return atomic_load(&spares->of[MEMORY_FIRST]) != NULL ||
           atomic_load(&spares->of[MEMORY_COPY]) != NULL;
}

void values_buffer_release(struct values_buffer *values)
{
    struct spare_buffers *home = values->home;

    if (atomic_fetch_sub_explicit(&values->references, 1, memory_order_acq_rel) != 1)
        return;
    values_buffer_destroy(atomic_exchange(&home->of[values->memory], values));
    if (has_lent(home))
        values_buffer_destroy(atomic_exchange(&home->of[MEMORY_OWN], NULL));
}

void slice_init(struct slice *slice, int id, size_t size_bytes, bool trainable, void *data)
{
    *slice = (struct slice){ .id = id, .trainable = trainable, .size_bytes = size_bytes };
    pthread_mutex_init(&slice->lock, NULL);
    slice->now.parts[0] = values_buffer_create(&slice->spares[0], MEMORY_FIRST, size_bytes, data);
}

void slice_lend(struct slice *slice, int part, void *data)
{
    assert(part > 0 && slice->now.parts[part] == NULL);
    slice->now.parts[part] =
        values_buffer_create(&slice->spares[part], MEMORY_FIRST, slice->size_bytes, data);
}

void slice_lend_spare(struct slice *slice, int part, void *data)
{
    struct spare_buffers *home = &slice->spares[part];

    assert(atomic_load(&home->of[MEMORY_COPY]) == NULL);
    atomic_store(&home->of[MEMORY_COPY],
                 values_buffer_create(home, MEMORY_COPY, slice->size_bytes, data));
    values_buffer_destroy(atomic_exchange(&home->of[MEMORY_OWN], NULL));
}

void slice_forget_before(struct slice *slice)
{
    if (slice->before != NULL)
        values_buffer_release(slice->before);
    slice->before = NULL;
    slice->undo.kept = false;
}

bool slice_is_pushed(const struct slice *slice)
{
    return slice->trainable || slice->averaged;
}

void slice_finish(struct slice *slice)
{
    slice_forget_before(slice);
    for (int part = 0; part < SLICE_PARTS_MAX; part++) {
        struct values_buffer *values = slice->now.parts[part];
        assert(values == NULL || atomic_load(&values->references) == 1);
        values_buffer_destroy(values);
        for (int memory = 0; memory < BUFFER_MEMORIES; memory++)
            values_buffer_destroy(atomic_load(&slice->spares[part].of[memory]));
    }
    if (slice->table != NULL)
        key_table_finish(slice->table);
    free(slice->table);
    free(slice->undo.rows);
    free(slice->undo.values);
    pthread_mutex_destroy(&slice->lock);
}

static struct values_buffer *one_more(struct values_buffer *values)
{
    atomic_fetch_add_explicit(&values->references, 1, memory_order_relaxed);
    return values;
}

struct values_buffer *slice_acquire(struct slice *slice)
{
    pthread_mutex_lock(&slice->lock);
    struct values_buffer *values = one_more(slice->now.parts[0]);
    pthread_mutex_unlock(&slice->lock);
    return values;
}

struct values_buffer *slice_acquire_before(struct slice *slice)
{
    pthread_mutex_lock(&slice->lock);
    struct values_buffer *before = slice_is_pushed(slice) ? slice->before : slice->now.parts[0];
    if (before != NULL)
        one_more(before);
    pthread_mutex_unlock(&slice->lock);
    return before;
}

void slice_hold(struct slice *slice, bool with_slots, struct slice_state *out)
{
    *out = (struct slice_state){ 0 };
    pthread_mutex_lock(&slice->lock);
    for (int part = 0; part < (with_slots ? SLICE_PARTS_MAX : 1); part++)
        if (slice->now.parts[part] != NULL)
            out->parts[part] = one_more(slice->now.parts[part]);
    memcpy(out->scalars, slice->now.scalars, sizeof out->scalars);
    pthread_mutex_unlock(&slice->lock);
}

void slice_let_go(struct slice_state *state)
{
    for (int part = 0; part < SLICE_PARTS_MAX; part++)
        if (state->parts[part] != NULL)
            values_buffer_release(state->parts[part]);
    *state = (struct slice_state){ 0 };
}

static bool is_shared(const struct values_buffer *values) /* can change from false to true only
                                                           * under the lock */
{
    return atomic_load_explicit(&values->references, memory_order_acquire) != 1;
}

/* Two snapshots had the lent memory, and it can be used again. */
static bool is_stopgap(const struct slice *slice, int part)
{
    return slice->now.parts[part]->memory == MEMORY_OWN &&
           atomic_load(&slice->spares[part].of[MEMORY_COPY]) != NULL;
}

/* Must an update write to another buffer? */
static bool is_replaced(const struct slice *slice, int part)
{
    return is_shared(slice->now.parts[part]) || is_stopgap(slice, part);
}

/* A replacement for the current buffer: a spare one, or a new one. */
static struct values_buffer *another(struct slice *slice, int part)
{
    struct spare_buffers *home = &slice->spares[part];

    for (int memory = 0; memory < BUFFER_MEMORIES; memory++) {
        struct values_buffer *spare = atomic_exchange(&home->of[memory], NULL);
        if (spare == NULL)
            continue;
        atomic_store(&spare->references, 1);
        return spare;
    }
    return values_buffer_create(home, MEMORY_OWN, slice->size_bytes, NULL);
}

/* Slots are changed in place, so a slot that a snapshot refers to is copied first. */
float *slice_writable(struct slice *slice, int part)
{
    struct values_buffer *old = slice->now.parts[part];

    if (is_replaced(slice, part)) {
        struct values_buffer *copy = another(slice, part);
        memcpy(copy->data, old->data, slice->size_bytes);
        slice->now.parts[part] = copy;
        values_buffer_release(old);
    }
    return slice->now.parts[part]->data;
}

/* A buffer for this part that may be overwritten completely. If the old one is shared, its other
 * holders keep it. */
static struct values_buffer *renewed(struct slice *slice, int part)
{
    struct values_buffer *values = slice->now.parts[part];

    if (values != NULL && !is_shared(values))
        return values;
    slice->now.parts[part] = another(slice, part);
    if (values != NULL)
        values_buffer_release(values);
    return slice->now.parts[part];
}

static void begin_slot(struct slice *slice, int part, float initial)
{
    float *elements = renewed(slice, part)->data;

    for (size_t i = 0; i < slice->size_bytes / sizeof(float); i++)
        elements[i] = initial;
}

void slice_begin(struct slice *slice, const struct optimizer *optimizer, const float *settings,
                 const float *scalars)
{
    int slots = slice->trainable ? optimizer->slots_count : 0;

    pthread_mutex_lock(&slice->lock);
    memset(slice->filled, 0, sizeof slice->filled);
    slice_forget_before(slice);
    renewed(slice, 0);
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++) {
        struct values_buffer **slot = &slice->now.parts[1 + s];
        if (s < slots) {
            begin_slot(slice, 1 + s,
                       optimizer_initial(settings, optimizer->slots[s].initial_setting));
        } else if (*slot != NULL) {
            values_buffer_release(*slot);
            *slot = NULL;
        }
    }
    for (int s = 0; s < optimizer->scalars_count; s++)
        slice->now.scalars[s] =
            scalars != NULL ? scalars[s]
                            : optimizer_initial(settings, optimizer->scalars[s].initial_setting);
    pthread_mutex_unlock(&slice->lock);
}

/* A late reader of the previous generation may hold the buffer; it keeps the values that it saw. */
static void fill_from(struct slice *slice, int part, size_t offset, const struct message *message)
{
    struct payload_cursor payload = { .message = message };
    struct values_buffer *old = slice->now.parts[part];

    if (is_shared(old)) {
        struct values_buffer *copy = another(slice, part);
        memcpy(copy->data, old->data, slice->filled[part]);
        slice->now.parts[part] = copy;
        values_buffer_release(old);
    }
    payload_copy(&payload, (char *)slice->now.parts[part]->data + offset,
                 message_payload_size(message));
}

struct status slice_fill(struct slice *slice, uint32_t part, uint64_t offset,
                         const struct message *message)
{
    size_t size = message_payload_size(message);

    if (part >= SLICE_PARTS_MAX || slice->now.parts[part] == NULL)
        return status_error(STATUS_NOT_FOUND,
                            "piece %d has no part %u: part 0 is the values, 1 and more are the "
                            "optimizer's slots",
                            slice->id, part);
    size_t filled = slice->filled[part];
    if (offset > filled || size > slice->size_bytes - offset)
        return status_error(STATUS_OUT_OF_RANGE,
                            "piece %d: %zu bytes came for offset %" PRIu64
                            ", but it has %zu bytes so far and ends at %zu",
                            slice->id, size, offset, filled, slice->size_bytes);
    if (offset + size <= filled)
        return status_ok();
    pthread_mutex_lock(&slice->lock);
    fill_from(slice, (int)part, offset, message);
    pthread_mutex_unlock(&slice->lock);
    slice->filled[part] = offset + size;
    return status_ok();
}

struct status slice_check_filled(const struct slice *slice)
{
    for (int part = 0; part < SLICE_PARTS_MAX; part++)
        if (slice->filled[part] != slice->size_bytes && (part == 0 || slice->filled[part] != 0))
            return status_error(STATUS_FAILED_PRECONDITION,
                                "piece %d: only %zu of the %zu bytes of part %d have come",
                                slice->id, slice->filled[part], slice->size_bytes, part);
    return status_ok();
}

/* Under the slice's lock. */
static struct optimizer_step step_of(struct slice *slice, const struct slice_update *update,
                                     const float *g)
{
    struct optimizer_step step = { .rate = update->rate,
                                   .ratio = update->ratio,
                                   .settings = update->settings,
                                   .scalars = slice->now.scalars,
                                   .w = slice->now.parts[0]->data,
                                   .g = g,
                                   .count = slice->size_bytes / sizeof(float) };

    for (int s = 0; s < update->optimizer->slots_count; s++)
        step.slots[s] = slice_writable(slice, 1 + s);
    return step;
}

void slice_measure(struct slice *slice, const struct slice_update *update, const float *g,
                   struct optimizer_norms *norms)
{
    pthread_mutex_lock(&slice->lock);
    struct optimizer_step step = step_of(slice, update, g);
    update->optimizer->measure(&step, norms);
    pthread_mutex_unlock(&slice->lock);
}

/* New values of a slice under construction. */
struct new_values {
    struct values_buffer *old, *next; /* the same buffer, if nobody needs the old values */
    struct values_buffer *vector;     /* of the division; NULL: not divided */
    const float *w;                   /* the values before the update */
};

/* Takes the slice's lock. */
static void begin_values(struct slice *slice, bool keep_before, struct new_values *out)
{
    out->vector = slice->power_iterations > 0 ? slice_acquire(slice + 1) : NULL;
    pthread_mutex_lock(&slice->lock);
    slice_forget_before(slice); /* its buffer becomes `next`, unless a reader still holds it */
    out->old = slice->now.parts[0];
    out->next = keep_before || is_replaced(slice, 0) ? another(slice, 0) : out->old;
    out->w = out->old->data;
    if (out->vector == NULL)
        return;
    spectral_divide(out->w, &slice->shape, out->vector->data, slice->power_iterations,
                    out->next->data);
    out->w = out->next->data;
}

static void end_values(struct slice *slice, bool keep_before, const struct new_values *values)
{
    slice->now.parts[0] = values->next;
    slice->before = keep_before ? values->old : NULL;
    pthread_mutex_unlock(&slice->lock);
    if (values->next != values->old && !keep_before)
        values_buffer_release(values->old);
    if (values->vector != NULL)
        values_buffer_release(values->vector);
}

void slice_apply(struct slice *slice, const struct slice_update *update, const float *g)
{
    struct new_values values;

    begin_values(slice, update->keep_before, &values);
    struct optimizer_step step = step_of(slice, update, g);
    step.w = values.w;
    step.out = values.next->data;
    optimizer_carry_average(update->optimizer, &step);
    update->optimizer->apply(&step);
    optimizer_keep_average(update->optimizer, &step);
    optimizer_advance(update->optimizer, update->settings, slice->now.scalars);
    constraint_apply(&slice->constraint, &slice->shape, values.next->data);
    end_values(slice, update->keep_before, &values);
}

/* Nothing changes, so the values before the step are the current ones. */
static void keep_present(struct slice *slice)
{
    if (slice->row_bytes == 0) {
        slice->before = one_more(slice->now.parts[0]);
        return;
    }
    slice->undo.count = 0;
    slice->undo.kept = true;
}

void slice_skip(struct slice *slice, bool keep_before)
{
    struct new_values values;

    if (slice->power_iterations > 0) {
        begin_values(slice, keep_before, &values);
        end_values(slice, keep_before, &values);
        return;
    }
    pthread_mutex_lock(&slice->lock);
    slice_forget_before(slice);
    if (keep_before)
        keep_present(slice);
    pthread_mutex_unlock(&slice->lock);
}
