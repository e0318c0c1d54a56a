/*
 * host_list: lists of hosts as Slurm writes them, and how many tasks each host has.
 *
 *     node[01-03,7],gpu1     node01 node02 node03 node7 gpu1
 *     rack[1-2]n[0-1]        rack1n0 rack1n1 rack2n0 rack2n1
 *     a:2,b                  a a b                               for --hosts: a count after a host
 *     2(x3),1                2 2 2 1                             numbers of tasks
 *
 * The numbers of a range have at least as many digits as its first number. Hosts keep their order,
 * and duplicates are kept.
 */
#ifndef TRAINER_JOB_HOST_LIST_H
#define TRAINER_JOB_HOST_LIST_H

#include "base/arena.h"
#include "base/status.h"

struct host_list {
    const char **hosts;
    int count;
};

/* Errors  INVALID_ARGUMENT gives the position of the syntax error; more than JOB_TASKS_MAX hosts.
 * Owner   *out lives in `arena` */
struct status host_list_expand(const char *text, struct arena *arena, struct host_list *out);

struct task_counts {
    int *list;
    int count;
};

/* SLURM_STEP_TASKS_PER_NODE. Errors and owner as above. */
struct status task_counts_expand(const char *text, struct arena *arena, struct task_counts *out);

#endif
