/*
 * formulas: the updates of the optimizers in table.c. Each `apply` is a plain loop over a run of
 * elements. A formula accesses its settings by index: its comment lists them in the order of the
 * table. Semantics are those of TensorFlow's training_ops.cc, or of Keras' class if TensorFlow has
 * none.
 */
#ifndef TRAINER_OPTIMIZERS_FORMULAS_H
#define TRAINER_OPTIMIZERS_FORMULAS_H

#include "trainer/optimizers/optimizer.h"

void apply_adadelta(const struct optimizer_step *step);
void apply_adagrad(const struct optimizer_step *step);
void apply_adagrad_da(const struct optimizer_step *step);
void apply_adam(const struct optimizer_step *step);
void apply_amsgrad(const struct optimizer_step *step);
void apply_adamax(const struct optimizer_step *step);
void apply_average(const struct optimizer_step *step);
void apply_ftrl(const struct optimizer_step *step);
void apply_lamb(const struct optimizer_step *step);
void apply_lion(const struct optimizer_step *step);
void apply_momentum(const struct optimizer_step *step);
void apply_nadam(const struct optimizer_step *step);
void apply_proximal_adagrad(const struct optimizer_step *step);
void apply_proximal_gradient_descent(const struct optimizer_step *step);
void apply_rmsprop(const struct optimizer_step *step);
void apply_schedule_free(const struct optimizer_step *step);
void apply_sgd(const struct optimizer_step *step);
/* Copies the values that the `whole` of the optimizer's row has computed. */
void apply_made(const struct optimizer_step *step);

/* LAMB updates its averages here, because the norms are those of the new averages. */
void measure_lamb(const struct optimizer_step *step, struct optimizer_norms *norms);

void advance_count(const float *settings, float *scalars);  /* [the number of updates] */
void advance_power(const float *settings, float *scalars);  /* [setting 0 ^ updates] */
void advance_powers(const float *settings, float *scalars); /* of settings 0 and 1 */
/* [updates, a power or product of betas] */
void advance_nadam(const float *settings, float *scalars);
void advance_schedule_free(const float *settings, float *scalars);

#endif
