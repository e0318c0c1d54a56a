/*
 * monitor: the chief's evaluations while it trains. Every `steps` steps, it evaluates the values,
 * keeps them as a checkpoint if they are the best so far, and ends the training of all tasks if the
 * caller's verdict says so.
 *
 * In an asynchronous job, all workers continue meanwhile, including the chief: it evaluates a
 * snapshot in a separate thread, and waits only if the next evaluation is due before that one has
 * ended. In a synchronous job, all workers wait for the verdict, so that the step at which the job
 * ends depends only on the data; they do not wait until the best values are on the disk. The
 * checkpoint has exactly the values that were evaluated.
 */
#ifndef TRAINER_JOB_MONITOR_H
#define TRAINER_JOB_MONITOR_H

#include <pthread.h>

#include "trainer/checkpoint/saver.h"
#include "trainer/client/all_values.h"

/* The caller's decision after an evaluation. */
struct verdict {
    bool best; /* better than all before */
    bool stop; /* the job need not go on */
};

struct monitor_options {
    uint64_t every_steps;        /* 0: no evaluation while training */
    uint64_t evaluated_step;     /* the step of the last evaluation, of a process before this one */
    struct checkpoint_dir *best; /* directory of the best values, in a job with checkpoints;
                                  * NULL: not kept */
    /* values: [variables_count], NULL for a variable by rows, whose rows are in the snapshot
     * (NULL: there are no such variables). CANCELLED: *enough became true. */
    struct status (*evaluate)(void *context, uint64_t step, const void *const *values,
                              struct client_snapshot *snapshot, const _Atomic bool *enough,
                              struct verdict *out);
    /* Called when the best values are on disk, or with `kept` false when that failed. */
    void (*settled)(void *context, bool kept);
    void (*warn)(void *context, const char *text);
    void *context;
};

struct monitor {
    const struct monitor_options *options;
    struct checkpoint_layout layout; /* of the best checkpoint */
    bool waits;                      /* the chief waits for each verdict */
    uint64_t last_step;              /* of the last evaluation that was begun */
    struct all_values *values;       /* NULL until needed */
    /* The running evaluation, in its thread. */
    bool runs; /* there is one: the thread must be joined */
    pthread_t thread;
    struct ps_client client;
    struct saver *saver;
    uint64_t step;
    const void *const *shown; /* the values, unless it reads a snapshot */
    _Atomic bool enough, over;
    _Atomic bool judged;    /* the verdict is known */
    struct verdict verdict; /* read it when `judged` or `over` is set */
    struct status status;   /* held */
};

/* The client has joined a job that is at client->global_step. Owner: monitor_finish. */
void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, const struct ps_client *client,
                  bool waits);
void monitor_finish(struct monitor *monitor);

/* Is an evaluation due at this step? */
bool monitor_is_due(const struct monitor *monitor, uint64_t step);

/* The chief has made a step, and client->values are the values after it. saver: NULL without
 * checkpoints. *enough ends a long evaluation. */
struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough);

/* Waits for the running evaluation. */
struct status monitor_wait(struct monitor *monitor, const _Atomic bool *enough);

/* Cancels the running evaluation, because the job returns to an earlier step. */
void monitor_drop(struct monitor *monitor);

#endif
