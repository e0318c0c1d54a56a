/*
 * evaluator: a task beside the job: now and then it reads all values of one moment (a snapshot, as
 * the chief takes for a checkpoint) and says how good they are, and once more when the job has
 * ended well. Nobody waits for it, and it changes nothing.
 */
#ifndef TRAINER_EVALUATOR_H
#define TRAINER_EVALUATOR_H

#include "trainer/worker.h"

struct evaluator_options {
    int64_t start_timeout_ms; /* for the variables to be made */
    int64_t start_delay_ms;   /* from its start until the first evaluation */
    int64_t throttle_ms;      /* from the start of one evaluation until the next */
    /* How good are these values, [variables_count], of that step? CANCELLED once *enough is true.
     */
    struct status (*evaluate)(void *context, uint64_t step, const void *const *values,
                              const _Atomic bool *enough);
    void *context;
};

/**
 * Looks on until progress->over or progress->stop.
 *
 * `client` is a reader's, and no other thread's but for client_interrupt.
 * Errors  the evaluation's own; FAILED_PRECONDITION a later evaluator is here; UNAVAILABLE, ABORTED
 *         there were no variables in time; CANCELLED progress->stop
 */
struct status evaluator_run(struct client *client, const struct evaluator_options *options,
                            struct progress *progress);

#endif
