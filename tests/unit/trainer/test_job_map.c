#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "trainer/job/job_map.h"
#include "support/test_group.h"
#include "support/arena.h"

#define HOSTS .ps_hosts = "a:2222,b:2222", .worker_hosts = "c:2222,d:2222,e:2222", .chief_hosts = ""

#define FLAGS(ps, worker, chief, name, index)                                           \
    {                                                                                   \
        .ps_hosts = ps, .worker_hosts = worker, .chief_hosts = chief, .job_name = name, \
        .task_index = index                                                             \
    }

static const char *get_tf_config(void *context, const char *name)
{
    return strcmp(name, "TF_CONFIG") == 0 ? context : NULL;
}

/* job_map_read where TF_CONFIG is the only variable. */
static struct status read_map(const struct job_flags *flags, const char *tf_config, bool need_self,
                              struct arena *in, struct job_map *out)
{
    const struct job_variables variables = { get_tf_config, (void *)(uintptr_t)tf_config };

    return job_map_read(flags, &variables, need_self, in, out);
}

static void reads_the_flags(void **state)
{
    (void)state;
    struct job_flags flags = { HOSTS, .job_name = "worker", .task_index = 2 };
    struct job_map map;

    assert_true(status_is_ok(read_map(&flags, NULL, true, arena, &map)));
    assert_false(job_map_is_local(&map));
    assert_int_equal(map.kind, JOB_WORKER);
    assert_string_equal(job_self(&map)->address, "e:2222");
    assert_string_equal(job_task_name(&map, map.kind, map.index, arena), "worker 2");
    assert_string_equal(job_map_ps_list(&map, arena), "a:2222,b:2222");
    assert_int_equal(job_map_trainers(&map), 3);
    assert_int_equal(job_map_rank(&map), 2);
    assert_false(job_map_is_chief(&map));
    assert_null(job_find(&map, JOB_WORKER, 3));
}

static void worker_0_is_the_chief_of_a_job_without_one(void **state)
{
    (void)state;
    struct job_flags flags = { HOSTS, .job_name = "worker", .task_index = 0 };
    struct job_map map;

    assert_true(status_is_ok(read_map(&flags, NULL, true, arena, &map)));
    assert_true(job_map_is_chief(&map));
    assert_int_equal(job_map_rank(&map), 0);
}

static void a_chief_of_its_own_comes_before_the_workers(void **state)
{
    (void)state;
    struct job_flags flags = { .ps_hosts = "a:1, b:1 ",
                               .worker_hosts = "[::1]:1",
                               .chief_hosts = "c:1",
                               .job_name = "master",
                               .task_index = -1 };
    struct job_map map;

    assert_true(status_is_ok(read_map(&flags, NULL, true, arena, &map)));
    assert_true(job_map_is_chief(&map));
    assert_string_equal(job_task_name(&map, map.kind, map.index, arena), "master");
    assert_string_equal(job_map_ps_list(&map, arena), "a:1,b:1");
    flags.job_name = "worker";
    flags.task_index = 0;
    assert_true(status_is_ok(read_map(&flags, NULL, true, arena, &map)));
    assert_false(job_map_is_chief(&map));
    assert_int_equal(job_map_rank(&map), 1);
    assert_int_equal(job_map_trainers(&map), 2);
    assert_string_equal(job_self(&map)->address, "[::1]:1");
}

static void without_hosts_the_job_is_local(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "{}",
        " \n",
        "{\"environment\":\"cloud\"}",
        "{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":0}}",
        "{\"cluster\":{\"chief\":[\"a:1\"],\"evaluator\":[\"b:1\"]},"
        "\"task\":{\"type\":\"chief\",\"index\":0}}",
        "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"]}}",
        "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"]},\"task\":{}}",
    };
    struct job_flags flags = FLAGS("", "", "", "", -1);
    struct job_map map;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct status status = read_map(&flags, texts[i], true, arena, &map);
        assert_string_equal(status.message, "");
        assert_true(job_map_is_local(&map));
        assert_int_equal(map.lacks_task, i >= COUNT(texts) - 2);
    }
}

static void whoever_only_looks_needs_no_task(void **state)
{
    (void)state;
    struct job_flags flags = { HOSTS, .job_name = "", .task_index = -1 };
    struct job_map map;

    assert_true(status_is_ok(read_map(&flags, NULL, false, arena, &map)));
    assert_null(job_self(&map));
    flags = (struct job_flags)FLAGS("", "", "", "", -1);
    assert_true(status_is_ok(read_map(
        &flags, "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"]}}", false, arena, &map)));
    assert_false(job_map_is_local(&map));
}

