#include "trainer/ps/apply.h"

#include <stdint.h>
#include <stdlib.h>

#include "trainer/ps/row_work.h"
#include "trainer/ps/whole.h"

/* Reads the gradients of one push, slice by slice in ascending order. No slice spans two chunks. */
struct push_reader {
    const struct push *chunk;
    struct payload_cursor payload; /* in that chunk */
    struct row_ids_reader ids;     /* in that chunk */
    struct slice_rows rows;        /* rows of the slice that was read last */
    struct slice_keys keys;        /* the same for one with keys */
    size_t next_list;              /* of keys, in that chunk */
    float *scratch;                /* on the heap */
    size_t scratch_bytes;
};

static void begin_chunk(struct push_reader *reader, const struct push *chunk)
{
    reader->chunk = chunk;
    reader->payload = (struct payload_cursor){ .message = &chunk->waiting.request };
    row_list_read(&chunk->rows, &reader->ids);
    reader->next_list = 0;
}

static void push_reader_init(struct push_reader *reader, const struct push *push)
{
    *reader = (struct push_reader){ 0 };
    begin_chunk(reader, push);
}

static void push_reader_finish(struct push_reader *reader)
{
    free(reader->rows.rows);
    free(reader->keys.keys);
    free(reader->scratch);
}

static void find_chunk_of(struct push_reader *reader, const struct slice *slice)
{
    while ((uint32_t)slice->id >= reader->chunk->range.end) {
        assert(reader->chunk->waiting.next != NULL);
        begin_chunk(reader, (const struct push *)reader->chunk->waiting.next);
    }
}

/* The next floats: in place if they are contiguous and aligned, otherwise in `scratch`. */
static const float *read_floats(struct push_reader *reader, size_t size_bytes)
{
    const void *data = payload_borrow(&reader->payload, size_bytes);

    if (data != NULL && (uintptr_t)data % _Alignof(float) == 0)
        return data;
    if (size_bytes > reader->scratch_bytes) {
        reader->scratch = xrealloc(reader->scratch, size_bytes);
        reader->scratch_bytes = size_bytes;
    }
    if (data != NULL)
        memcpy(reader->scratch, data, size_bytes);
    else
        payload_copy(&reader->payload, reader->scratch, size_bytes);
    return reader->scratch;
}

/* The gradient of a slice without rows. */
static const float *push_read(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    return read_floats(reader, slice->size_bytes);
}

/* Schedules the update of a slice's rows by the next gradient. */
static void push_add_rows(struct push_reader *reader, struct slice *slice, struct row_work *work)
{
    find_chunk_of(reader, slice);
    struct row_item *item = row_work_add(work, slice, &reader->ids);
    item->g = read_floats(reader, item->count * slice->row_bytes);
    if (item->g == reader->scratch)
        row_work_run(work); /* the next gradient may overwrite it */
}

/* The gradient of a slice with rows, valid until the next one is read. */
static struct rows_gradient push_read_rows(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    slice_rows_take(&reader->rows, slice, &reader->ids);
    return (struct rows_gradient){ .rows = reader->rows.rows,
                                   .g = read_floats(reader, reader->rows.count * slice->row_bytes),
                                   .count = reader->rows.count };
}

/* The gradient of a slice with keys, which it puts into reader->keys. */
static const float *push_read_keys(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    reader->keys.count = 0;
    if (reader->next_list < reader->chunk->keys.count)
        slice_keys_take(&reader->keys, &reader->chunk->keys.lists[reader->next_list++]);
    return read_floats(reader, reader->keys.count * slice->row_bytes);
}

/* The state of an update. If the optimizer measures or takes whole variables, the slices of a
 * variable are measured or collected one by one, and updated after the last one. */
struct applying {
    const struct variables *variables;
    struct slice_update updates[OPTIMIZERS_MAX]; /* of each rule */
    bool skips;   /* the gradients are not finite: only averages change */
    float *zeros; /* as many as the largest slice with rows has; NULL: not needed */
    int first;    /* index of the variable's first slice */
    struct optimizer_norms norms;
    struct whole_update whole;
};

/* The schedule applies to rule 0. */
static float rate_of(const struct variables *variables, int rule, float scheduled)
{
    const struct training_rule *own = &variables->training.rules[rule];

    return rule == 0 ? scheduled : own->ratio > 0 ? scheduled * own->ratio : own->rate;
}

/* push: the first of an update. */
static void apply_keys_to(const struct variables *variables, const struct slice *slice,
                          const struct push *push, const int64_t *keys,
                          const struct rows_gradient *gradient)
{
    const struct key_update update = { .keys = keys,
                                       .g = gradient->g,
                                       .count = gradient->count,
                                       .rate = rate_of(variables, slice->rule, push->rate),
                                       .step = push->step,
                                       .keep_before = variables->keep_before };

    if (push->skips)
        key_table_skip(slice->table, variables->keep_before);
    else
        key_table_apply(slice->table, &update);
}

