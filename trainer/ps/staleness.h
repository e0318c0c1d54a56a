/*
 * staleness: bounded staleness ("stale synchronous parallel") of an asynchronous job: a worker may
 * be ahead of the slowest worker that is present by a limited number of steps. Only ps 0 decides. A
 * worker asks it for a pass after all ps tasks have applied its pushes and before it pulls the
 * values of its next step, so these include all updates that the bound guarantees.
 *
 * A worker's clock counts its pushes that all ps tasks have applied. The ps learns it from the
 * worker's passes. Between passes it assumes one push less than it has applied itself, because the
 * worker sends a push only after the previous one has been applied everywhere.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_STALENESS_H
#define TRAINER_PS_STALENESS_H

#include "trainer/ps/membership.h"

struct staleness *staleness_create(void);
void staleness_destroy(struct staleness *staleness);
void staleness_begin(struct ps *ps);                             /* a generation */
void staleness_join(struct ps *ps, const struct worker *worker); /* it has got its place */
struct waiting *staleness_take_all(struct ps *ps);
/* Another process replaces this worker. Returns the calls of the previous process. */
struct waiting *staleness_forget(struct ps *ps, const struct worker *worker);
/* Takes the passes that can be granted now. */
struct waiting *staleness_due(struct ps *ps);
void staleness_answer(struct waiting *due);   /* without the lock */
void staleness_check(struct ps *ps);          /* both, without the lock */
bool staleness_is_empty(const struct ps *ps); /* true if no worker waits */
/* Appends the workers that others wait for. */
void staleness_note(const struct ps *ps, struct buffer *out);

#endif
