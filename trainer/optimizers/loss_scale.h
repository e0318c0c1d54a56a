/*
 * loss_scale: what Keras' LossScaleOptimizer remembers. The gradients are those of the loss times a
 * scale. If one of them is not finite, the step is skipped and the scale is halved; after
 * growth_steps steps in a row that were not skipped, it is doubled.
 *
 *     loss_scale_count(&state, 0);            a step that changed the variables
 *     loss_scale_count(&state, state.scale);  one whose gradients overflowed
 */
#ifndef TRAINER_OPTIMIZERS_LOSS_SCALE_H
#define TRAINER_OPTIMIZERS_LOSS_SCALE_H

#include <stdint.h>

#include "base/status.h"

struct loss_scale {
    float scale; /* 0: the job has none, and skips no step */
    uint64_t growth_steps;
    uint64_t finite_steps; /* since the scale changed last, or a step was skipped */
    uint64_t skipped;      /* steps in all */
};

/* INVALID_ARGUMENT: a scale that is not finite or below 0, or one without growth_steps. */
struct status loss_scale_check(const struct loss_scale *state);

/**
 * Counts a step. overflowed: the scale with which its gradients were not finite; 0: they were. A
 * worker of an asynchronous job may have used an earlier scale. If it was larger than the present
 * one, the overflow does not tell that the present one is too large, and it stays.
 *
 * A scale that would become infinite by doubling stays as well.
 */
void loss_scale_count(struct loss_scale *state, float overflowed);

#endif
