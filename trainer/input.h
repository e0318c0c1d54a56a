/*
 * input: which rows a worker takes next.
 *
 * The rows are put into another order for each epoch, the same for all workers of a seed; worker w
 * of W takes places w, w + W, w + 2W … of it, so that together they take every row once an epoch.
 * Batches are cut from the endless sequence: the tail of an epoch is joined with the head of the
 * next.
 */
#ifndef TRAINER_INPUT_H
#define TRAINER_INPUT_H

#include <stdint.h>

struct input {
    uint64_t seed;
    uint32_t rows, worker, workers;
    uint32_t *order; /* of the current epoch */
    uint64_t epoch;  /* counts from 0 */
    uint64_t place;  /* the next one of this worker in `order` */
};

/* rows > 0, worker < workers. A worker of more workers than rows gets its turn in the epochs where
 * a place is left. */
void input_init(struct input *input, uint64_t seed, uint32_t rows, uint32_t worker,
                uint32_t workers);
void input_next(struct input *input, uint32_t *rows, uint32_t count);
/* As if `count` rows had been taken since the beginning. */
void input_seek(struct input *input, uint64_t count);
void input_finish(struct input *input);

#endif
