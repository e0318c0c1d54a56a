/*
 * loss_scale: the state of Keras' LossScaleOptimizer. The gradients are those of the loss times a
 * scale. If one of them is not finite, the step is skipped and the scale is halved; after
 * growth_steps consecutive batches without a skip, it is doubled.
 *
 *     loss_scale_count(&state, 0, 1);            a step of a batch that changed the variables
 *     loss_scale_count(&state, state.scale, 1);  a step whose gradients overflowed
 */
#ifndef TRAINER_OPTIMIZERS_LOSS_SCALE_H
#define TRAINER_OPTIMIZERS_LOSS_SCALE_H

#include <stdint.h>

#include "base/status.h"

struct loss_scale {
    float scale; /* 0: no loss scaling, and no step is skipped */
    uint64_t growth_steps;
    uint64_t finite_steps; /* batches since the scale changed or a step was skipped */
    uint64_t skipped;      /* steps in all */
};

/* INVALID_ARGUMENT: the scale is negative or not finite, or lacks growth_steps. */
struct status loss_scale_check(const struct loss_scale *state);

/**
 * Counts a step of so many batches. overflowed: the scale at which its gradients were not finite;
 * 0: they were finite. A worker of an asynchronous job may have used an earlier scale. If that was
 * larger than the current one, its overflow says nothing about the current one, which is kept.
 *
 * The scale is also kept if doubling would make it infinite.
 */
void loss_scale_count(struct loss_scale *state, float overflowed, uint64_t batches);

#endif