/* Does an update by this rule also change the rows without a gradient? */
static bool changes_all_rows(const struct training_rule *rule)
{
    return rule->all_rows || !rule->optimizer->row_local;
}

static float *make_zeros(const struct variables *variables)
{
    const struct training *training = &variables->training;
    bool needed = false;

    for (int r = 0; r < training->rules_count; r++)
        needed |= changes_all_rows(&training->rules[r]);
    return needed && variables->rows_largest_bytes > 0 ? zalloc(variables->rows_largest_bytes)
                                                       : NULL;
}

static bool joins_slices(const struct variables *variables)
{
    bool found = false;

    for (int r = 0; r < variables->training.rules_count; r++)
        found |= optimizer_joins_pieces(variables->training.rules[r].optimizer);
    return found;
}

/* pushes: those of the update. */
static void applying_init(struct applying *applying, struct variables *variables,
                          const struct push *pushes)
{
    const struct training *training = &variables->training;

    *applying = (struct applying){ .variables = variables,
                                   .zeros = make_zeros(variables),
                                   .skips = pushes->skips };
    for (int r = 0; r < training->rules_count; r++)
        applying->updates[r] = (struct slice_update){ .optimizer = training->rules[r].optimizer,
                                                      .settings = training->rules[r].settings,
                                                      .rate = rate_of(variables, r, pushes->rate),
                                                      .keep_before = variables->keep_before };
    /* Between the two halves of an update, the slots must not change. */
    if (joins_slices(variables))
        pthread_mutex_lock(&variables->measuring);
}

static void applying_finish(struct applying *applying, struct variables *variables)
{
    if (joins_slices(variables))
        pthread_mutex_unlock(&variables->measuring);
    free(applying->zeros);
    whole_finish(&applying->whole);
}

static bool continues(const struct variables *variables, int i)
{
    return i < variables->slices_count && variables->slices[i].continues;
}

/* Begins and ends a variable around its slices. */
static void begin_variable(struct applying *applying, int i)
{
    if (continues(applying->variables, i))
        return;
    applying->first = i;
    applying->norms = (struct optimizer_norms){ 0 };
}

static void end_variable(struct applying *applying, int i)
{
    struct slice_update *update = &applying->updates[applying->variables->slices[i].rule];

    if (continues(applying->variables, i + 1))
        return;
    struct slice *first = &applying->variables->slices[applying->first];
    if (update->optimizer->whole != NULL) {
        whole_apply(&applying->whole, first, i + 1 - applying->first, update);
        return;
    }
    update->ratio = optimizer_ratio(&applying->norms);
    for (int k = applying->first; k <= i; k++)
        slice_apply(&applying->variables->slices[k], update, NULL);
}

static void apply_to(struct applying *applying, int i, const float *gradient)
{
    struct slice *slice = &applying->variables->slices[i];
    const struct slice_update *update = &applying->updates[slice->rule];

    if (slice->averaged) {
        const struct slice_update average = { &optimizer_average, slice->averaging,
                                              .keep_before = update->keep_before };
        slice_apply(slice, &average, gradient);
        return;
    }
    if (applying->skips) {
        slice_skip(slice, update->keep_before);
        return;
    }
    if (!optimizer_joins_pieces(update->optimizer)) {
        slice_apply(slice, update, gradient);
        return;
    }
    begin_variable(applying, i);
    if (update->optimizer->whole != NULL)
        whole_add(&applying->whole, slice, update, gradient);
    else
        slice_measure(slice, update, gradient, &applying->norms);
    end_variable(applying, i);
}

static void apply_rows_to(struct applying *applying, int i, const struct rows_gradient *gradient)
{
    struct slice *slice = &applying->variables->slices[i];
    const struct slice_update *update = &applying->updates[slice->rule];
    bool all = changes_all_rows(&applying->variables->training.rules[slice->rule]);

    if (applying->skips) {
        slice_skip(slice, update->keep_before);
        return;
    }
    if (!optimizer_joins_pieces(update->optimizer)) {
        slice_apply_rows(slice, update, gradient, all ? applying->zeros : NULL);
        return;
    }
    begin_variable(applying, i);
    if (update->optimizer->whole != NULL)
        whole_add_rows(&applying->whole, slice, update, gradient);
    else
        slice_measure_rows(slice, update, gradient, applying->zeros, &applying->norms);
    end_variable(applying, i);
}

/* Is an update of the slice independent of those of other slices? */
static bool is_alone(const struct applying *applying, const struct slice *slice)
{
    const struct training_rule *rule = &applying->variables->training.rules[slice->rule];

    return !applying->skips && !optimizer_joins_pieces(rule->optimizer) && !changes_all_rows(rule);
}

