/*
 * state: the state of a ps by its parts, the lock that guards it, and waiting calls. ps_internal.h
 * says which file owns which part.
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
    struct pace *pace;
    struct shares *shares;
    struct totals *totals;
    struct scale *scale;
    struct snapshots *snapshots;
    struct outcome *outcome;
    struct board *board;
};

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

/* ---- Waiting calls (waiting.c). Embedded as the first member of each owner's struct. ---- */

struct waiting {
    struct waiting *next;
    struct call *call;
    struct message request;                  /* empty unless its payload is needed */
    void (*finish)(struct waiting *waiting); /* frees the members of the enclosing struct; NULL:
                                              * nothing to free */
};

void waiting_append(struct waiting **list, struct waiting *waiting);          /* at the end */
struct waiting *waiting_take(struct waiting **list, const struct call *call); /* NULL: not there */
/* Without the lock: answers and frees every call of a list. */
void waiting_fail_all(struct waiting *list, struct status why);

#endif