/* TF_CONFIG as a Kubernetes operator writes it for a job with chief, workers, ps and evaluator. */
#define CLUSTER                                                                                  \
    "{\"cluster\":{\"chief\":[\"j-chief-0.ns.svc:2222\"],\"ps\":[\"j-ps-0.ns.svc:2222\","        \
    "\"j-ps-1.ns.svc:2222\"],\"worker\":[\"j-worker-0.ns.svc:2222\",\"j-worker-1.ns.svc:2222\"]" \
    ",\"evaluator\":[\"j-evaluator-0.ns.svc:2222\"]},\"environment\":\"cloud\",\"task\":"

static void reads_what_an_operator_writes(void **state)
{
    static const struct row {
        const char *task, *name, *address;
        uint32_t rank;
    } rows[] = {
        { "{\"type\":\"ps\",\"index\":1}", "ps 1", "j-ps-1.ns.svc:2222", 0 },
        { "{\"type\":\"worker\",\"index\":\"1\"}", "worker 1", "j-worker-1.ns.svc:2222", 2 },
        { "{\"type\":\"worker\",\"index\":1.0}", "worker 1", "j-worker-1.ns.svc:2222", 2 },
        { "{\"type\":\"chief\",\"index\":0}", "chief", "j-chief-0.ns.svc:2222", 0 },
        { "{\"type\":\"evaluator\",\"index\":0}", "evaluator", "j-evaluator-0.ns.svc:2222", 0 },
    };
    struct job_flags flags = FLAGS("", "", "", "", -1);
    struct job_map map;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *text = arena_printf(arena, "%s%s}", CLUSTER, rows[i].task);
        struct status status = read_map(&flags, text, true, arena, &map);
        assert_string_equal(status.message, "");
        assert_string_equal(job_task_name(&map, map.kind, map.index, arena), rows[i].name);
        assert_string_equal(job_self(&map)->address, rows[i].address);
        assert_int_equal(job_map_rank(&map), rows[i].rank);
        assert_int_equal(job_map_trainers(&map), 3);
    }
}

static void an_evaluator_may_be_left_out_of_the_cluster(void **state)
{
    static const char *const texts[] = {
        "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"]},"
        "\"task\":{\"type\":\"evaluator\",\"index\":0}}",
        "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"],\"evaluator\":[]},"
        "\"task\":{\"type\":\"evaluator\",\"index\":\"0\"}}",
        "{\"cluster\":{\"ps\":[\"a:1\"],\"chief\":[\"b:1\"]},\"task\":{\"type\":\"evaluator\"}}",
        "{\"sparseCluster\":{\"ps\":[\"a:1\"],\"worker\":{}},"
        "\"task\":{\"type\":\"evaluator\",\"index\":0}}",
    };
    struct job_flags flags = FLAGS("", "", "", "", -1);
    struct job_map map;

    (void)state;
    for (size_t i = 0; i <= COUNT(texts); i++) {
        if (i == COUNT(texts))
            flags = (struct job_flags)FLAGS("a:1", "b:1", "", "evaluator", -1);
        struct status status =
            read_map(&flags, i < COUNT(texts) ? texts[i] : NULL, true, arena, &map);
        assert_string_equal(status.message, "");
        assert_int_equal(map.kind, JOB_EVALUATOR);
        assert_null(job_self(&map));
        assert_false(job_map_is_chief(&map));
        assert_string_equal(job_task_name(&map, map.kind, 0, arena), "evaluator");
    }
}

static void a_worker_of_a_sparse_cluster_knows_the_ps_tasks_and_itself(void **state)
{
    (void)state;
    struct job_map map;

    assert_true(status_is_ok(
        job_map_parse("{\"sparseCluster\":{\"ps\":[\"a:1\",\"b:1\"],\"worker\":{\"3\":\"w:1\"}},"
                      "\"task\":{\"type\":\"worker\",\"index\":\"3\"}}",
                      true, arena, &map)));
    assert_string_equal(job_self(&map)->address, "w:1");
    assert_int_equal(map.lists[JOB_PS].count, 2);
    assert_int_equal(job_map_rank(&map), 3);
    assert_int_equal(job_map_trainers(&map), 0);
}

static void a_ps_of_a_sparse_cluster_knows_only_itself(void **state)
{
    (void)state;
    struct job_map map;

    assert_true(status_is_ok(job_map_parse("{\"sparseCluster\":{\"ps\":[\"b:1\"],\"worker\":{}},"
                                           "\"task\":{\"type\":\"ps\",\"index\":\"1\"}}",
                                           true, arena, &map)));
    assert_string_equal(job_self(&map)->address, "b:1");
    assert_int_equal(job_self(&map)->index, 1);
}

