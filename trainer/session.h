/*
 * session: one run of pstrain: its options, data and model, and its job, either the whole job in
 * this process or one task of a cluster.
 */
#ifndef TRAINER_SESSION_H
#define TRAINER_SESSION_H

#include "trainer/metrics_log.h"
#include "trainer/model.h"
#include "trainer/options.h"
#include "trainer/report.h"
#include "trainer/job/task.h"

#define FINISHED_WAIT_MS 10000 /* as long as a ps stays after the job's end */

struct session {
    struct arena *arena;
    struct options options;
    const _Atomic int *stop_signal; /* not 0: stop */
    struct data *data;
    struct training_graph graph;
    struct model *model;
    struct placement placement;
    struct checkpoint_dir *checkpoints; /* NULL: no checkpoints */
    struct progress progress;
    struct report report;
    struct metrics_log *metrics; /* NULL: none */
    struct loss_plot plot;       /* used by the chief's thread */
    bool trains;                 /* the log says that training has begun */
    bool exported;
    bool finished; /* before this process began: nothing is left to do but to tell the ps tasks */
    int64_t spoke_ns; /* when a worker last logged its step */
};

bool session_is_local(const struct session *session); /* the whole job runs in this process */
bool session_is_ps(const struct session *session);
bool session_is_chief(const struct session *session);

/**
 * Does what can fail because of the options, before training: reads the data, makes the model,
 * checks the directories. A ps needs none of this.
 *
 * Errors  each ends the program with exit code 2
 */
struct status session_prepare(struct session *session);

/* Trains and exports, or serves, until the job is over. */
struct status session_run(struct session *session);

void session_finish(struct session *session);

/* Opens the files of --metrics_file and --log_dir, if this task writes them. */
struct status session_open_metrics(struct session *session);

/* Exports, unless --noexport was given, and prints where. */
struct status session_export(struct session *session, struct ps_client *client);
/* Sets `finished` if a chief before this one made the last step and its results are complete on
 * disk. Reads the last checkpoint, and compares the export with it byte for byte. */
void session_check_finished(struct session *session);
/* The failure of a chief without checkpoints that no ps has answered. If its export may already
 * exist, so that it need not be started again, the text says that. Otherwise `why`. */
struct status session_explain_alone(const struct session *session, struct status why);
/* ALREADY_EXISTS: the job begins at this step, and its export directory holds another export. */
struct status session_check_begin(const struct session *session, uint64_t step);

/* The session's options as a task, also for `pstrain doctor`. */
struct task_options session_task_options(struct session *session);

#endif
