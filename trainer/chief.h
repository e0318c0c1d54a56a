/*
 * chief: the worker that makes the variables, trains as the others do, waits for them at the end,
 * and then saves what was learnt. How that goes is the outcome of the job.
 *
 * With checkpoints it begins where the last one was made, and after the loss of a ps takes all
 * tasks back to it.
 */
#ifndef TRAINER_CHIEF_H
#define TRAINER_CHIEF_H

#include "trainer/checkpoint_dir.h"
#include "trainer/worker.h"

/* Where a job's checkpoints go and when they are made. */
struct chief_checkpoints {
    struct checkpoint_dir *dir; /* NULL: none are made, and none is gone back to */
    int64_t every_ms;           /* 0: not by time */
    uint64_t every_steps;       /* 0: not by steps */
    /* The thread that writes them calls by these, [ps_count]: no other thread has them. */
    struct channel *const *channels;
};

struct chief_options {
    struct client_job job;
    /* First values of all variables, [variables_count], in `arena`, which lives until the ps tasks
     * have them. */
    const void *const *(*first_values)(void *context, struct arena *arena);
    struct chief_checkpoints checkpoints;
    int64_t start_timeout_ms, finish_timeout_ms;
    int64_t recovery_timeout_ms; /* for lost ps tasks to come back */
    /* The job begins at this step: may it? NULL: always. */
    struct status (*begun)(void *context, uint64_t step);
    /* After the last step, with the final values in client->values: tests, exports. */
    struct status (*conclude)(void *context, struct client *client);
    void *context;
    void (*warn)(void *context, const char *text); /* a worker that did not finish, say */
};

struct status chief_run(struct client *client, struct gradient_source *source,
                        const struct chief_options *options, struct progress *progress);

#endif