static const struct refusal {
    struct job_flags flags;
    const char *words;
} refused_flags[] = {
    { { HOSTS, .job_name = "worker", .task_index = 3 },
      "worker 3, but the cluster has 3 worker tasks (0 to 2)" },
    { { HOSTS, .job_name = "ps", .task_index = 2 },
      "ps 2, but the cluster has 2 ps tasks (0 to 1)" },
    { { HOSTS, .job_name = "chief", .task_index = 0 }, "the cluster has no chief tasks" },
    { { HOSTS, .job_name = "server", .task_index = 0 }, "--job_name: job 'server' is none of" },
    { { HOSTS, .job_name = "", .task_index = 0 }, "--job_name is missing" },
    { { HOSTS, .job_name = "worker", .task_index = -1 }, "--task_index is missing: which worker" },
    { FLAGS("", "", "", "ps", 0), "--job_name needs --ps_hosts" },
    { FLAGS("", "", "", "", 0), "--task_index needs --ps_hosts" },
    { FLAGS("", "a:1", "", "worker", 0), "--ps_hosts is missing" },
    { FLAGS("a:1", "", "", "ps", 0), "no workers" },
    { FLAGS("a:1,", "b:1", "", "ps", 0), "--ps_hosts, task 1: an address is empty" },
    { FLAGS("a:1", "b:1,,c:1", "", "ps", 0), "--worker_hosts, task 1: an address is empty" },
    { FLAGS("a:1", "b", "", "ps", 0),
      "--worker_hosts, task 0: 'b' is not a host:port: want a host" },
    { FLAGS("a:1;b:1", "c:1", "", "ps", 0), "'a:1;b:1' is not a host:port" },
    { FLAGS("unix:", "c:1", "", "ps", 0), "the path is missing" },
    { FLAGS("a:1", "c:1", "", "chief", 0), "without, worker 0 is the chief" },
    { FLAGS("a:1", "b:0", "", "ps", 0), "'b:0' is not a host:port" },
    { FLAGS("a:1", "b:65536", "", "ps", 0), "'b:65536' is not a host:port" },
    { FLAGS("a:1", "b:1x", "", "ps", 0), "'b:1x' is not a host:port" },
    { FLAGS("a:1", ":1", "", "ps", 0), "':1' is not a host:port" },
    { FLAGS("a:1", "::1:1", "", "ps", 0),
      "'::1:1' is not a host:port: write an IPv6 address in brackets" },
    { FLAGS("a:1", "[::1:1", "", "ps", 0), "'[::1:1' is not a host:port" },
    { FLAGS("a:1", "b c:1", "", "ps", 0), "'b c:1' is not a host:port" },
    { FLAGS("a:1", "grpc://b:1", "", "ps", 0),
      "'grpc://b:1' is not a host:port: remove the scheme in front" },
    { FLAGS("a:1,b:1", "b:1", "", "ps", 0), "ps 1 and worker 0 have the same address b:1" },
    { FLAGS("a:1,a:1", "b:1", "", "ps", 0), "ps 0 and ps 1 have the same address a:1" },
    { FLAGS("localhost:1", "127.0.0.1:1", "", "ps", 0),
      "ps 0 and worker 0 have the same address localhost:1" },
    { FLAGS("a:1,A:1", "b:1", "", "ps", 0), "ps 0 and ps 1 have the same address a:1" },
    { FLAGS("a:1", "b:1", "c:1,d:1", "chief", 0), "2 chief tasks: a job has one" },
};

static void refuses_flags(void **state)
{
    const struct refusal *row = *state;
    struct job_map map;
    struct status status = read_map(&row->flags, NULL, true, arena, &map);

    if (strstr(status.message, row->words) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->words);
}

