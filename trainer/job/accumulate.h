/*
 * accumulate: a source whose gradient is the mean over several batches, as in Keras'
 * gradient_accumulation_steps, and that divides out a factor of the loss, as in its
 * loss_scale_factor or its LossScaleOptimizer.
 */
#ifndef TRAINER_JOB_ACCUMULATE_H
#define TRAINER_JOB_ACCUMULATE_H

#include "trainer/job/worker.h"

/**
 * Wraps `inner`, which it owns. With one batch and a factor of 1, returns `inner`.
 *
 * A step needs the union of the rows that its batches need. A row's mean is over all batches,
 * including those without the row, as if they were one batch. A moving average moves as if each
 * batch moved it: the ps makes one move by momentum^batches towards the values that the source
 * returns.
 */
struct gradient_source *accumulate_source(struct gradient_source *inner, uint32_t batches,
                                          float loss_scale, const struct placement *placement);

/**
 * The same for a factor that changes: scaling->scale. A step sets scaling->overflowed if its
 * gradients are not all finite. One batch is enough for that: a mean of the others, which Keras
 * takes, would leave open which rows a step has. scaling: borrowed.
 *
 * Errors  the step's: OUT_OF_RANGE the scale is too small to be halved again
 */
struct gradient_source *scaled_source(struct gradient_source *inner, uint32_t batches,
                                      struct client_scaling *scaling,
                                      const struct placement *placement);

#endif
