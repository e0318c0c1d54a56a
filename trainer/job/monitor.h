/*
 * monitor: the chief's evaluations while it trains. At each multiple of so many steps, it evaluates
 * the values, keeps them as a checkpoint if they are the best so far, and ends the training of all
 * tasks if the evaluation says that it is enough. What is best and enough is the caller's to say.
 *
 * In an asynchronous job, the other workers go on meanwhile. What is kept is what was evaluated: a
 * snapshot. In a synchronous job, they wait with their next step.
 */
#ifndef TRAINER_JOB_MONITOR_H
#define TRAINER_JOB_MONITOR_H

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
    uint64_t last_step;              /* of the last evaluation */
    struct all_values *values;       /* NULL until needed */
};

/* The job is at `step`. Owner: monitor_finish. */
void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, uint64_t step);
void monitor_finish(struct monitor *monitor);

/* Is an evaluation due at this step? */
bool monitor_is_due(const struct monitor *monitor, uint64_t step);

/* The chief has made a step, and client->values are those after it. saver: NULL without
 * checkpoints. *enough ends a long evaluation. */
struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough);

#endif