static const struct refused_text {
    const char *text, *words;
} refused_texts[] = {
    { "{", "TF_CONFIG: line 1, column 1" },
    { "[]", "TF_CONFIG: not a JSON object" },
    { "{\"cluster\":3}", "'cluster' is not an object" },
    { "{\"cluster\":{\"ps\":\"a:1\"}}", "'ps' is not a list of addresses" },
    { "{\"cluster\":{\"ps\":[1]}}", "the address of ps 0 is not a string" },
    { "{\"cluster\":{\"gpu\":[\"a:1\"]}}", "job 'gpu' is none of" },
    { "{\"cluster\":{\"chief\":[\"a:1\"],\"master\":[\"b:1\"]}}", "both chief and master" },
    { "{\"cluster\":{},\"sparseCluster\":{}}", "both cluster and sparseCluster" },
    { CLUSTER "{\"type\":\"worker\",\"index\":2}}",
      "worker 2, but the cluster has 2 worker tasks" },
    { CLUSTER "{\"type\":\"worker\",\"index\":-1}}", "'index' of 'task' is -1, not an index" },
    { CLUSTER "{\"type\":\"worker\",\"index\":\"1x\"}}",
      "'index' of 'task' is '1x', not an index from 0 to 4095" },
    { CLUSTER "{\"type\":\"worker\",\"index\":\"99999999999999999999\"}}", "not an index" },
    { CLUSTER "{\"type\":\"worker\"}}", "'task' has no 'index'" },
    { CLUSTER "{\"type\":\"evaluator\",\"index\":1}}", "evaluator 1: a job has one" },
    { "{\"cluster\":{\"ps\":[\"a:1\"],\"worker\":[\"b:1\"],\"evaluator\":[\"c:1\",\"d:1\"]},"
      "\"task\":{\"type\":\"evaluator\",\"index\":0}}",
      "evaluator 0: a job has one" },
    { "{\"cluster\":{\"chief\":[\"a:1\"]},\"task\":{\"type\":\"evaluator\",\"index\":0}}",
      "the cluster has no ps tasks" },
    { CLUSTER "{\"index\":1}}", "'task' has no 'type'" },
    { CLUSTER "{\"type\":\"gpu\",\"index\":0}}", "'task': job 'gpu' is none of" },
    { CLUSTER "7}", "'task' is not an object" },
    { "{\"cluster\":{\"worker\":[\"a:1\",\"b:1\"]},\"task\":{\"type\":\"worker\",\"index\":0}}",
      "the cluster has no ps tasks" },
    { "{\"cluster\":{\"ps\":[\"a:1\"],\"ps\":[\"b:1\"]}}", "duplicate object key" },
    { "{\"sparseCluster\":{\"ps\":[\"a:1\"],\"worker\":{\"x\":\"b:1\"}},"
      "\"task\":{\"type\":\"worker\",\"index\":0}}",
      "an index of worker is 'x', not an index" },
    { "{\"sparseCluster\":{\"ps\":[\"a:1\"],\"worker\":{\"2\":\"b:1\"}},"
      "\"task\":{\"type\":\"worker\",\"index\":0}}",
      "worker 0, which is not in the cluster" },
    { "{\"sparseCluster\":{\"ps\":{\"1\":\"a:1\"},\"worker\":{\"2\":\"b:1\"}},"
      "\"task\":{\"type\":\"worker\",\"index\":2}}",
      "ps 0 is missing" },
};

static void refuses_a_text(void **state)
{
    const struct refused_text *row = *state;
    struct job_flags flags = FLAGS("", "", "", "", -1);
    struct job_map map;
    struct status status = read_map(&flags, row->text, true, arena, &map);

    if (strstr(status.message, row->words) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->words);
    assert_true(job_map_is_local(&map));
}

static void flags_win_over_tf_config(void **state)
{
    (void)state;
    struct job_flags flags = { HOSTS, .job_name = "ps", .task_index = 0 };
    struct job_map map;

    assert_true(status_is_ok(
        read_map(&flags, CLUSTER "{\"type\":\"ps\",\"index\":1}}", true, arena, &map)));
    assert_string_equal(job_map_ps_list(&map, arena), "a:2222,b:2222");
    assert_string_equal(map.source, "--ps_hosts; TF_CONFIG is ignored");
    assert_true(status_is_ok(read_map(&flags, NULL, true, arena, &map)));
    assert_string_equal(map.source, "--ps_hosts");
    flags = (struct job_flags)FLAGS("", "", "", "", -1);
    assert_true(status_is_ok(
        read_map(&flags, CLUSTER "{\"type\":\"ps\",\"index\":1}}", true, arena, &map)));
    assert_string_equal(map.source, "TF_CONFIG");
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_the_flags),
        cmocka_unit_test(worker_0_is_the_chief_of_a_job_without_one),
        cmocka_unit_test(a_chief_of_its_own_comes_before_the_workers),
        cmocka_unit_test(without_hosts_the_job_is_local),
        cmocka_unit_test(whoever_only_looks_needs_no_task),
        cmocka_unit_test(reads_what_an_operator_writes),
        cmocka_unit_test(an_evaluator_may_be_left_out_of_the_cluster),
        cmocka_unit_test(a_worker_of_a_sparse_cluster_knows_the_ps_tasks_and_itself),
        cmocka_unit_test(a_ps_of_a_sparse_cluster_knows_only_itself),
        cmocka_unit_test(flags_win_over_tf_config),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refused_flags, words, refuses_flags);
    ADD_ROWS(&group, refused_texts, words, refuses_a_text);
    return test_group_run(&group, "job map", arena_setup, arena_teardown);
}
