/*
 * worker: pulls values, computes gradients, pushes them, until the job has made its steps.
 *
 * What computes is a gradient_source: a model's training plan over batches (model.h), or a test's
 * arithmetic.
 */
#ifndef TRAINER_WORKER_H
#define TRAINER_WORKER_H

#include <stdatomic.h>

#include "trainer/client.h"

struct gradient_source {
    /**
     * One step on the next batch. values and *gradients: [variables_count], in order of the
     * placement; gradients are the source's, valid until the next step; NULL for what is not
     * trainable.
     */
    struct status (*step)(struct gradient_source *source, const void *const *values,
                          const float *const **gradients, float *loss);
    void (*destroy)(struct gradient_source *source);
    /* The job goes on at step `step`, after it began or went back to `begin`: the batches that were
     * taken until then have been. NULL: the source knows no order. */
    void (*seek)(struct gradient_source *source, uint64_t begin, uint64_t step);
};

/* What other threads may see of a job while it runs. */
struct progress {
    _Atomic uint64_t global_step;
    _Atomic float loss;          /* of a recent batch */
    _Atomic int64_t began_ns;    /* the first step's start, by the clock; 0: not yet */
    _Atomic int64_t ended_ns;    /* the chief's last step's end */
    _Atomic uint64_t first_step; /* the global step at began_ns */
    _Atomic bool stop;           /* ends the job at each worker's next step */
    _Atomic bool over;           /* it has ended well, or is stopped: for the evaluator */
    bool alone;                  /* it has ended, and no ps has ever answered */
    struct status why;           /* it is stopped: set before, if at all; OK: by whoever runs it */
    /* Tells what happens to the job, a line each time; NULL: nobody listens. Set before it runs. */
    void (*say)(void *context, const char *line);
    void *say_context;
};

void progress_say(const struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct saver;

/* The steps of one task that has joined; the chief's saver (or NULL) hears of each. CANCELLED:
 * progress->stop. */
struct status worker_steps(struct client *client, struct gradient_source *source,
                           uint64_t stop_step, struct progress *progress, struct saver *saver);

/* Waits until all ps tasks have the values of one generation, and takes part in it. */
struct status worker_join(struct client *client, int64_t timeout_ms,
                          const struct progress *progress);

/* Does this failure mean that the job goes back, and who joins again takes part again? */
bool worker_may_return(struct status status, const struct client *client,
                       const struct progress *progress);

/* What the others are told of a task whose progress was stopped: where, and why. */
struct status worker_stopped(const struct client *client, const struct progress *progress);

/* Tells the ps tasks how this task ended (job: and with it the job), as far as they are there, and
 * returns it with a text that the calls have not worn out. */
struct status worker_last_words(struct client *client, struct status status, bool job);

/* How a task ended: one that a ps has told that the job is over takes the job's outcome for its
 * own.
 */
struct status worker_settle(struct status status, struct client *client,
                            const struct progress *progress);

struct worker_options {
    uint64_t stop_step;
    int64_t start_timeout_ms;
    int64_t recovery_timeout_ms; /* for the chief to begin again after a ps was lost */
};

/* A worker from joining to the job's end, whose outcome is its own unless it failed itself. */
struct status worker_run(struct client *client, struct gradient_source *source,
                         const struct worker_options *options, struct progress *progress);

#endif
