/*
 * step_mean: the gradients of a synchronous step, slice by slice: the mean over the pushes of its
 * workers, summed in the order of workers.
 *
 *     step_mean_init(&step, pushes);
 *     … for each slice in ascending order: one of the step_mean_read functions …
 *     step_mean_finish(&step);
 *
 * The mean of a row, or of a key, is taken over the pushes that have it, as in TensorFlow's
 * SparseConditionalAccumulator. A gradient of rows or keys is valid until the next one is read.
 */
#ifndef TRAINER_PS_STEP_MEAN_H
#define TRAINER_PS_STEP_MEAN_H

#include "trainer/ps/push_reader.h"

/* The mean for a slice with rows, on the heap. */
struct rows_mean {
    uint32_t *rows;
    float *g;
    size_t capacity; /* of floats */
};

/* The distinct keys of all pushes, on the heap. A push's keys become row numbers in this list, so
 * that the mean is computed as for rows. */
struct step_keys {
    int64_t *keys;  /* ascending */
    uint32_t *rows; /* of all pushes, concatenated */
    size_t capacity;
};

struct step_mean {
    int count;                   /* of pushes */
    struct push_reader *readers; /* [count], like the following fields */
    const float **gradients;
    struct rows_gradient *rows_gradients;
    size_t *next; /* the next row of each */
    struct rows_mean mean;
    struct step_keys keys;
};

/* pushes: those of the step, two or more. */
void step_mean_init(struct step_mean *step, const struct push *pushes);
void step_mean_finish(struct step_mean *step);

/* out: the mean for a slice without rows, [size_bytes / 4]. */
void step_mean_read(struct step_mean *step, const struct slice *slice, float *out);
struct rows_gradient step_mean_read_rows(struct step_mean *step, const struct slice *slice);
/* *keys: [count], ascending; result.rows are their indices. */
struct rows_gradient step_mean_read_keys(struct step_mean *step, const struct slice *slice,
                                         const int64_t **keys);

#endif
