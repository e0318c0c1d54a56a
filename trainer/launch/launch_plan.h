/*
 * launch_plan: the tasks that `pstrain launch` starts, their hosts, and their commands.
 *
 * The tasks are assigned to the hosts round-robin: ps 0, ps 1, …, worker 0, worker 1, …. The tasks
 * of a host listen at first_port, first_port + 1, ….
 */
#ifndef TRAINER_LAUNCH_LAUNCH_PLAN_H
#define TRAINER_LAUNCH_LAUNCH_PLAN_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

struct launch_request {
    const char *hosts;       /* in the syntax of host_list.h; user@host for ssh */
    int num_ps, num_workers; /* num_workers 0: one task per host, and at least one worker */
    int first_port;
    const char *ssh;                 /* the command before the host, words separated by spaces */
    const char *program, *directory; /* of each task, on its host */
    const char *const *environment;  /* "NAME=value" or "NAME": the launcher's value */
    int environment_count;
    int stop_timeout_s;
    char **flags; /* of each task */
    int flags_count;
};

struct launched_task {
    const char *name; /* "worker 3" */
    const char *host; /* as given */
    char **argv;      /* the local command, ended by NULL */
};

struct launch_plan {
    struct launched_task *tasks;
    int count;
};

/**
 * Owner   *out lives in `arena`, and uses the request's texts
 * Errors  INVALID_ARGUMENT names the flag: no hosts, localhost beside other hosts, a flag of the
 *         tasks that the launcher sets, an environment variable without a value
 */
struct status launch_plan_make(const struct launch_request *request, struct arena *arena,
                               struct launch_plan *out);

/* Prints the task's command as one would type it in a shell. */
void launch_plan_print(const struct launched_task *task, struct buffer *out);

#endif
