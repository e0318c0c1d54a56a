/*
 * lossy_task: runs the chief or a worker of a job over a lossy network (lossy.h) in a thread. It
 * calls the trainer's own chief_run or worker_run, with arithmetic in place of a model. The job has
 * one variable, "w", of LOSSY_ELEMENTS floats that start at 0 and are divided among all ps tasks.
 * If it is placed by rows, a step pulls and pushes only those that lossy_has_row names.
 *
 *     lossy_place(ps_count, by_rows, &placement);
 *     lossy_task_start(&task, &options);
 *     pthread_join(task.thread, NULL);          then task.code and task.text
 *     lossy_task_finish(&task);                 before its channels are closed
 */
#ifndef TESTS_LOSSY_TASK_H
#define TESTS_LOSSY_TASK_H

#include <stdatomic.h>

#include "support/lossy.h"
#include "trainer/job/chief.h"

#define LOSSY_CLUSTER    "lossy"
#define LOSSY_ELEMENTS   24
#define LOSSY_ROW        2 /* elements */
#define LOSSY_ROWS       (LOSSY_ELEMENTS / LOSSY_ROW)
#define LOSSY_WAIT_MS    (3600 * 1000) /* by the network's clock */
#define LOSSY_ATTEMPT_MS 60

struct lossy_task_options {
    struct network *network;
    const struct placement *placement;
    const char *name;    /* "worker 1" */
    const char *ps_list; /* as in struct ps_client_options */
    uint32_t index;      /* 0: the chief */
    uint64_t incarnation;
    struct channel *const *channels, *const *saver_channels; /* [ps_count] each */
    size_t chunk_bytes;                                      /* as in struct ps_client_options */
    struct client_job job;
    const char *checkpoints; /* the chief's directory; NULL: none */
    uint64_t checkpoint_steps;
    /* Computes the gradient of a step from `values`; both [LOSSY_ELEMENTS]. Of rows that the step
     * does not have, the values are 0 and the gradient does not count. */
    void (*compute)(void *context, uint32_t index, uint64_t step, const float *values,
                    float *gradient);
    /* The chief calls this after the last step with the final values and those of a snapshot. */
    void (*conclude)(void *context, uint64_t global_step, const float *values,
                     const float *snapshot);
    void (*warn)(void *context, const char *text);
    void (*say)(void *context, const char *line); /* may be NULL */
    void *context;
};

struct lossy_task {
    struct gradient_source source; /* first */
    struct lossy_task_options options;
    struct ps_client client;
    struct progress progress;
    pthread_t thread;
    _Atomic bool done; /* code and text are set; the thread ends */
    enum status_code code;
    char text[256];
    uint64_t step;
    float gradient[LOSSY_ELEMENTS];
    struct variable_gradient gradients[1];
    int64_t ids[2][LOSSY_ROWS]; /* of a step and the one after it */
    struct row_ids rows[2];
};

/* Owner  placement_finish */
void lossy_place(int ps_count, bool by_rows, struct placement *out);

bool lossy_has_row(uint32_t index, uint64_t step, int row);

void lossy_task_start(struct lossy_task *task, const struct lossy_task_options *options);
void lossy_task_finish(struct lossy_task *task);

#endif
