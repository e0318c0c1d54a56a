/*
 * evaluator: a task beside the job. At intervals it takes a snapshot of all values, as the chief
 * does for a checkpoint, and evaluates the model, and once more after the job has succeeded. No
 * task waits for it. It changes nothing, except that it may end the training early after an
 * evaluation.
 */
#ifndef TRAINER_JOB_EVALUATOR_H
#define TRAINER_JOB_EVALUATOR_H

#include "trainer/job/monitor.h"
#include "trainer/job/worker.h"

struct evaluator_options {
    int64_t start_timeout_ms; /* how long the chief may take to create the variables */
    int64_t start_delay_ms;   /* from the start to the first evaluation */
    int64_t throttle_ms;      /* from the start of one evaluation to the start of the next */
    /* Evaluates and reports the values of a step: values [variables_count], NULL for a variable
     * by rows, whose rows are in the snapshot. CANCELLED: *enough became true. */
    struct status (*evaluate)(void *context, uint64_t step, const void *const *values,
                              struct client_snapshot *snapshot, const _Atomic bool *enough,
                              struct verdict *out);
    void *context;
};

/**
 * Evaluates until progress->over or progress->stop. Other threads may only interrupt `client`,
 * which is a reader's.
 *
 * Errors  the evaluation's own; FAILED_PRECONDITION a later evaluator has replaced this one;
 *         UNAVAILABLE, ABORTED, DEADLINE_EXCEEDED the variables did not exist in time; CANCELLED
 *         progress->stop
 */
struct status evaluator_run(struct ps_client *client, const struct evaluator_options *options,
                            struct progress *progress);

#endif
