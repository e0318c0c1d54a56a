/*
 * outcome: how a task and the job ended, and the calls that wait for it.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_OUTCOME_H
#define TRAINER_PS_OUTCOME_H

#include "trainer/ps/waiting.h"

struct outcome *outcome_create(void);
void outcome_destroy(struct outcome *outcome);
bool outcome_is_known(const struct ps *ps);
/* OK while it is unknown. Its text stays valid. */
struct status outcome_status(const struct ps *ps);
/* CANCELLED: the job has ended with a failure. */
struct status outcome_check(const struct ps *ps);
struct waiting *outcome_take_awaits(struct ps *ps); /* all, whatever they wait for */

/* Sets the outcome, unless there is one. Returns the calls that it ends, for outcome_announce. */
struct ending {
    struct waiting *joins, *pushes, *awaits;
};
struct ending outcome_set(struct ps *ps, enum status_code code, const char *text);
void outcome_announce(struct ps *ps, struct ending *ending); /* without the lock */

#endif
