/*
 * internal: the parts of options.c.
 */
#ifndef TRAINER_OPTIONS_INTERNAL_H
#define TRAINER_OPTIONS_INTERNAL_H

#include "trainer/options/options.h"

/* Chooses the optimizer, its settings and rate, clipping, accumulation, loss scale and average.
 * A flag overrides the description, which overrides the optimizer's defaults. */
struct status options_choose_optimizer(struct arena *arena, struct options *out);

#endif
