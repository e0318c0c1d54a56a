/*
 * apply: updates the slices with the gradients of a push, or of all pushes of a synchronous step.
 */
#ifndef TRAINER_PS_APPLY_H
#define TRAINER_PS_APPLY_H

#include "trainer/ps/pushes.h"

/* Without the lock: applies one push, or those of a synchronous step, in the order of workers. */
void push_apply(struct variables *variables, const struct push *pushes);

#endif
