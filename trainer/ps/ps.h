/*
 * ps: a parameter server: holds slices, answers pulls, applies pushes, takes consistent snapshots,
 * and tracks the members of the job and its outcome. It is an rpc service: every method runs in the
 * thread that received the request. A call that has to wait (for a synchronous step, the end of a
 * hold, or the variables) is answered later, by the thread that ends the wait.
 *
 *     struct ps *ps = ps_create(&options);
 *     struct channel *channel = loopback_open(&ps_service, ps, clock);
 *
 * A push is applied once: each worker numbers its pushes, and a push that was applied before is
 * answered but not applied again. A push of another generation is refused with ABORTED, one of a
 * process that has been replaced with FAILED_PRECONDITION.
 */
#ifndef TRAINER_PS_PS_H
#define TRAINER_PS_PS_H

#include "base/budget.h"
#include "rpc/channel.h"

#define PS_WORKERS_MAX 4096

struct ps_options {
    const char *cluster; /* its name; tasks of another cluster are refused. Borrowed */
    uint32_t index;
    uint64_t incarnation;
    struct clock *clock; /* NULL: clock_monotonic() */
    const char *ps_list; /* the addresses of all ps tasks, in order; borrowed */
    const char *address; /* its own address, if it does not know the others (ps_list is NULL) */
    /* The training tasks, by rank: "worker 1 at b:2222"; borrowed. NULL: unknown to the ps,
     * which accepts any rank. */
    const char *const *trainers;
    uint32_t trainers_count;
    /* The budget that its variables and slots are charged to; borrowed, outlives the ps. NULL:
     * no limit. */
    struct budget *budget;
};

struct ps;

extern const struct service ps_service;

struct ps *ps_create(const struct ps_options *options);

/* Fails every call that still waits with `why` (not OK). */
void ps_stop(struct ps *ps, struct status why);
void ps_destroy(struct ps *ps); /* call it after closing its channels; accepts NULL */

uint64_t ps_global_step(struct ps *ps); /* updates applied so far */

/* ---- for the process that serves a ps: who is present, is the job over? (heartbeat.c) ---- */

/* When any task of the job was last heard from; 0: never */
int64_t ps_last_heard_ns(struct ps *ps);

/* Ends the job if a task that it needs (the chief; in a synchronous job, each worker) has not
 * been heard from for lost_ms, or if such a worker has not appeared within start_ms after the
 * variables were created. now_ns: up to when pauses have been excluded. */
void ps_watch(struct ps *ps, int64_t now_ns, int64_t lost_ms, int64_t start_ms);

/* Ends a hold, and drops a snapshot, whose owner has gone silent. now_ns: as for ps_watch. */
void ps_expire(struct ps *ps, int64_t now_ns);

/* This process did not run for this long (the machine was suspended or overloaded): tasks do not
 * count as silent during that time. */
void ps_exclude_pause(struct ps *ps, int64_t paused_ns);

/* The next log line about a task: "worker 3 has not been heard from for 5 s". Returns false if
 * there is nothing new. now_ns, lost_ms: as for ps_watch. */
bool ps_next_news(struct ps *ps, int64_t now_ns, int64_t lost_ms, char *out, size_t size);

/* Ends the job on this ps, unless it has ended: answers every waiting call, and all later ones,
 * with the outcome. */
void ps_end(struct ps *ps, struct status outcome);

/* Is the outcome known? The text of *out lives as long as the ps. */
bool ps_outcome(struct ps *ps, struct status *out);

/* The number of the first `trainers` ranks that have not been told the outcome. */
uint32_t ps_count_uninformed(struct ps *ps, uint32_t trainers);

/* For the log: what the ps waits for, such as "worker 2 (has left) to finish"; "" for nothing. */
void ps_describe_wait(struct ps *ps, char *out, size_t size);

#endif
