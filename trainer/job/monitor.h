/*
 * monitor: the chief's evaluations while it trains. After every `steps` steps, it evaluates
 * the values, keeps them as a checkpoint if they are the best so far, and ends the training of all
 * tasks if the evaluation says that it is enough. The caller decides what is best and enough.
 *
 * In an asynchronous job, all workers go on meanwhile. So does the chief: it evaluates the values
 * of a moment in a thread of their own, and waits only if the next evaluation is due before one has
 * ended. In a synchronous job, all workers wait, so that the job ends at a step that follows from
 * the data alone. What is kept is what was evaluated: a snapshot.
 */
#ifndef TRAINER_JOB_MONITOR_H
#define TRAINER_JOB_MONITOR_H

#include <pthread.h>

#include "trainer/checkpoint/saver.h"
#include "trainer/client/all_values.h"

/* What follows from an evaluation. */
struct verdict {
    bool best; /* better than all before */
    bool stop; /* the job need not go on */
};

struct monitor_options {
    uint64_t every_steps;        /* 0: no evaluation while training */
    uint64_t evaluated_step;     /* the step of the last evaluation, of a process before this one */
    struct checkpoint_dir *best; /* where the best values are kept, by a job with checkpoints; NULL:
                                    they are not */
    /* values: [variables_count], NULL for a variable by rows, whose rows are in the snapshot (NULL:
     * there are no such variables). CANCELLED: *enough has become true. */
    struct status (*evaluate)(void *context, uint64_t step, const void *const *values,
                              struct client_snapshot *snapshot, const _Atomic bool *enough,
                              struct verdict *out);
    /* The best values are on disk. If that has failed, `kept` is false. */
    void (*settled)(void *context, bool kept);
    void (*warn)(void *context, const char *text);
    void *context;
};

struct monitor {
    const struct monitor_options *options;
    struct checkpoint_layout layout; /* of the best checkpoint */
    bool waits;                      /* the chief does, for each evaluation */
    uint64_t last_step;              /* of the last evaluation that was begun */
    struct all_values *values;       /* NULL until needed */
    /* The evaluation under way, in its thread. */
    bool runs; /* there is one: the thread is to be joined */
    pthread_t thread;
    struct ps_client client;
    struct saver *saver;
    uint64_t step;
    _Atomic bool enough, over;
    struct verdict verdict;
    struct status status; /* held */
};

/* The job that the client has joined is at its client->global_step. Owner: monitor_finish. */
void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, const struct ps_client *client,
                  bool waits);
void monitor_finish(struct monitor *monitor);

/* Is an evaluation due at this step? */
bool monitor_is_due(const struct monitor *monitor, uint64_t step);

/* The chief has made a step, and client->values are those after it. saver: NULL without
 * checkpoints. *enough ends a long evaluation. */
struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough);

/* Waits for the evaluation under way. */
struct status monitor_wait(struct monitor *monitor, const _Atomic bool *enough);

/* Ends the evaluation under way without a result, since the job goes back. */
void monitor_drop(struct monitor *monitor);

#endif
