/*
 * totals: ps 0 sums the totals that the pushes carry, for the training metrics over all workers. A
 * push's totals count when the ps begins to apply it. Those of a refused, late or repeated push do
 * not, so each row counts as often as its gradient.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_TOTALS_H
#define TRAINER_PS_TOTALS_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/state.h"

struct push;

struct totals *totals_create(void);
void totals_destroy(struct totals *totals);
struct status totals_check(const struct create_request *request); /* INVALID_ARGUMENT: too many */
void totals_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Copies the totals of a request. INVALID_ARGUMENT: a different number than the job has. */
struct status totals_take(const struct ps *ps, const struct push_request *request,
                          struct push *push);
void totals_add(struct ps *ps, const struct push *push); /* the push counts */

#endif
