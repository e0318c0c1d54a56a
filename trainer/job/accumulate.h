/*
 * accumulate: a source whose gradient is the mean of those of several batches, as Keras'
 * gradient_accumulation_steps, and that takes back a factor of the loss, as its loss_scale_factor
 * or its LossScaleOptimizer.
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

/**
 * The same for a factor that changes: scaling->scale. A step says in scaling->overflowed whether
 * its gradients are not all finite. scaling: borrowed. A step has one batch: Keras leaves a batch
 * out of the mean if it overflows, and the rows of a step could not be told from its number.
 *
 * Errors  the step's: OUT_OF_RANGE the scale is too small to be halved again
 */
struct gradient_source *scaled_source(struct gradient_source *inner, struct client_scaling *scaling,
                                      const struct placement *placement);

#endif
