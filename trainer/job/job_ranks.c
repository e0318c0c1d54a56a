#include "trainer/job/job_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/job/host_list.h"

static const char *get(const struct job_variables *variables, const char *name)
{
    return name != NULL ? variables->get(variables->context, name) : NULL;
}

/* Reads a rank or a number of tasks; -1 if the variable is not set. */
static struct status get_number(const struct job_variables *variables, const char *name, int *out)
{
    const char *text = get(variables, name);
    char *end;

    *out = -1;
    if (text == NULL || *text == '\0')
        return status_ok();
    errno = 0;
    long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
    if (value < 0 || errno != 0 || *end != '\0' || value > JOB_TASKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s is '%.40s', not a number from 0 to %d",
                            name, text, JOB_TASKS_MAX);
    *out = (int)value;
    return status_ok();
}

/* ---- the hosts of the ranks ---- */

/* The number of lower ranks on the rank's host. */
static int local_rank(const struct job_ranks *ranks, uint32_t rank)
{
    int count = 0;

    for (uint32_t i = 0; i < rank; i++)
        count += strcmp(ranks->hosts[i], ranks->hosts[rank]) == 0;
    return count;
}

static int sum(const struct task_counts *counts)
{
    int total = 0;

    for (int i = 0; i < counts->count && total <= JOB_TASKS_MAX; i++)
        total += counts->list[i];
    return total;
}

/* Assigns ranks to hosts. Block: each host's ranks are consecutive. Cyclic: one rank per host
 * round-robin, skipping full hosts. */
static void deal(const struct host_list *hosts, const struct task_counts *counts, bool cyclic,
                 struct job_ranks *ranks)
{
    int dealt = 0;

    for (int round = 0; dealt < ranks->count; round++)
        for (int i = 0; i < hosts->count && dealt < ranks->count; i++)
            for (int k = cyclic ? round : 0; k < counts->list[i]; k++) {
                ranks->hosts[dealt++] = hosts->hosts[i];
                if (cyclic)
                    break;
            }
}

/* ---- Slurm ---- */

static struct status read_cyclic(const struct job_variables *variables, bool *out)
{
    const char *text = get(variables, "SLURM_DISTRIBUTION");
    size_t size = text != NULL ? strcspn(text, ":,") : 0;

    *out = size == 6 && strncmp(text, "cyclic", size) == 0;
    if (*out || size == 0 || (size == 5 && strncmp(text, "block", size) == 0))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "SLURM_DISTRIBUTION is '%.60s': only block and cyclic are known; start the "
                        "step with -m block",
                        text);
}

static struct status read_step_hosts(const struct job_variables *variables, struct arena *arena,
                                     struct job_ranks *ranks)
{
    const char *names = get(variables, "SLURM_STEP_NODELIST");
    const char *tasks = get(variables, "SLURM_STEP_TASKS_PER_NODE");
    struct host_list hosts;
    struct task_counts counts;
    bool cyclic;

    if (names == NULL)
        names = get(variables, "SLURM_JOB_NODELIST");
    if (tasks == NULL)
        tasks = get(variables, "SLURM_TASKS_PER_NODE");
    if (names == NULL || tasks == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "%s is not set",
                            names == NULL ? "SLURM_STEP_NODELIST" : "SLURM_STEP_TASKS_PER_NODE");
    TRY(status_in(host_list_expand(names, arena, &hosts), "SLURM_STEP_NODELIST"));
    TRY(status_in(task_counts_expand(tasks, arena, &counts), "SLURM_STEP_TASKS_PER_NODE"));
    TRY(read_cyclic(variables, &cyclic));
    if (hosts.count != counts.count || sum(&counts) != ranks->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "SLURM_STEP_NODELIST '%.100s' has %d hosts, and "
                            "SLURM_STEP_TASKS_PER_NODE '%.100s' %d tasks on %d hosts, but the step "
                            "has %d tasks",
                            names, hosts.count, tasks, sum(&counts), counts.count, ranks->count);
    deal(&hosts, &counts, cyclic, ranks);
    return status_ok();
}

/* A batch script has SLURM_PROCID too, but is not a step. */
static struct status read_slurm(const struct job_variables *variables, struct arena *arena,
                                struct job_ranks *out)
{
    bool step =
        get(variables, "SLURM_STEP_NODELIST") != NULL || get(variables, "SLURM_STEP_ID") != NULL;
    int rank, count, local;

    TRY(get_number(variables, "SLURM_PROCID", &rank));
    if (rank < 0 || !step)
        return status_ok();
    TRY(get_number(variables, "SLURM_STEP_NUM_TASKS", &count));
    if (count < 0)
        TRY(get_number(variables, "SLURM_NTASKS", &count));
    TRY(get_number(variables, "SLURM_LOCALID", &local));
    if (count < 2)
        return status_ok();
    if (rank >= count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "SLURM_PROCID is %d, but the step has %d tasks", rank, count);
    out->hosts = ARENA_ARRAY(arena, const char *, count);
    out->rank = (uint32_t)rank;
    out->count = count;
    out->source = "Slurm";
    TRY(read_step_hosts(variables, arena, out));
    if (local >= 0 && local != local_rank(out, out->rank))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "SLURM_LOCALID is %d, but rank %d would be number %d on host %s: start "
                            "the step with -m block",
                            local, rank, local_rank(out, out->rank), out->hosts[rank]);
    return status_ok();
}

/* ---- MPI ---- */

