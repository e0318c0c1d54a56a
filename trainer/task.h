/*
 * task: one task of a cluster as a process of its own: a ps that serves until the job is over, a
 * worker or chief that trains, or an evaluator that looks on. The same ps.c, worker.c and chief.c
 * as within one process (cluster.c), over channels that lead to other hosts.
 *
 * A task listens at its own address, and whoever asks there is told who it is (identify.h). It
 * writes its waits and what happens to the log, with its name in front.
 */
#ifndef TRAINER_TASK_H
#define TRAINER_TASK_H

#include "trainer/chief.h"
#include "trainer/evaluator.h"
#include "trainer/job_map.h"

struct task_options {
    const struct job_map *map;
    const char *cluster; /* the job's id: tasks of another are refused */
    const char *version; /* of the program */
    int64_t start_timeout_ms, linger_timeout_ms;
    int64_t memory_budget_bytes;             /* of a ps */
    const char *tls_cert, *tls_key, *tls_ca; /* files; "": plain */
    /* Called about ten times a second, in the caller's thread; false: stop. progress: NULL for a
     * ps. */
    bool (*watch)(void *context, const struct progress *progress);
    void (*print)(void *context, const char *line); /* of one that trains, about its waits */
    void *context;
};

/* Can a task begin so? Reads the files of TLS. */
struct status task_check(const struct task_options *options);

/**
 * A ps, until the job is over: returns its outcome, which it has written to the log.
 *
 * Errors  the outcome's; UNAVAILABLE nobody was there for too long; CANCELLED `watch` said stop
 */
struct status task_serve(const struct task_options *options);

struct task_training {
    const struct placement *placement;
    const char *agreed;         /* as in struct client_options */
    struct chief_options chief; /* the chief's, and for everybody its job and timeouts */
    struct evaluator_options evaluator;
    /* Of this task's rank. */
    struct status (*make_source)(void *context, uint32_t rank, struct gradient_source **out);
};

/**
 * A worker, the chief or the evaluator, from its first sight of the ps tasks to the job's end.
 *
 * Errors  the chief's own; a worker's own, else the job's outcome; UNAVAILABLE a ps was not there
 *         for too long; FAILED_PRECONDITION it has been told something else than a ps; CANCELLED
 *         `watch` said stop
 */
struct status task_train(const struct task_options *options, const struct task_training *training,
                         struct progress *progress);

/* The exit code of a process that ended so: 0; below 128 when it is no use to start it again; 128
 * and more when it may be. */
int task_exit_code(struct status status);

#define TASK_EXIT_AGAIN 138 /* what Kubernetes' operators take for "start it again" */

#endif
