/*
 * job_ranks: the tasks of a job that Slurm or MPI has started, which number them from 0 (ranks).
 *
 *     Slurm      a step of several tasks: SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST,
 *                SLURM_STEP_TASKS_PER_NODE, SLURM_DISTRIBUTION
 *     Open MPI   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *     MPICH      PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS; Intel MPI has the same
 *
 * Ranks 0 … ps_count - 1 are the ps tasks, the next one is worker 0, and so on. A rank listens at
 * first_port + the number of lower ranks on its host.
 */
#ifndef TRAINER_JOB_JOB_RANKS_H
#define TRAINER_JOB_JOB_RANKS_H

#include "trainer/job/job_map.h"

struct job_ranks {
    const char **hosts; /* [count], of each rank */
    int count;          /* 0: this process was not started with others by Slurm or MPI */
    uint32_t rank;
    const char *source; /* "Slurm", for people */
};

/**
 * hosts   --hosts, for MPI: "a:4,b:4", the hosts of the ranks in order; "": all are on this host
 * Owner   *out lives in `arena`
 * Errors  INVALID_ARGUMENT a variable is missing, not a number, or contradicts another one; MPI on
 *         several hosts without --hosts; UNIMPLEMENTED a distribution of tasks that is neither
 *         block nor cyclic
 */
struct status job_ranks_read(const struct job_variables *variables, const char *hosts,
                             struct arena *arena, struct job_ranks *out);

/* Makes the lists and this task's entry. INVALID_ARGUMENT: no worker or no port is left. */
struct status job_ranks_map(const struct job_ranks *ranks, int64_t ps_count, int64_t first_port,
                            struct arena *arena, struct job_map *out);

#endif
