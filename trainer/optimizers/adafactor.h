/*
 * adafactor: Keras' Adafactor, an update of a whole variable. It approximates the mean squares of a
 * matrix's gradients by those of its rows and its columns. Source:
 * keras/src/optimizers/adafactor.py.
 *
 * Keras keeps the rows, the columns and their product v. Here only v is a slot: the others are the
 * means of its rows and of its columns.
 */
#ifndef TRAINER_OPTIMIZERS_ADAFACTOR_H
#define TRAINER_OPTIMIZERS_ADAFACTOR_H

#include "trainer/optimizers/optimizer.h"

/* settings: beta_2_decay, epsilon_1, epsilon_2, clip_threshold, relative_step (without effect, as
 * in Keras: the rate is limited by it and again without it), weight_decay (as Adam's); scalar: the
 * number of updates so far. One slot. */
void adafactor_update(const struct optimizer_step *step, const struct shape *shape);

#endif
