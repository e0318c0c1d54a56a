/*
 * state: the state of a ps, divided into parts, and the lock that guards it. Each part has one
 * owner, a file of its name; the other files use the functions that its header declares:
 *
 *     generation   the job's settings, from one Create to the next
 *     variables    the slices, and how they are trained
 *     membership   the members of the job, and calls that wait for the variables
 *     liveness     when each task was heard from, and what was logged
 *     pushes       pending gradients, and each worker's progress
 *     staleness    how far workers of an asynchronous job may be ahead of the slowest
 *     shares       the rows assigned to each worker of an asynchronous job
 *     totals       the sums of the training metrics over all workers
 *     loss_scaling the loss scale, and which steps it skips
 *     snapshots    who holds the ps, and the snapshots taken
 *     outcome      how the job ended, and calls that wait for it
 *     notes        notes that tasks leave for each other
 *
 * One lock guards all of it, except the slices, which have their own locks, and the variables,
 * which change only while no push can be applied. Call the functions of the parts with the lock
 * held, unless the comment says "without the lock". A function that answers a call runs without the
 * lock, because the caller may be in this process and continue at once. ASSERT_LOCKED checks that
 * in builds with asserts.
 */
#ifndef TRAINER_PS_STATE_H
#define TRAINER_PS_STATE_H

#include <assert.h>

#include "base/arena.h"
#include "trainer/ps/ps.h"

struct ps {
    struct ps_options options; /* do not change */
    pthread_mutex_t lock;      /* by ps_lock alone */
    pthread_t holder;          /* the thread that holds the lock, while it is held */
    bool locked, stopped;
    struct generation *generation;
    struct variables *variables;
    struct membership *membership;
    struct task_liveness *liveness;
    struct pushes *pushes;
    struct staleness *staleness;
    struct shares *shares;
    struct totals *totals;
    struct loss_scaling *loss_scaling;
    struct snapshots *snapshots;
    struct outcome *outcome;
    struct notes *notes;
};

/* The time of an event, as if a pause that ended by now_ns had not been. The event may have come
 * after the pause, so it is at most now_ns. */
static inline int64_t ps_time_without_pause(int64_t at_ns, int64_t paused_ns, int64_t now_ns)
{
    return at_ns + paused_ns < now_ns ? at_ns + paused_ns : now_ns;
}

void ps_lock(struct ps *ps);
void ps_unlock(struct ps *ps);
/* Waits for `condition`. The caller holds the lock, which is released during the wait. */
void ps_wait(struct ps *ps, pthread_cond_t *condition);
bool ps_is_locked(const struct ps *ps); /* by this thread */
#define ASSERT_LOCKED(ps) assert(ps_is_locked(ps))

/* Limit of the memory for reading a request's header: numbers and a task's identity. */
#define REQUEST_ARENA_MAX      ((size_t)1 << 20)
/* The same for a request whose texts or lists grow with the job: its pieces, its settings, the
 * text of its outcome. */
#define LONG_REQUEST_ARENA_MAX ((size_t)16 << 20)

/* ABORTED: the process of this ps is ending. */
struct status ps_check_running(const struct ps *ps);

/* Without the lock: sends the reply, which it owns, or the failure. */
void ps_answer(struct call *call, struct status status, struct message reply);

#endif
