/*
 * task: one task of a cluster, as a process: a ps that serves until the job is over, a worker or
 * chief that trains, or an evaluator. It runs the same ps, worker and chief code as a job in one
 * process (local_job.c), over channels to other hosts.
 *
 * A task listens at its own address and identifies itself to anyone who asks there (identify.h). It
 * logs its waits and events, each line prefixed by its name.
 */
#ifndef TRAINER_JOB_TASK_H
#define TRAINER_JOB_TASK_H

#include "trainer/job/chief.h"
#include "trainer/job/evaluator.h"
#include "trainer/job/job_map.h"

struct task_options {
    const struct job_map *map;
    const char *cluster; /* the job's id; tasks with another one are refused */
    const char *version; /* of the program */
    int64_t start_timeout_ms, linger_timeout_ms;
    int64_t memory_budget_bytes;             /* of a ps */
    const char *tls_cert, *tls_key, *tls_ca; /* files; "": plain */
    const char *token;                       /* a secret that all tasks share; NULL: none */
    /* Called about ten times a second, in the caller's thread; false: stop. A ps passes NULL for
     * progress. */
    bool (*watch)(void *context, const struct progress *progress);
    /* logs what a worker, chief or evaluator waits for */
    void (*print)(void *context, const char *line);
    void *context;
};

/* Checks that a task can start with these options. Reads the TLS files. */
struct status task_check(const struct task_options *options);

/**
 * Runs a ps until the job is over. Logs the job's outcome and returns it.
 *
 * Errors  the outcome's; UNAVAILABLE no task was heard from in time; CANCELLED `watch` returned
 *         false
 */
struct status task_serve(const struct task_options *options);

struct task_training {
    const struct placement *placement;
    const char *agreed;         /* as in struct ps_client_options */
    struct chief_options chief; /* the chief's; workers use its job and timeouts */
    struct evaluator_options evaluator;
    int64_t alone_timeout_ms; /* time to wait for any ps; negative: start_timeout */
    /* Makes the source for this task, whose client has not joined yet. */
    struct status (*make_source)(void *context, struct ps_client *client,
                                 struct gradient_source **out);
};

/**
 * Runs a worker, the chief or the evaluator until the job is over.
 *
 * Errors  the task's own; for a worker that did not fail itself, the job's outcome; UNAVAILABLE a
 *         ps did not answer in time; FAILED_PRECONDITION its flags do not match a ps's; CANCELLED
 *         `watch` returned false
 */
struct status task_train(const struct task_options *options, const struct task_training *training,
                         struct progress *progress);

/* Tells the ps tasks why this task cannot start. If it is the chief, and the job has not begun, the
 * job ends with this. Waits at most a few seconds for a ps that does not answer. */
void task_report_refusal(const struct task_options *options, struct status why);

/* The exit code for a status: 0; 1 if restarting the task cannot help; TASK_EXIT_AGAIN if it
 * can. */
int task_exit_code(struct status status);

#define TASK_EXIT_AGAIN 138 /* Kubernetes operators restart a task that exits with it */

#endif
