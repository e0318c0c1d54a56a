/*
 * states: a state machine whose transitions are limited by a table.
 *
 *     enum job_state { JOB_WAITING, JOB_RUNNING, JOB_ENDED };
 *
 *     static const unsigned allowed[] = {
 *         [JOB_WAITING] = STATE(JOB_RUNNING) | STATE(JOB_ENDED),
 *         [JOB_RUNNING] = STATE(JOB_ENDED),
 *         [JOB_ENDED] = 0,
 *     };
 *     job->state = state_next(allowed, job->state, JOB_RUNNING);
 *
 * A transition that the table lacks is a bug: the assert catches it. In a release build the table
 * and the check are gone.
 */
#ifndef BASE_STATES_H
#define BASE_STATES_H

#include <assert.h>

#define STATE(state) (1u << (state))

/* Inline, so that only the assignment remains in a release build. */
static inline unsigned state_next(const unsigned *allowed, unsigned from, unsigned to)
{
    assert(allowed[from] & STATE(to));
    (void)allowed;
    (void)from;
    return to;
}

#endif