static void update_rows(void *context, const struct row_item *item, const uint32_t *rows)
{
    const struct applying *applying = context;

    slice_apply_rows(item->slice, &applying->updates[item->slice->rule],
                     &(struct rows_gradient){ rows, item->g, item->count }, NULL);
}

static void apply_one(struct variables *variables, const struct push *push)
{
    struct push_reader reader;
    struct applying applying;
    struct row_work work = { .body = update_rows,
                             .context = &applying,
                             .parts = 1 + variables->training.rules[0].optimizer->slots_count };

    applying_init(&applying, variables, push);
    push_reader_init(&reader, push);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->table != NULL) {
            struct rows_gradient gradient = { .g = push_read_keys(&reader, slice),
                                              .count = reader.keys.count };
            apply_keys_to(variables, slice, push, reader.keys.keys, &gradient);
        } else if (slice->trainable && slice->row_bytes > 0 && is_alone(&applying, slice)) {
            push_add_rows(&reader, slice, &work);
        } else if (slice->trainable && slice->row_bytes > 0) {
            struct rows_gradient gradient = push_read_rows(&reader, slice);
            apply_rows_to(&applying, i, &gradient);
        } else if (slice_is_pushed(slice)) {
            apply_to(&applying, i, push_read(&reader, slice));
        }
    }
    row_work_run(&work);
    row_work_finish(&work);
    push_reader_finish(&reader);
    applying_finish(&applying, variables);
}

/* ---- A synchronous step. ---- */

/* The pushes of all workers for one step. */
struct step_reader {
    int count;                   /* of workers */
    struct push_reader *readers; /* [count], like the following fields */
    const float **gradients;
    struct rows_gradient *rows_gradients;
    size_t *next; /* the next row of each */
};

static void step_reader_init(struct step_reader *step, const struct push *pushes)
{
    *step = (struct step_reader){ 0 };
    for (const struct push *push = pushes; push != NULL; push = push->next_push)
        step->count++;
    size_t count = (size_t)step->count;
    step->readers = zalloc(count * sizeof *step->readers);
    step->gradients = zalloc(count * sizeof *step->gradients);
    step->rows_gradients = zalloc(count * sizeof *step->rows_gradients);
    step->next = zalloc(count * sizeof *step->next);
    for (int w = 0; w < step->count; w++, pushes = pushes->next_push)
        push_reader_init(&step->readers[w], pushes);
}

static void step_reader_finish(struct step_reader *step)
{
    for (int w = 0; w < step->count; w++)
        push_reader_finish(&step->readers[w]);
    free(step->readers);
    free(step->gradients);
    free(step->rows_gradients);
    free(step->next);
}

/* Reads a slice of each push. Returns the total number of rows. */
static size_t read_all_rows(struct step_reader *step, const struct slice *slice)
{
    size_t total = 0;

    for (int w = 0; w < step->count; w++) {
        step->rows_gradients[w] = push_read_rows(&step->readers[w], slice);
        step->next[w] = 0;
        total += step->rows_gradients[w].count;
    }
    return total;
}

/* The first row that has not been taken. Returns false when all have been. */
static bool first_row_left(const struct step_reader *step, uint32_t *row)
{
    bool left = false;

    for (int w = 0; w < step->count; w++) {
        const struct rows_gradient *gradient = &step->rows_gradients[w];
        if (step->next[w] < gradient->count && (!left || gradient->rows[step->next[w]] < *row)) {
            *row = gradient->rows[step->next[w]];
            left = true;
        }
    }
    return left;
}

/* Takes a row from the pushes that have it. Returns their number, and puts its gradients in the
 * order of workers into step->gradients. */
static int take_row(struct step_reader *step, uint32_t row, size_t row_floats)
{
    int count = 0;

    for (int w = 0; w < step->count; w++) {
        const struct rows_gradient *gradient = &step->rows_gradients[w];
        if (step->next[w] < gradient->count && gradient->rows[step->next[w]] == row)
            step->gradients[count++] = gradient->g + step->next[w]++ * row_floats;
    }
    return count;
}

/* The gradient of a step for a slice with rows, on the heap. */
struct rows_mean {
    uint32_t *rows;
    float *g;
    size_t capacity; /* of floats */
};

static void make_room(struct rows_mean *mean, size_t floats)
{
    if (floats <= mean->capacity)
        return;
    mean->capacity = floats;
    mean->rows = xrealloc(mean->rows, floats * sizeof *mean->rows);
    mean->g = xrealloc(mean->g, floats * sizeof *mean->g);
}

/* ---- The keys of a step. ---- */

/* The distinct keys of all pushes, on the heap. A push's keys become row numbers in this list,
 * so that the mean is computed as for rows. */
