/*
 * ps: a parameter server: holds slices, answers pulls, applies pushes, takes consistent snapshots,
 * and knows who takes part in the job and how it ended. A service of rpc: every method runs in the
 * thread that received the request, and what has to wait (a synchronous step, a held push, a join
 * before the variables are there) is answered later, by the thread that ends the wait.
 *
 *     struct ps *ps = ps_create(&options);
 *     struct channel *channel = loopback_open(&ps_service, ps, clock);
 *
 * A push is applied once: each worker counts its pushes, and what was applied is answered but not
 * applied again. A push of another generation, or of a process that has been replaced, is refused
 * with ABORTED.
 */
#ifndef TRAINER_PS_H
#define TRAINER_PS_H

#include "base/budget.h"
#include "rpc/channel.h"

#define PS_WORKERS_MAX 4096

struct ps_options {
    const char *cluster; /* its id: tasks of another are refused. Borrowed */
    uint32_t index;
    uint64_t incarnation;
    struct clock *clock; /* NULL: clock_monotonic() */
    const char *ps_list; /* the addresses of all ps tasks, in order; borrowed */
    const char *address; /* its own, where the others are not known to it (ps_list NULL) */
    /* Those that train, by rank: "worker 1 at b:2222"; borrowed. NULL: it does not know them, and
     * takes any rank. */
    const char *const *trainers;
    uint32_t trainers_count;
    /* What its variables and slots are paid from; borrowed, outlives the ps. NULL: no limit. */
    struct budget *budget;
};

struct ps;

extern const struct service ps_service;

struct ps *ps_create(const struct ps_options *options);

/* Everybody who still waits is told `why` (not OK). */
void ps_stop(struct ps *ps, struct status why);
void ps_destroy(struct ps *ps); /* after its channels; accepts NULL */

uint64_t ps_global_step(struct ps *ps); /* updates applied so far */

/* ---- For the process that serves a ps: who is there, and is the job over? (ps_beat.c) ---- */

int64_t ps_heard_ns(struct ps *ps); /* when a task of the job was last heard of; 0: never */

/* Ends the job when a task that it cannot go on without has not been heard of for lost_ms: the
 * chief, and in a synchronous job each worker; or when such a worker has not come at all within
 * start_ms after the variables were there. */
void ps_watch(struct ps *ps, int64_t lost_ms, int64_t start_ms);

/* Ends holds of pushes for a snapshot that nobody takes any more. */
void ps_expire(struct ps *ps);

/* This process did not run for so long (a machine that was suspended, or has too much to do): the
 * tasks were not silent meanwhile. */
void ps_forgive(struct ps *ps, int64_t stood_still_ns);

/* The next thing to tell people about a task: "worker 3 has not been heard of for 5 s". False:
 * nothing new. */
bool ps_news(struct ps *ps, int64_t lost_ms, char *out, size_t size);

/* Ends the job here, unless it has ended: everybody who waits, and who asks from now on, is told.
 */
void ps_end(struct ps *ps, struct status outcome);

/* Is the outcome known? *out has its text as long as the ps lives. */
bool ps_outcome(struct ps *ps, struct status *out);

/* How many of `trainers` tasks have not been told the outcome. */
uint32_t ps_untold(struct ps *ps, uint32_t trainers);

/* Whom it waits for, for people: "the chief has not come yet"; "" for nobody. */
void ps_note(struct ps *ps, char *out, size_t size);

#endif
