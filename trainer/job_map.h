/*
 * job_map: the tasks of a job and their addresses, and which of them this process is.
 *
 * From --ps_hosts and its kin, or from TF_CONFIG as Kubernetes operators write it. All tasks of a
 * job are given the same lists; the index of a task is its place in its list. In a sparse map
 * (TF_CONFIG's sparseCluster) a ps knows only itself, and a worker the ps tasks and itself.
 *
 * Who trains has a rank: the chief 0, the workers behind it in the order of their indices; without
 * a chief of its own the job's worker 0 is the chief. The rank decides a task's share of the rows
 * and its place in a synchronous sum.
 */
#ifndef TRAINER_JOB_MAP_H
#define TRAINER_JOB_MAP_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

#define JOB_TASKS_MAX 4096 /* of one list */

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
    struct job_list lists[JOB_KINDS]; /* the chief's has at most one */
    bool sparse;
    bool master;   /* the chief is called master, its name before TensorFlow 1.4 */
    bool has_self; /* whoever only looks, as doctor does, is none of the tasks */
    enum job_kind kind;
    uint32_t index;
};

/* What the command line says; "" and a negative index: not given. */
struct job_flags {
    const char *ps_hosts, *worker_hosts, *chief_hosts, *job_name;
    int64_t task_index;
};

/**
 * Reads the map from the flags, or, where they name no hosts, from the text of TF_CONFIG (NULL: not
 * set). *out is empty (job_map_is_local) when neither describes more than this process alone.
 *
 * need_self  this process is to be one of the tasks
 * Owner      what out points to lives in `arena`
 * Errors     INVALID_ARGUMENT what is wrong, and where: both given, index out of range, no ps, two
 *            tasks at one address, text that is not JSON; UNIMPLEMENTED a job of another name
 */
struct status job_map_read(const struct job_flags *flags, const char *tf_config, bool need_self,
                           struct arena *arena, struct job_map *out);

/* TF_CONFIG alone. */
struct status job_map_parse(const char *tf_config, bool need_self, struct arena *arena,
                            struct job_map *out);

bool job_map_is_local(const struct job_map *map); /* no ps: the whole job in this process */
bool job_map_is_chief(const struct job_map *map);
/* The rank of this worker or chief, and of how many: 0 in a sparse map, which does not tell. */
uint32_t job_map_rank(const struct job_map *map);
uint32_t job_map_trainers(const struct job_map *map);

const char *job_kind_name(const struct job_map *map, enum job_kind kind); /* "ps", "master" */
/* "worker 3", "chief": the name of a task in every line about it. */
const char *job_task_name(const struct job_map *map, enum job_kind kind, uint32_t index,
                          struct arena *arena);
/* NULL: no such task. */
const struct job_task *job_find(const struct job_map *map, enum job_kind kind, uint32_t index);
const struct job_task *job_self(const struct job_map *map);

/* The addresses of the ps tasks joined by commas, in order: what all tasks must agree on. */
const char *job_map_ps_list(const struct job_map *map, struct arena *arena);

/* ---- For the two readers. ---- */

bool job_has_many(enum job_kind kind); /* an index says which one is meant */
struct status job_kind_parse(const char *name, struct job_map *map, enum job_kind *out);
struct status job_check_address(const char *address);
/* Is the whole consistent? The lists are sorted by it. */
struct status job_map_check(struct job_map *map, bool need_self, struct arena *arena);

#endif
