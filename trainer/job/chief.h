/*
 * chief: the worker that also creates the variables. It trains as the other workers do, waits for
 * them after the last step, and then saves and exports. Its outcome is the job's outcome.
 *
 * With checkpoints, training begins at the last one, and after the loss of a ps the chief returns
 * all tasks to it.
 */
#ifndef TRAINER_JOB_CHIEF_H
#define TRAINER_JOB_CHIEF_H

#include "trainer/checkpoint/checkpoint_dir.h"
#include "trainer/job/monitor.h"
#include "trainer/job/worker.h"

/* The directory and the schedule of a job's checkpoints. */
struct chief_checkpoints {
    struct checkpoint_dir *dir; /* NULL: no checkpoints */
    int64_t every_ms;           /* 0: not by time */
    uint64_t every_steps;       /* 0: not by steps */
    /* [ps_count]: for the thread that writes checkpoints, and used by no other thread. */
    struct channel *const *channels;
};

struct chief_options {
    struct client_job job;
    /* The initial values of all variables, *out: [variables_count], in `arena`, which is
     * destroyed once the ps tasks have them. NULL for a variable by rows, whose rows fill_rows
     * returns in parts. */
    struct status (*initial_values)(void *context, struct arena *arena, const void *const **out);
    /* See struct initial_values; NULL: no other source. */
    struct status (*taken_begin)(void *context, int variable, bool *has);
    struct status (*taken_next)(void *context, struct bytes *chunk);
    void (*fill_rows)(void *context, int variable, int64_t first_row, int64_t rows_count,
                      void *out); /* may be NULL if none is */
    struct chief_checkpoints checkpoints;
    struct monitor_options monitor;
    int64_t start_timeout_ms, finish_timeout_ms;
    int64_t recovery_timeout_ms; /* how long to wait for lost ps tasks */
    /* Called with the step at which training begins. A failure refuses to train. NULL: any step
     * is accepted. */
    struct status (*begun)(void *context, uint64_t step);
    /* Called in the chief's thread after each step that the chief has made, and at the end if
     * others have made the last step, with the resulting values in client->values (by rows or keys:
     * client->rows.held). loss: see step_hook. NULL: not called. */
    void (*stepped)(void *context, struct ps_client *client, const float *loss);
    /* Called in the chief's thread when lost ps tasks have their variables back. NULL: not
     * called. */
    void (*recovered)(void *context);
    /* Called after the last step, with the final values in client->values: tests and exports. */
    struct status (*conclude)(void *context, struct ps_client *client);
    void *context;
    void (*warn)(void *context, const char *text); /* such as a worker that did not finish */
};

struct status chief_run(struct ps_client *client, struct gradient_source *source,
                        const struct chief_options *options, struct progress *progress);

#endif
