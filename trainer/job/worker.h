/*
 * worker: pulls values, computes gradients and pushes them, until the job has made all its steps.
 *
 * A gradient_source computes the gradients: a model's training plan over batches (model.h), or a
 * test's arithmetic.
 */
#ifndef TRAINER_JOB_WORKER_H
#define TRAINER_JOB_WORKER_H

#include <stdatomic.h>

#include "trainer/client/client.h"

struct gradient_source {
    /**
     * Computes the gradients of the next batch. values and *gradients: [variables_count], in the
     * placement's order. The source owns the gradients, which are valid until the next step. NULL:
     * it has no rows now, but may have some later.
     */
    struct status (*step)(struct gradient_source *source, const void *const *values,
                          const struct variable_gradient **gradients, float *loss);
    void (*destroy)(struct gradient_source *source);
    /* Skips the batches that were used before: the job began at, or returned to, `begin` and is
     * now at `step`. place: position in the rows of a synchronous job, at `begin`. NULL: the
     * source has no order. */
    struct status (*seek)(struct gradient_source *source, uint64_t begin, uint64_t step,
                          const struct row_place *place);
    /* Returns the rows, or keys, of each sparse variable that a step needs: *rows is
     * [variables_count] and valid until that step is done. Called once before each step, when
     * the gradients of the previous step are still in use. *rows is NULL if the source has no
     * rows now: ask again. NULL: the model has no sparse variables. */
    struct status (*need_rows)(struct gradient_source *source, const struct row_ids **rows);
};

/* The state of a running job, for other threads. */
struct progress {
    _Atomic uint64_t global_step;
    _Atomic float loss;          /* a recent batch's */
    _Atomic uint64_t loss_step;  /* the global step at that loss */
    _Atomic int64_t began_ns;    /* start time of the first step; 0: not yet */
    _Atomic int64_t ended_ns;    /* end time of the chief's last step */
    _Atomic uint64_t first_step; /* the global step at began_ns */
    _Atomic bool stop;           /* ends the job at each worker's next step */
    _Atomic bool over;           /* the job has succeeded, or is stopped; polled by the evaluator */
    bool alone;                  /* set at the end: no ps has ever answered */
    struct status why;           /* the reason, set before `stop`; OK: stopped by the caller */
    /* Receives a line about each event of the job; may be NULL. Set it before the job runs. */
    void (*say)(void *context, const char *line);
    void *say_context;
};

void progress_say(const struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Called after each step of this task, with the loss of its batch, and at the end, with NULL, if
 * others have made the last step. A failure ends the training. */
struct step_hook {
    struct status (*stepped)(void *context, uint64_t global_step, const float *loss);
    void *context;
    /* Called before each step, and while there are no rows for one. NULL: not called. */
    struct status (*check)(void *context);
};

/* Makes the steps of a task that has joined, up to stop_step, or client->stop_step if that is
 * earlier. hook: may be NULL. CANCELLED: progress->stop. */
struct status worker_steps(struct ps_client *client, struct gradient_source *source,
                           uint64_t stop_step, struct progress *progress,
                           const struct step_hook *hook);

/* stop_step, or the earlier last step that the ps tasks have reported to this client. */
uint64_t worker_last_step(const struct ps_client *client, uint64_t stop_step);

/* Waits until all ps tasks have the values of one generation, and joins it. */
struct status worker_join(struct ps_client *client, int64_t timeout_ms,
                          const struct progress *progress);

/* Does this failure mean that the job returns to an earlier step, so that a task may join again? */
bool worker_can_rejoin(struct status status, const struct ps_client *client,
                       const struct progress *progress);

/* The status that a stopped task reports to the others: its text has the step and the reason. */
struct status worker_stopped(const struct ps_client *client, const struct progress *progress);

/* Reports to the reachable ps tasks how this task ended and, with `job`, that the job ended with
 * it. Returns `status`, with a text that survives these calls. */
struct status worker_report_end(struct ps_client *client, struct status status, bool job);

/* Returns the outcome of a task: the job's outcome if `status` only says that the job is over,
 * otherwise `status` itself. */
struct status worker_outcome(struct status status, struct ps_client *client,
                             const struct progress *progress);

struct worker_options {
    uint64_t stop_step;
    int64_t start_timeout_ms;
    /* how long the chief may take to begin again after the loss of a ps */
    int64_t recovery_timeout_ms;
};

/* If a wait for `whom` timed out, adds its length: "waited 300 s for …". */
struct status worker_name_wait(struct status status, int64_t timeout_ms, const char *whom);

/* Runs a worker from joining to the job's end. Returns the job's outcome, unless the worker failed
 * itself. */
struct status worker_run(struct ps_client *client, struct gradient_source *source,
                         const struct worker_options *options, struct progress *progress);

#endif