static const struct mpi {
    const char *name, *rank, *size, *local_rank, *local_size;
} mpis[] = {
    { "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE" },
    { "MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
};

/* Divides the ranks evenly among hosts without counts. */
static struct status spread(const char *text, struct arena *arena, struct job_ranks *ranks)
{
    struct host_list hosts;
    struct task_counts counts = { .list = ARENA_ARRAY(arena, int, JOB_TASKS_MAX) };

    TRY(status_in(host_list_expand(text, arena, &hosts), "--hosts"));
    if (ranks->count % hosts.count != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--hosts=%.200s: %d places, but %s has started %d tasks; give each "
                            "host's number of tasks, as in a:4,b:2",
                            text, hosts.count, ranks->source, ranks->count);
    for (counts.count = 0; counts.count < hosts.count; counts.count++)
        counts.list[counts.count] = ranks->count / hosts.count;
    deal(&hosts, &counts, false, ranks);
    return status_ok();
}

static struct status place_ranks(const struct mpi *mpi, const struct job_variables *variables,
                                 const char *hosts, struct arena *arena, struct job_ranks *ranks)
{
    int local, local_count;

    TRY(get_number(variables, mpi->local_rank, &local));
    TRY(get_number(variables, mpi->local_size, &local_count));
    if (*hosts == '\0' && local_count == ranks->count)
        hosts = "localhost";
    if (*hosts == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s has started %d tasks, %s: give --hosts, the hosts of the ranks in "
                            "their order, as in a:4,b:4",
                            ranks->source, ranks->count,
                            local_count < 0 ? "and does not tell where"
                                            : "and not all of them on this host");
    TRY(spread(hosts, arena, ranks));
    if (local >= 0 && local != local_rank(ranks, ranks->rank))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s is %d, but by --hosts=%.200s rank %u is number %d on host %s: list "
                            "the hosts in the order of the ranks",
                            mpi->local_rank, local, hosts, ranks->rank,
                            local_rank(ranks, ranks->rank), ranks->hosts[ranks->rank]);
    return status_ok();
}

/* Does not assign the ranks to hosts yet. */
static struct status find_mpi(const struct job_variables *variables, struct arena *arena,
                              const struct mpi **out, struct job_ranks *ranks)
{
    for (size_t i = 0; i < COUNT(mpis); i++) {
        int rank, count;
        TRY(get_number(variables, mpis[i].rank, &rank));
        TRY(get_number(variables, mpis[i].size, &count));
        if (rank < 0 || count < 2)
            continue;
        if (rank >= count)
            return status_error(STATUS_INVALID_ARGUMENT, "%s is %d, but %s is %d", mpis[i].rank,
                                rank, mpis[i].size, count);
        *out = &mpis[i];
        *ranks = (struct job_ranks){ .hosts = ARENA_ARRAY(arena, const char *, count),
                                     .count = count,
                                     .rank = (uint32_t)rank,
                                     .source = mpis[i].name };
        return status_ok();
    }
    return status_ok();
}

/* In a Slurm allocation, mpirun starts a daemon on each host as a step, whose variables the
 * tasks inherit. Their ranks are then those of MPI. */
static bool is_daemon_step(const struct job_ranks *slurm, const struct job_ranks *mpi)
{
    return mpi->count > 0 && (mpi->count != slurm->count || mpi->rank != slurm->rank);
}

struct status job_ranks_read(const struct job_variables *variables, const char *hosts,
                             struct arena *arena, struct job_ranks *out)
{
    struct job_ranks slurm = { 0 }, ranks = { 0 };
    const struct mpi *mpi = NULL;

    *out = (struct job_ranks){ 0 };
    TRY(find_mpi(variables, arena, &mpi, &ranks));
    TRY(read_slurm(variables, arena, &slurm));
    if (slurm.count > 0 && !is_daemon_step(&slurm, &ranks)) {
        if (*hosts != '\0')
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--hosts: Slurm tells the hosts of this step");
        *out = slurm;
        return status_ok();
    }
    if (mpi != NULL)
        TRY(place_ranks(mpi, variables, hosts, arena, &ranks));
    *out = ranks;
    return status_ok();
}

/* ---- the map ---- */

struct status job_ranks_map(const struct job_ranks *ranks, int64_t ps_count, int64_t first_port,
                            struct arena *arena, struct job_map *out)
{
    *out = (struct job_map){ .has_self = true };
    if (ps_count >= ranks->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--num_ps=%lld leaves no worker: %s has started %d tasks",
                            (long long)ps_count, ranks->source, ranks->count);
    for (uint32_t rank = 0; rank < (uint32_t)ranks->count; rank++) {
        enum job_kind kind = rank < (uint32_t)ps_count ? JOB_PS : JOB_WORKER;
        struct job_list *list = &out->lists[kind];
        int64_t port = first_port + local_rank(ranks, rank);
        if (port > 65535)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--first_port=%lld: no port is left for rank %u on host %s",
                                (long long)first_port, rank, ranks->hosts[rank]);
        if (list->tasks == NULL)
            list->tasks = ARENA_ARRAY(arena, struct job_task, ranks->count);
        if (rank == ranks->rank) {
            out->kind = kind;
            out->index = (uint32_t)list->count;
        }
        list->tasks[list->count] =
            (struct job_task){ (uint32_t)list->count,
                               arena_printf(arena, "%s:%lld", ranks->hosts[rank],
                                            (long long)port) };
        list->count++;
    }
    out->source =
        arena_printf(arena, "%s, rank %u of %d", ranks->source, ranks->rank, ranks->count);
    return job_map_check(out, true, arena);
}
