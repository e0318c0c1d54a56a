/* Applies a push, or all pushes of a synchronous step, to the slices. */
#include <stdint.h>
#include <stdlib.h>

#include "trainer/ps/internal.h"

/* Reads the gradients of one push, slice by slice in ascending order. No slice is cut by the end of
 * a chunk. */
struct push_reader {
    const struct push *chunk;
    struct payload_cursor payload; /* in that chunk */
    struct row_ids_reader ids;     /* in that chunk */
    struct slice_rows rows;        /* of the slice that was read last */
    float *scratch;                /* on the heap */
    size_t scratch_bytes;
};

static void begin_chunk(struct push_reader *reader, const struct push *chunk)
{
    reader->chunk = chunk;
    reader->payload = (struct payload_cursor){ .message = &chunk->waiting.request };
    row_list_read(&chunk->rows, &reader->ids);
}

static void push_reader_init(struct push_reader *reader, const struct push *push)
{
    *reader = (struct push_reader){ 0 };
    begin_chunk(reader, push);
}

static void push_reader_finish(struct push_reader *reader)
{
    free(reader->rows.rows);
    free(reader->scratch);
}

static void find_chunk_of(struct push_reader *reader, const struct slice *slice)
{
    while ((uint32_t)slice->id >= reader->chunk->range.end) {
        assert(reader->chunk->waiting.next != NULL);
        begin_chunk(reader, (const struct push *)reader->chunk->waiting.next);
    }
}

/* The next floats: in place if they lie in one run and are aligned, otherwise in `scratch`. */
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

/* The gradient of a slice with rows, valid until the next one is read. */
static struct rows_gradient push_read_rows(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    slice_rows_take(&reader->rows, slice, &reader->ids);
    return (struct rows_gradient){ .rows = reader->rows.rows,
                                   .g = read_floats(reader, reader->rows.count * slice->row_bytes),
                                   .count = reader->rows.count };
}

static void apply_to(const struct variables *variables, struct slice *slice, float rate,
                     const float *gradient)
{
    const struct training *training = &variables->training;

    slice_apply(slice, training->optimizer, rate, training->settings, gradient,
                variables->keep_before);
}

/* zeros: as many as the largest slice with rows has, if the optimizer is not row-local. */
static void apply_rows_to(const struct variables *variables, struct slice *slice, float rate,
                          const struct rows_gradient *gradient, float *zeros)
{
    const struct training *training = &variables->training;

    slice_apply_rows(slice, training->optimizer, rate, training->settings, gradient, zeros,
                     variables->keep_before);
}

static float *make_zeros(const struct variables *variables)
{
    bool needed = variables->rows_largest_bytes > 0 && !variables->training.optimizer->row_local;

    return needed ? zalloc(variables->rows_largest_bytes) : NULL;
}

static void apply_one(const struct variables *variables, const struct push *push)
{
    float *zeros = make_zeros(variables);
    struct push_reader reader;

    push_reader_init(&reader, push);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->trainable && slice->row_bytes > 0) {
            struct rows_gradient gradient = push_read_rows(&reader, slice);
            apply_rows_to(variables, slice, push->rate, &gradient, zeros);
        } else if (slice->trainable) {
            apply_to(variables, slice, push->rate, push_read(&reader, slice));
        }
    }
    push_reader_finish(&reader);
    free(zeros);
}

/* ---- A synchronous step. ---- */

/* The pushes of all workers for one step. */
struct step_reader {
    int count;                   /* of workers */
    struct push_reader *readers; /* [count], as all that follows */
    const float **gradients;
    struct rows_gradient *rows_gradients;
    size_t *next; /* the next row of each */
};

static void step_reader_init(struct step_reader *step, const struct push *batch)
{
    *step = (struct step_reader){ 0 };
    for (const struct push *push = batch; push != NULL; push = push->next_push)
        step->count++;
    size_t count = (size_t)step->count;
    step->readers = zalloc(count * sizeof *step->readers);
    step->gradients = zalloc(count * sizeof *step->gradients);
    step->rows_gradients = zalloc(count * sizeof *step->rows_gradients);
    step->next = zalloc(count * sizeof *step->next);
    for (int w = 0; w < step->count; w++, batch = batch->next_push)
        push_reader_init(&step->readers[w], batch);
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

/* Reads a slice of each push. Returns how many rows these have together. */
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

/* The first row that has not been taken. False: all have. */
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

/* Each row is the mean over the workers whose gradients have it, as in TensorFlow's
 * SparseConditionalAccumulator. */
static struct rows_gradient mean_of_rows(struct step_reader *step, const struct slice *slice,
                                         struct rows_mean *mean)
{
    size_t row_floats = slice->row_bytes / sizeof(float), count = 0;
    uint32_t row = 0;

    make_room(mean, read_all_rows(step, slice) * row_floats);
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

/* The mean of all workers' gradients, summed in the order of workers. */
static void apply_mean(const struct variables *variables, const struct push *batch)
{
    float *zeros = make_zeros(variables);
    struct rows_mean mean = { 0 };
    struct step_reader step;

    step_reader_init(&step, batch);
    for (int i = 0; i < variables->slices_count; i++) {
        struct slice *slice = &variables->slices[i];
        if (slice->trainable && slice->row_bytes > 0) {
            struct rows_gradient gradient = mean_of_rows(&step, slice, &mean);
            apply_rows_to(variables, slice, batch->rate, &gradient, zeros);
        } else if (slice->trainable) {
            for (int w = 0; w < step.count; w++)
                step.gradients[w] = push_read(&step.readers[w], slice);
            optimizer_mean(step.gradients, step.count, variables->sum,
                           slice->size_bytes / sizeof(float));
            apply_to(variables, slice, batch->rate, variables->sum);
        }
    }
    step_reader_finish(&step);
    free(mean.rows);
    free(mean.g);
    free(zeros);
}

void push_apply(const struct variables *variables, const struct push *batch)
{
    if (batch->next_push == NULL)
        apply_one(variables, batch);
    else
        apply_mean(variables, batch);
}
