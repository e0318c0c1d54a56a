/*
 * job_map: the tasks of a job, their addresses, and which task this process is.
 *
 * The first of these that is present defines it: --ps_hosts, --worker_hosts and --chief_hosts;
 * TF_CONFIG, as Kubernetes operators set it; the variables of Slurm or MPI (job_ranks.h). All tasks
 * of a job get the same lists; a task's index is its place in its list. In a sparse map
 * (TF_CONFIG's sparseCluster) a ps knows only itself, and a worker knows the ps tasks and itself.
 *
 * Each task that trains has a rank: the chief has 0, and the workers follow in the order of their
 * indices. Without a separate chief, worker 0 is the chief. The rank decides a task's share of the
 * rows and its place in a synchronous sum.
 */
#ifndef TRAINER_JOB_JOB_MAP_H
#define TRAINER_JOB_JOB_MAP_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

#define JOB_TASKS_MAX 4096 /* in one list */

enum job_kind { JOB_PS, JOB_WORKER, JOB_CHIEF, JOB_EVALUATOR };
#define JOB_KINDS 4

struct job_task {
    uint32_t index;
    const char *address; /* "host:port", "[v6]:port" */
};

struct job_list {
    struct job_task *tasks; /* in ascending order of indices */
    int count;
};

struct job_map {
    struct job_list lists[JOB_KINDS]; /* by kind; at most one chief */
    bool sparse;
    bool master;     /* the chief is called master, as before TensorFlow 1.4 */
    bool lacks_task; /* TF_CONFIG has a cluster, but no task: this process trains alone */
    bool has_self;   /* false: this process, such as doctor's, is none of the tasks */
    enum job_kind kind;
    uint32_t index;
    const char *source; /* the source of the description, for messages: "TF_CONFIG"; NULL for a
                         * local job */
};

/* The flags that describe a job; "" and a negative index: not given. */
struct job_flags {
    const char *ps_hosts, *worker_hosts, *chief_hosts, *job_name;
    int64_t task_index;
    /* For tasks started by Slurm or MPI; 0 ps tasks: each process is a separate job */
    int64_t num_ps, first_port;
    const char *hosts;
};

/* The environment of the process. */
struct job_variables {
    const char *(*get)(void *context, const char *name); /* NULL: not set */
    void *context;
};

/**
 * Reads the map from the flags; if they name no hosts, from TF_CONFIG; and if that is absent, from
 * the variables of Slurm or MPI. *out is empty (job_map_is_local) if none describes more than this
 * process.
 *
 * need_self  this process must be one of the tasks
 * Owner      everything in *out lives in `arena`
 * Errors     INVALID_ARGUMENT an index out of range, no ps, two tasks at one address,
 *            not JSON; UNIMPLEMENTED an unknown job name
 */
struct status job_map_read(const struct job_flags *flags, const struct job_variables *variables,
                           bool need_self, struct arena *arena, struct job_map *out);

/* TF_CONFIG alone. */
struct status job_map_parse(const char *tf_config, bool need_self, struct arena *arena,
                            struct job_map *out);

bool job_map_is_local(const struct job_map *map); /* no ps: the whole job runs in this process */
bool job_map_is_chief(const struct job_map *map);
uint32_t job_map_rank(const struct job_map *map); /* of this worker or chief */
/* The number of tasks that train; 0 in a sparse map, where it is unknown. */
uint32_t job_map_trainers(const struct job_map *map);

/* The name of a task in messages: "worker 3", "chief". */
const char *job_task_name(const struct job_map *map, enum job_kind kind, uint32_t index,
                          struct arena *arena);
/* NULL: no such task. */
const struct job_task *job_find(const struct job_map *map, enum job_kind kind, uint32_t index);
const struct job_task *job_self(const struct job_map *map);

/* The addresses of the ps tasks, in order, joined by commas. All tasks must agree on it. */
const char *job_map_ps_list(const struct job_map *map, struct arena *arena);

/* ---- for the readers of flags and of TF_CONFIG ---- */

bool job_has_many(enum job_kind kind); /* such tasks need an index */
struct status job_kind_parse(const char *name, struct job_map *map, enum job_kind *out);
struct status job_check_address(const char *address);
/* Sorts the lists by index, and checks that they are consistent. */
struct status job_map_check(struct job_map *map, bool need_self, struct arena *arena);

#endif
