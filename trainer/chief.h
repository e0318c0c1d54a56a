/*
 * chief: the worker that makes the variables, trains as the others do, waits for them at the end,
 * and then saves what was learnt. How that goes is the outcome of the job.
 */
#ifndef TRAINER_CHIEF_H
#define TRAINER_CHIEF_H

#include "trainer/worker.h"

struct chief_options {
    struct client_job job;
    /* First values of all variables, [variables_count], in `arena`, which lives until the ps tasks
     * have them. */
    const void *const *(*first_values)(void *context, struct arena *arena);
    int64_t start_timeout_ms, finish_timeout_ms;
    /* After the last step, with the final values in client->values: tests, exports. */
    struct status (*conclude)(void *context, struct client *client);
    void *context;
    void (*warn)(void *context, const char *text); /* a worker that did not finish, say */
};

struct status chief_run(struct client *client, struct gradient_source *source,
                        const struct chief_options *options, struct progress *progress);

#endif
