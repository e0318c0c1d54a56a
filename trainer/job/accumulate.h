/*
 * accumulate: a source whose gradient is the mean of those of several batches, as Keras'
 * gradient_accumulation_steps, and that takes back a factor of the loss, as its loss_scale_factor.
 */
#ifndef TRAINER_JOB_ACCUMULATE_H
#define TRAINER_JOB_ACCUMULATE_H

#include "trainer/job/worker.h"

/**
 * A source that takes `inner`, and destroys it with itself. With one batch and a factor of 1, it is
 * `inner`.
 *
 * A step needs the rows that any of its batches needs. A row's mean is over all batches, also those
 * without this row, as if they were one batch. A moving average moves as if each batch moved it:
 * the ps makes one move by momentum^batches towards the values that the source gives.
 */
struct gradient_source *accumulate_source(struct gradient_source *inner, uint32_t batches,
                                          float loss_scale, const struct placement *placement);

#endif
