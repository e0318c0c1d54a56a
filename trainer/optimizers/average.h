/*
 * average: Keras' use_ema for any optimizer. After its own slots, the optimizer keeps a moving
 * average of each variable as its last slot, which evaluation and export use instead of the value.
 */
#ifndef TRAINER_OPTIMIZERS_AVERAGE_H
#define TRAINER_OPTIMIZERS_AVERAGE_H

#include "trainer/optimizers/optimizer.h"

#define AVERAGE_SUFFIX "+ema" /* of the optimizer's name */

/* The same optimizer with Keras' use_ema: with more settings, "ema_momentum" and
 * "ema_overwrite_frequency", and one more slot, the average. Its name is "adam+ema".
 *
 * Keras moves the average with each batch. If a step accumulates the gradients of k batches, the
 * variable changes with the last one only: the first k - 1 move the average towards the old value,
 * which is one move with the momentum to the power of k - 1, the setting "ema_momentum_before". */
const struct optimizer *optimizer_with_average(const struct optimizer *optimizer);

/* The part of a variable that is its average; 0: there is none, so the value is used. */
static inline int optimizer_average_part(const struct optimizer *optimizer)
{
    return optimizer->averages ? optimizer->slots_count : 0;
}

/* Before an update of all elements of a variable or of a part: moves the average towards step->w
 * for the batches before the last one of the step. */
void optimizer_carry_average(const struct optimizer *optimizer, const struct optimizer_step *step);

/* With Keras' use_ema, after an update of all elements of a variable or of a part: moves the
 * average towards step->out, the new values, and copies it over them when that is due. */
void optimizer_keep_average(const struct optimizer *optimizer, const struct optimizer_step *step);

/* Does the update that begins with these scalars copy the average over the values? */
bool optimizer_average_is_due(const struct optimizer *optimizer, const float *settings,
                              const float *scalars);

/* Counts the update, in the last scalar. */
void optimizer_advance_average(const struct optimizer *optimizer, const float *settings,
                               float *scalars);

#endif
