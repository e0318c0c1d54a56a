/*
 * identify: asks the task at an address which task it is. Every task of a cluster answers.
 */
#ifndef TRAINER_PROTOCOL_IDENTIFY_H
#define TRAINER_PROTOCOL_IDENTIFY_H

#include "base/arena.h"
#include "rpc/channel.h"

/* The task at an address. */
struct task_identity {
    const char *cluster, *task; /* "default", "ps 0" */
    const char *ps_list;        /* the job's ps tasks; "": unknown to the task */
    const char *version;        /* of the program */
    uint64_t incarnation;
    uint32_t protocol;
};

extern const struct service identify_service; /* its instance: a struct task_identity */

/* Sends the question. Everything in *out lives in `arena`. */
struct status identify_ask(struct channel *channel, int64_t deadline_ns, struct arena *arena,
                           struct task_identity *out);

#endif
