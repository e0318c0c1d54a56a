/*
 * session: one run of pstrain: what it was asked for, the data, the model, and the job that it
 * makes of them: the whole in this process, or one task of a cluster.
 */
#ifndef TRAINER_SESSION_H
#define TRAINER_SESSION_H

#include "trainer/model.h"
#include "trainer/options.h"
#include "trainer/report.h"
#include "trainer/task.h"

struct session {
    struct arena *arena;
    struct options options;
    const _Atomic int *stop_signal; /* not 0: stop */
    struct data *data;
    struct model *model;
    struct placement placement;
    struct checkpoint_dir *checkpoints; /* NULL: none are kept */
    struct progress progress;
    struct report report;
    bool trains; /* said in the log */
    bool exported;
    int64_t spoke_ns; /* when a worker last said where it is */
};

bool session_is_local(const struct session *session); /* the whole job in this process */
bool session_is_ps(const struct session *session);
bool session_is_chief(const struct session *session);

/**
 * Everything that can fail because of what was asked for, before anything is trained: reads the
 * data, makes the model, looks at the directories. A ps needs none of it.
 *
 * Errors  each ends the program with exit code 2
 */
struct status session_prepare(struct session *session);

/* Trains and exports, or serves, until the job is over. */
struct status session_run(struct session *session);

void session_finish(struct session *session);

/* Exports, unless that is not wanted, and says where to. */
struct status session_export(struct session *session, struct client *client);
/* No ps has answered: is it because the job is finished, and its model exported? */
bool session_was_finished(struct session *session);
/* ALREADY_EXISTS: the job begins at this step, and the directory for its export holds another. */
struct status session_check_begin(const struct session *session, uint64_t step);

/* How the session is a task, also for `pstrain doctor`. */
struct task_options session_task_options(struct session *session);

#endif
