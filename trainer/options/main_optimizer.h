/* main_optimizer: the part of options_read that chooses the optimizer of the job and how it is
 * applied. other_optimizers reads those of --optimizer_for. */
#ifndef TRAINER_OPTIONS_MAIN_OPTIMIZER_H
#define TRAINER_OPTIONS_MAIN_OPTIMIZER_H

#include "trainer/options/options.h"

/* Chooses the optimizer, its settings and rate, clipping, accumulation, loss scale and average.
 * A flag overrides the description, which overrides the optimizer's defaults. */
struct status options_choose_optimizer(struct arena *arena, struct options *out);

#endif
