/*
 * session: one run of pstrain: its options, data and model, and its job, either the whole job in
 * this process or one task of a cluster.
 */
#ifndef TRAINER_SESSION_SESSION_H
#define TRAINER_SESSION_SESSION_H

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/job/task.h"
#include "trainer/model/init_from.h"
#include "trainer/model/model.h"
#include "trainer/options/options.h"
#include "trainer/report/metrics_log.h"
#include "trainer/report/report.h"

#define FINISHED_WAIT_MS 10000 /* how long a ps stays after the job's end */

/* The totals of the training metrics that were logged last. */
struct train_totals {
    double *list; /* in the layout of evaluation_sums_read, in the session's arena; NULL: none
                   * yet */
    uint64_t generation; /* of the job */
};

struct session {
    struct arena *arena;
    struct options options;
    const char *hyperparameters;    /* the contents of their file; "": no file */
    const _Atomic int *stop_signal; /* not 0: stop */

    /* What is trained, and on what. */
    struct data *data;
    struct data *candidates;    /* its training rows are the candidates; NULL: no
                                 * --candidate_files */
    struct init_from *init;     /* NULL: no values come from another model */
    bool takes_from_savedmodel; /* the source of the value that taken_begin has begun */
    struct training_graph graph;
    const struct layers_serving_options *serving; /* of the export; NULL until the data are known */
    struct model *model;
    struct buffer states; /* of the preprocessing layers, for adapt_load; the chief's */
    struct placement placement;

    /* Checkpoints and evaluations. */
    struct checkpoint_dir *checkpoints;      /* NULL: no checkpoints */
    struct checkpoint_dir *best;             /* the best values; NULL: not kept */
    uint64_t evaluate_steps;                 /* for the chief; 0: it evaluates only at the end */
    struct early_stopping stopping, settled; /* settled: the state on disk */
    const char *stopping_path;               /* NULL: not kept on disk */

    /* What people see. Only the chief's thread uses the fields from `totals` to `plot`. */
    struct progress progress;
    struct report report;
    struct metrics_log *metrics; /* NULL: none */
    struct train_totals totals;
    uint64_t histogram_step; /* of the last histograms */
    struct loss_plot plot;
    int64_t spoke_ns; /* when a worker last logged its step */

    /* How far the job is. */
    bool trains; /* the start of training was logged */
    bool exported;
    bool finished; /* before this process began: only the ps tasks remain to be informed */
};

bool session_is_local(const struct session *session); /* the whole job runs in this process */
bool session_is_ps(const struct session *session);
bool session_is_chief(const struct session *session);

/**
 * Does everything that can fail because of the options, before training: reads the data, builds the
 * model, checks the directories. A ps needs none of this.
 *
 * Errors  each ends the program with exit code 2
 */
struct status session_prepare(struct session *session);

/* Trains and exports, or serves, until the job is over. */
struct status session_run(struct session *session);

void session_finish(struct session *session);

/* Limit of the task's memory (for a ps, of its variables): --memory_budget_bytes. */
int64_t session_memory_budget(const struct session *session);

/* The session's options as a task, also for `pstrain doctor`. */
struct task_options session_task_options(struct session *session);

/* ---- evaluations: session/evaluate.c ---- */

/* Prepares the evaluations of this task during training. Reads the results of an earlier chief;
 * if that had stopped the job early, its last step is the job's. */
struct status session_prepare_evaluation(struct session *session);

/* Options for the monitor and the evaluator. */
struct monitor_options session_monitor_options(struct session *session);
struct status session_evaluate(void *context, uint64_t step, const void *const *values,
                               struct client_snapshot *snapshot, const _Atomic bool *enough,
                               struct verdict *out);

/* Logs the values under the names of TensorFlow's Estimator. name NULL: of the training rows of
 * all workers. */
void session_log_evaluation(struct session *session, const char *name, uint64_t step,
                            const struct evaluation *evaluation);

/* Called by the chief after the last step: evaluates and exports. */
struct status session_conclude(void *context, struct ps_client *client);

/* Opens the best checkpoint if it is to be exported. NULL: the last values are. Owner:
 * checkpoint_close. `layout` outlives it. */
struct status session_open_best(const struct session *session, struct checkpoint_layout *layout,
                                struct checkpoint **out);

/* ---- metrics: session/metrics.c ---- */

/* Opens the files of --metrics_file and --log_dir, if this task writes them. */
struct status session_open_metrics(struct session *session);

/* See chief_options.stepped. */
void session_stepped(void *context, struct ps_client *client, const float *loss);

/* ---- the export: session/export.c ---- */

/* Exports these values, unless --noexport was given, and prints the directory. */
struct status session_export(struct session *session, struct value_source *source);
/* Takes a snapshot for the export. Owner: client_snapshot_end. */
struct status session_snapshot(struct ps_client *client, bool slots, struct client_snapshot *out);
/* Sets `finished` if an earlier chief made the last step and its results are complete on disk.
 * Reads the last checkpoint, and compares the export with it byte by byte. */
void session_check_finished(struct session *session);
/* The failure of a chief without checkpoints that no ps has answered. If its export may already
 * exist, so that a restart is unnecessary, the text says that. Otherwise `why`. */
struct status session_explain_alone(const struct session *session, struct status why);
/* ALREADY_EXISTS: the job begins at this step, and its export directory has another export. */
struct status session_check_begin(const struct session *session, uint64_t step);

#endif
