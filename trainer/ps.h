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

#include "rpc/channel.h"

#define PS_WORKERS_MAX 4096

struct ps_options {
    const char *cluster; /* its id: tasks of another are refused. Borrowed */
    uint32_t index;
    uint64_t incarnation;
    const char *ps_list; /* the addresses of all ps tasks, in order; borrowed */
    const char *address; /* its own, where the others are not known to it (ps_list NULL) */
};

struct ps;

extern const struct service ps_service;

struct ps *ps_create(const struct ps_options *options);

/* Everybody who still waits is told `why` (not OK). */
void ps_stop(struct ps *ps, struct status why);
void ps_destroy(struct ps *ps); /* after its channels; accepts NULL */

uint64_t ps_global_step(struct ps *ps); /* updates applied so far */

#endif
