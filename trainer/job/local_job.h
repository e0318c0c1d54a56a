/*
 * local_job: a whole job in one process. The ps tasks are objects, each worker is a thread, worker
 * 0 is the chief, and loopback channels connect them. The ps, the workers and the chief run the
 * same code as in separate processes.
 */
#ifndef TRAINER_JOB_LOCAL_JOB_H
#define TRAINER_JOB_LOCAL_JOB_H

#include "trainer/job/chief.h"

struct local_job_options {
    const struct placement *placement;
    uint32_t workers;
    struct chief_options chief;
    /* Makes the source of gradients for the worker with this client, which is destroyed when the
     * worker ends. The client has not joined yet. */
    struct status (*make_source)(void *context, struct ps_client *client,
                                 struct gradient_source **out);
    void *context;
    /* Called about ten times a second, in the caller's thread; false stops the job. */
    bool (*watch)(void *context, const struct progress *progress);
    /* A worker other than the chief failed; training continues without it. */
    void (*lost)(void *context, uint32_t index, struct status status);
};

/**
 * Runs the job to its end.
 *
 * Errors  the chief's outcome; CANCELLED `watch` returned false
 */
struct status local_job_run(const struct local_job_options *options, struct progress *progress);

#endif
