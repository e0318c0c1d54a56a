/*
 * loss_scaling: dynamic loss scaling. If the gradients of a push have overflowed, no variable
 * changes except averages of what was computed before the gradients, and the push still counts as a
 * step.
 *
 * In a synchronous job, all ps tasks get the same pushes and decide alike. With backup workers,
 * each takes the first pushes that it gets: ps 0 decides, and each worker carries its decision to
 * the other ps tasks, as the overflow of a push to them. A push that has overflowed, but too late
 * for ps 0, is not sent to the others. In an asynchronous job, each ps applies the pushes in its
 * own order: all skip the same ones, but only ps 0 sends the scale to the workers.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_LOSS_SCALING_H
#define TRAINER_PS_LOSS_SCALING_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/state.h"

struct push;

struct loss_scaling *loss_scaling_create(void);
void loss_scaling_destroy(struct loss_scaling *scaling);
/* A generation begins. The request has been checked. */
void loss_scaling_begin(struct ps *ps, const struct create_request *request);
/* The current scale, or that before the last step. */
struct loss_scale loss_scaling_state(const struct ps *ps, bool before);
/* INVALID_ARGUMENT: the push has overflowed, but the job has no loss scaling. */
struct status loss_scaling_check_push(const struct ps *ps, const struct push_request *request);
/* The pushes of an update, which begins: sets pushes->skips. */
void loss_scaling_take(struct ps *ps, struct push *pushes);
void loss_scaling_count(struct ps *ps, const struct push *pushes); /* the update has ended */
/* The scale at which the last update was skipped; 0: it was not. */
float loss_scaling_overflowed(const struct ps *ps);
/* The number of the first `step` steps that were not skipped: the iterations of Keras'
 * optimizers. */
uint64_t loss_scaling_updates(const struct ps *ps, uint64_t step);

#endif
