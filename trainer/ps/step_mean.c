#include "trainer/ps/step_mean.h"

#include <stddef.h>
#include <stdlib.h>

void step_mean_init(struct step_mean *step, const struct push *pushes)
{
    *step = (struct step_mean){ 0 };
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

void step_mean_finish(struct step_mean *step)
{
    for (int w = 0; w < step->count; w++)
        push_reader_finish(&step->readers[w]);
    free(step->readers);
    free(step->gradients);
    free(step->rows_gradients);
    free(step->next);
    free(step->mean.rows);
    free(step->mean.g);
    free(step->keys.keys);
    free(step->keys.rows);
}

/* Reads a slice of each push. Returns the total number of rows. */
static size_t read_all_rows(struct step_mean *step, const struct slice *slice)
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
static bool first_row_left(const struct step_mean *step, uint32_t *row)
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
static int take_row(struct step_mean *step, uint32_t row, size_t row_floats)
{
    int count = 0;

    for (int w = 0; w < step->count; w++) {
        const struct rows_gradient *gradient = &step->rows_gradients[w];
        if (step->next[w] < gradient->count && gradient->rows[step->next[w]] == row)
            step->gradients[count++] = gradient->g + step->next[w]++ * row_floats;
    }
    return count;
}

static void make_room(struct rows_mean *mean, size_t floats)
{
    if (floats <= mean->capacity)
        return;
    mean->capacity = floats;
    mean->rows = xrealloc(mean->rows, floats * sizeof *mean->rows);
    mean->g = xrealloc(mean->g, floats * sizeof *mean->g);
}

static bool first_key_left(const struct step_mean *step, int64_t *key)
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
static size_t read_all_keys(struct step_mean *step, const struct slice *slice)
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

/* Replaces the keys of each push by their numbers in the list of all of them. */
static void number_keys(struct step_mean *step, size_t total)
{
    struct step_keys *all = &step->keys;
    const uint32_t *rows;
    uint32_t number = 0;
    int64_t key = 0;

    if (total > all->capacity) {
        all->capacity = total;
        all->keys = xrealloc(all->keys, total * sizeof *all->keys);
        all->rows = xrealloc(all->rows, total * sizeof *all->rows);
    }
    rows = all->rows;
    for (int w = 0; w < step->count; rows += step->rows_gradients[w++].count)
        step->rows_gradients[w].rows = rows;
    for (; first_key_left(step, &key); number++) {
        all->keys[number] = key;
        for (int w = 0; w < step->count; w++) {
            const struct slice_keys *keys = &step->readers[w].keys;
            ptrdiff_t first = step->rows_gradients[w].rows - all->rows;
            if (step->next[w] < keys->count && keys->keys[step->next[w]] == key)
                all->rows[(size_t)first + step->next[w]++] = number;
        }
    }
    memset(step->next, 0, (size_t)step->count * sizeof *step->next);
}

/* Each row is the mean over the workers whose gradients have it, as in TensorFlow's
 * SparseConditionalAccumulator. */
static struct rows_gradient mean_of_rows(struct step_mean *step, const struct slice *slice,
                                         size_t total)
{
    struct rows_mean *mean = &step->mean;
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

void step_mean_read(struct step_mean *step, const struct slice *slice, float *out)
{
    for (int w = 0; w < step->count; w++)
        step->gradients[w] = push_read(&step->readers[w], slice);
    optimizer_mean(step->gradients, step->count, out, slice->size_bytes / sizeof(float));
}

struct rows_gradient step_mean_read_rows(struct step_mean *step, const struct slice *slice)
{
    return mean_of_rows(step, slice, read_all_rows(step, slice));
}

struct rows_gradient step_mean_read_keys(struct step_mean *step, const struct slice *slice,
                                         const int64_t **keys)
{
    size_t total = read_all_keys(step, slice);

    number_keys(step, total);
    *keys = step->keys.keys;
    return mean_of_rows(step, slice, total);
}
