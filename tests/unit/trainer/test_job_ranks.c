#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "trainer/job/job_ranks.h"
#include "support/test_group.h"
#include "support/arena.h"

/* context: "NAME=value NAME=value". */
static const char *get(void *context, const char *name)
{
    const char *at = context;
    size_t size = strlen(name);

    for (; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return arena_memdup(arena, at + size + 1, strcspn(at + size + 1, " "));
    return NULL;
}

static struct status read_ranks(const char *variables, const char *hosts, int64_t num_ps,
                                struct job_map *out)
{
    struct job_flags flags = { "", "", "", "", -1, num_ps, 2222, hosts };
    struct job_variables environment = { get, (void *)(uintptr_t)variables };

    return job_map_read(&flags, &environment, true, arena, out);
}

/* "ps 1 of a:1,b:1 | c:1": this task, and the addresses of the ps tasks and the workers. */
static const char *describe(const struct job_map *map)
{
    if (job_map_is_local(map))
        return "local";
    const char *text =
        arena_printf(arena, "%s of %s |", job_task_name(map, map->kind, map->index, arena),
                     job_map_ps_list(map, arena));
    for (int i = 0; i < map->lists[JOB_WORKER].count; i++)
        text = arena_printf(arena, "%s %s", text, map->lists[JOB_WORKER].tasks[i].address);
    return text;
}

#define STEP(rank, local, nodes, tasks)                                                        \
    "SLURM_PROCID=" rank " SLURM_LOCALID=" local " SLURM_STEP_ID=0 SLURM_STEP_NODELIST=" nodes \
    " SLURM_STEP_TASKS_PER_NODE=" tasks " SLURM_JOB_NODELIST=other SLURM_NTASKS=99 "

#define OPEN_MPI(rank, size, local, local_size)                \
    "OMPI_COMM_WORLD_RANK=" rank " OMPI_COMM_WORLD_SIZE=" size \
    " OMPI_COMM_WORLD_LOCAL_RANK=" local " OMPI_COMM_WORLD_LOCAL_SIZE=" local_size

static const struct row {
    const char *label, *variables, *hosts;
    int num_ps;
    const char *map;
} rows[] = {
    { "a step on three nodes", STEP("2", "0", "n[1-3]", "1(x3)") "SLURM_STEP_NUM_TASKS=3", "", 1,
      "worker 1 of n1:2222 | n2:2222 n3:2222" },
    { "several tasks on a node have ports in turn",
      STEP("3", "1", "n[01-02]", "2(x2)") "SLURM_STEP_NUM_TASKS=4", "", 2,
      "worker 1 of n01:2222,n01:2223 | n02:2222 n02:2223" },
    { "a cyclic step",
      STEP("2", "1", "a,b", "3,1") "SLURM_STEP_NUM_TASKS=4 SLURM_DISTRIBUTION=cyclic:block", "", 1,
      "worker 1 of a:2222 | b:2222 a:2223 a:2224" },
    { "rank 0 is a ps", STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "", 1,
      "ps 0 of a:2222 | a:2223" },
    { "no ps is wanted", STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "", 0, "local" },
    { "a step of one task", STEP("0", "0", "a", "1") "SLURM_STEP_NUM_TASKS=1", "", 1, "local" },
    { "a batch script is no step",
      "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_NODELIST=a SLURM_TASKS_PER_NODE=8", "", 1, "local" },
    { "an old step has the job's variables",
      "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_JOB_NODELIST=a,b "
      "SLURM_TASKS_PER_NODE=1(x2)",
      "", 1, "worker 0 of a:2222 | b:2222" },
    { "Open MPI on one host", OPEN_MPI("1", "3", "1", "3"), "", 1,
      "worker 0 of localhost:2222 | localhost:2223 localhost:2224" },
    { "Open MPI on hosts with counts", OPEN_MPI("2", "3", "0", "1"), "a:2,b", 1,
      "worker 1 of a:2222 | a:2223 b:2222" },
    { "Open MPI on equal hosts", OPEN_MPI("3", "4", "1", "2"), "n[1-2]", 2,
      "worker 1 of n1:2222,n1:2223 | n2:2222 n2:2223" },
    { "hosts in turn", OPEN_MPI("2", "4", "1", "2"), "a,b,a,b", 1,
      "worker 1 of a:2222 | b:2222 a:2223 b:2223" },
    { "MPICH", "PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2", "", 1,
      "ps 0 of localhost:2222 | localhost:2223" },
    { "mpirun with one task", OPEN_MPI("0", "1", "0", "1"), "", 1, "local" },
    { "Slurm's own PMI",
      STEP("1", "0", "a,b", "1(x2)") "SLURM_STEP_NUM_TASKS=2 PMI_RANK=1 PMI_SIZE=2", "", 1,
      "worker 0 of a:2222 | b:2222" },
    { "mpirun in an allocation of Slurm",
      STEP("1", "0", "a,b", "1(x2)") "SLURM_STEP_NUM_TASKS=2 " OPEN_MPI("3", "4", "1", "2"),
      "a:2,b:2", 1, "worker 2 of a:2222 | a:2223 b:2222 b:2223" },
    { "TF_CONFIG wins",
      STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2 "
                               "TF_CONFIG={\"cluster\":{\"ps\":[\"x:1\"],\"worker\":[\"y:1\"]},"
                               "\"task\":{\"type\":\"worker\","
                               "\"index\":0}}",
      "", 1, "worker 0 of x:1 | y:1" },
};

static void finds_the_place(void **state)
{
    const struct row *row = *state;
    struct job_map map;
    struct status status = read_ranks(row->variables, row->hosts, row->num_ps, &map);

    assert_string_equal(status.message, "");
    assert_string_equal(describe(&map), row->map);
}

static const struct refusal {
    const char *variables, *hosts;
    int num_ps;
    const char *words;
} refusals[] = {
    { STEP("2", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "", 1,
      "SLURM_PROCID is 2, but the step has 2 tasks" },
    { STEP("x", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "", 1,
      "SLURM_PROCID is 'x', not a number" },
    { STEP("0", "0", "a[", "2") "SLURM_STEP_NUM_TASKS=2", "", 1,
      "SLURM_STEP_NODELIST: 'a[': a bracket has no end" },
    { STEP("0", "0", "a,b", "2") "SLURM_STEP_NUM_TASKS=2", "", 1, "has 2 hosts" },
    { STEP("0", "0", "a", "2(") "SLURM_STEP_NUM_TASKS=2", "", 1, "SLURM_STEP_TASKS_PER_NODE: " },
    { STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "", 2,
      "--num_ps=2 leaves no worker: Slurm has started 2 tasks" },
    { STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2", "a", 1, "--hosts: Slurm tells" },
    { STEP("1", "0", "a,b", "2(x2)") "SLURM_STEP_NUM_TASKS=4", "", 1,
      "SLURM_LOCALID is 0, but rank 1 would be number 1 on host a" },
    { STEP("0", "0", "a", "2") "SLURM_STEP_NUM_TASKS=2 SLURM_DISTRIBUTION=plane=2", "", 1,
      "SLURM_DISTRIBUTION is 'plane=2'" },
    { "SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=2", "", 1, "SLURM_STEP_NODELIST is not set" },
    { OPEN_MPI("0", "4", "0", "2"), "", 1,
      "Open MPI has started 4 tasks, and not all of them on this host: give --hosts" },
    { "PMI_RANK=0 PMI_SIZE=2", "", 1, "does not tell where: give --hosts" },
    { OPEN_MPI("0", "4", "0", "2"), "a,b,c", 1, "--hosts=a,b,c: 3 places" },
    { OPEN_MPI("1", "4", "0", "2"), "a,b", 1,
      "OMPI_COMM_WORLD_LOCAL_RANK is 0, but by --hosts=a,b rank 1 is number 1 on host a" },
    { OPEN_MPI("4", "4", "0", "4"), "", 1, "OMPI_COMM_WORLD_RANK is 4" },
    { "OTHER_MPI_RANK=1 OTHER_MPI_SIZE=2", "a,b", 1,
      "--hosts=a,b: neither Slurm nor MPI has started this task with others" },
};

static void refuses(void **state)
{
    const struct refusal *row = *state;
    struct job_map map;
    struct status status = read_ranks(row->variables, row->hosts, row->num_ps, &map);

    if (status_is_ok(status) || strstr(status.message, row->words) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->words);
}

/* Each rank computes the map for itself, and no rank may be left out or taken twice. */
static void all_ranks_have_the_same_map(void **state)
{
    (void)state;
    const char *first = NULL;

    for (int rank = 0; rank < 7; rank++) {
        const char *variables =
            arena_printf(arena,
                         "SLURM_PROCID=%d SLURM_STEP_NUM_TASKS=7 SLURM_STEP_NODELIST=n[1-3] "
                         "SLURM_STEP_TASKS_PER_NODE=3(x2),1",
                         rank);
        struct job_map map;
        assert_true(status_is_ok(read_ranks(variables, "", 2, &map)));
        const char *lists = strstr(describe(&map), " of ");
        first = first != NULL ? first : lists;
        assert_string_equal(lists, first);
        assert_int_equal(map.kind, rank < 2 ? JOB_PS : JOB_WORKER);
        assert_int_equal(map.index, rank < 2 ? rank : rank - 2);
        assert_string_equal(map.source, arena_printf(arena, "Slurm, rank %d of 7", rank));
    }
}

static void a_port_beyond_the_last_is_refused(void **state)
{
    (void)state;
    struct job_flags flags = { "", "", "", "", -1, 1, 65535, "" };
    struct job_variables variables = {
        get, "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2"
    };
    struct job_map map;
    struct status status = job_map_read(&flags, &variables, true, arena, &map);

    assert_non_null(strstr(status.message, "--first_port=65535: no port is left for rank 1"));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(all_ranks_have_the_same_map),
        cmocka_unit_test(a_port_beyond_the_last_is_refused),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, finds_the_place);
    ADD_ROWS(&group, refusals, words, refuses);
    return test_group_run(&group, "job ranks", arena_setup, arena_teardown);
}