struct step_keys {
    int64_t *keys;  /* ascending */
    uint32_t *rows; /* of all pushes, concatenated */
    size_t capacity;
};

static bool first_key_left(const struct step_reader *step, int64_t *key)
{
    bool left = false;

    for (int w = 0; w < step->count; w++) {
        const struct slice_keys *keys = &step->readers[w].keys;
        if (step->next[w] < keys->count && (!left || keys->keys[step->next[w]] < *key)) {
            *key = keys->keys[step->next[w]];
            left = true;
        }
    }
    return left;
}

/* Reads a slice of each push. Returns the total number of keys. */
static size_t read_all_keys(struct step_reader *step, const struct slice *slice)
{
    size_t total = 0;

    for (int w = 0; w < step->count; w++) {
        step->rows_gradients[w] =
            (struct rows_gradient){ .g = push_read_keys(&step->readers[w], slice) };
        step->rows_gradients[w].count = step->readers[w].keys.count;
        step->next[w] = 0;
        total += step->rows_gradients[w].count;
    }
    return total;
}

/* Numbers the keys of all pushes. */
static void number_keys(struct step_reader *step, size_t total, struct step_keys *out)
{
    uint32_t *rows, number = 0;
    int64_t key = 0;

    if (total > out->capacity) {
        out->capacity = total;
        out->keys = xrealloc(out->keys, total * sizeof *out->keys);
        out->rows = xrealloc(out->rows, total * sizeof *out->rows);
    }
    rows = out->rows;
    for (int w = 0; w < step->count; rows += step->rows_gradients[w++].count)
        step->rows_gradients[w].rows = rows;
    for (; first_key_left(step, &key); number++) {
        out->keys[number] = key;
        for (int w = 0; w < step->count; w++) {
            const struct slice_keys *keys = &step->readers[w].keys;
            if (step->next[w] < keys->count && keys->keys[step->next[w]] == key)
                ((uint32_t *)(uintptr_t)step->rows_gradients[w].rows)[step->next[w]++] = number;
        }
    }
    memset(step->next, 0, (size_t)step->count * sizeof *step->next);
}

/* Each row is the mean over the workers whose gradients have it, as in TensorFlow's
 * SparseConditionalAccumulator. */
static struct rows_gradient mean_of_rows(struct step_reader *step, const struct slice *slice,
                                         size_t total, struct rows_mean *mean)
{
    size_t row_floats = slice->row_bytes / sizeof(float), count = 0;
    uint32_t row = 0;

    make_room(mean, total * row_floats);
    for (; first_row_left(step, &row); count++) {
        float *out = mean->g + count * row_floats;
        int having = take_row(step, row, row_floats);
        mean->rows[count] = row;
        if (having == 1)
            memcpy(out, step->gradients[0], slice->row_bytes);
        else
            optimizer_mean(step->gradients, having, out, row_floats);
    }
    return (struct rows_gradient){ mean->rows, mean->g, count };
}

/* Updates a slice with the mean of the pushes that have each key. */
static void apply_mean_of_keys(const struct variables *variables, const struct slice *slice,
                               const struct push *pushes, struct step_reader *step,
                               struct rows_mean *mean)
{
    struct step_keys keys = { 0 };
    size_t total = read_all_keys(step, slice);

    number_keys(step, total, &keys);
    struct rows_gradient gradient = mean_of_rows(step, slice, total, mean);
    apply_keys_to(variables, slice, pushes, keys.keys, &gradient);
    free(keys.keys);
    free(keys.rows);
}

/* The mean of all workers' gradients, summed in the order of workers. */
static void apply_mean(struct variables *variables, const struct push *pushes)
{
    struct rows_mean mean = { 0 };
    struct applying applying;
    struct step_reader step;

    applying_init(&applying, variables, pushes);
    step_reader_init(&step, pushes);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->table != NULL) {
            apply_mean_of_keys(variables, slice, pushes, &step, &mean);
        } else if (slice->trainable && slice->row_bytes > 0) {
            size_t total = read_all_rows(&step, slice);
            struct rows_gradient gradient = mean_of_rows(&step, slice, total, &mean);
            apply_rows_to(&applying, i, &gradient);
        } else if (slice_is_pushed(slice)) {
            for (int w = 0; w < step.count; w++)
                step.gradients[w] = push_read(&step.readers[w], slice);
            optimizer_mean(step.gradients, step.count, variables->sum,
                           slice->size_bytes / sizeof(float));
            apply_to(&applying, i, variables->sum);
        }
    }
    step_reader_finish(&step);
    applying_finish(&applying, variables);
    free(mean.rows);
    free(mean.g);
}

void push_apply(struct variables *variables, const struct push *pushes)
{
    if (pushes->next_push == NULL)
        apply_one(variables, pushes);
    else
        apply_mean(variables, pushes);
}
