/*
 * cluster: a whole job inside one process: ps tasks, workers and the chief (worker 0), each worker
 * in a thread of its own, joined by loopback channels. The same ps, worker and chief code that
 * separate processes run.
 */
#ifndef TRAINER_CLUSTER_H
#define TRAINER_CLUSTER_H

#include "trainer/chief.h"

struct cluster_options {
    const struct placement *placement;
    uint32_t workers;
    struct chief_options chief;
    /* A source of gradients for worker `index`; destroyed when it ends. */
    struct status (*make_source)(void *context, uint32_t index, struct gradient_source **out);
    void *context;
    /* Called about ten times a second, in the caller's thread; false: stop the job. */
    bool (*watch)(void *context, const struct progress *progress);
    /* A worker but the chief ended with a failure: training goes on without it. */
    void (*lost)(void *context, uint32_t index, struct status status);
};

/**
 * Runs the job to its end.
 *
 * Errors  the chief's outcome; CANCELLED when `watch` said stop
 */
struct status cluster_run(const struct cluster_options *options, struct progress *progress);

#endif
