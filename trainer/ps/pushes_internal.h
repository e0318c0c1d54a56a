/*
 * pushes_internal: what the two files of pushes share. push_receive.c admits the pushes that
 * arrive; pushes.c keeps them, chooses those of the next update, and answers them.
 */
#ifndef TRAINER_PS_PUSHES_INTERNAL_H
#define TRAINER_PS_PUSHES_INTERNAL_H

#include "trainer/ps/pushes.h"

/* The progress of a worker in an asynchronous job. */
struct push_progress {
    uint64_t applied; /* sequence of its last push that was applied or is being applied */
    uint64_t done;    /* sequence of its last push that was applied: copies of it may be answered */
    uint64_t permitted; /* while the ps is held, pushes up to this sequence are still applied */
};

struct pushes {
    struct waiting *waiting;        /* chunks of all pushes, in the order of arrival */
    struct push_progress *progress; /* [PS_WORKERS_MAX] */
    uint64_t step;                  /* updates applied so far */
    int applying;                   /* updates being applied, without the lock */
    pthread_cond_t idle;            /* applying has become 0 */
    bool held;                      /* only permitted pushes are applied */
    /* while held, a synchronous job still makes the steps up to this one */
    uint64_t permitted_step;
};

struct push_progress *pushes_progress_of(const struct ps *ps, const struct worker *worker);

/* Makes the reply to a push. All workers whose pushes made a synchronous step get the same last
 * step, see stop_early. */
struct push_reply push_reply_of(const struct ps *ps, bool repeated);
/* Without the lock: answers a chunk, and frees it. */
void push_answer(struct ps *ps, struct push *chunk, const struct push_reply *header);
/* See waiting.finish. */
void push_finish(struct waiting *waiting);

#endif
