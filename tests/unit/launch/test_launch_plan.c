#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "trainer/launch/launch_plan.h"
#include "support/test_group.h"
#include "support/arena.h"

static struct launch_request request_for(const char *hosts, int num_ps, int num_workers)
{
    return (struct launch_request){ .hosts = hosts,
                                    .num_ps = num_ps,
                                    .num_workers = num_workers,
                                    .first_port = 2222,
                                    .ssh = "ssh  -x",
                                    .program = "/bin/pstrain",
                                    .directory = "/",
                                    .stop_timeout_s = 5 };
}

static const char *command(const struct launched_task *task)
{
    struct buffer text = { 0 };

    launch_plan_print(task, &text);
    const char *kept = arena_memdup(arena, text.data, text.size);
    buffer_finish(&text);
    return kept;
}

static const struct row {
    const char *hosts;
    int num_ps, num_workers;
    const char *tasks;                   /* where each is */
    const char *ps_hosts, *worker_hosts; /* in the command of the first one */
} rows[] = {
    { "a,b,c", 1, 0, "ps 0 a, worker 0 b, worker 1 c,", "--ps_hosts=a:2222",
      "--worker_hosts=b:2222,c:2222" },
    { "localhost", 1, 0, "ps 0 localhost, worker 0 localhost,", "--ps_hosts=localhost:2222",
      "--worker_hosts=localhost:2223" },
    { "n[1-2]", 2, 3, "ps 0 n1, ps 1 n2, worker 0 n1, worker 1 n2, worker 2 n1,",
      "--ps_hosts=n1:2222,n2:2222", "--worker_hosts=n1:2223,n2:2223,n1:2224" },
    { "me@a,you@a", 1, 1, "ps 0 me@a, worker 0 you@a,", "--ps_hosts=a:2222",
      "--worker_hosts=a:2223" },
    { "a:2,b", 1, 0, "ps 0 a, worker 0 a, worker 1 b,", "--ps_hosts=a:2222",
      "--worker_hosts=a:2223,b:2222" },
};

static void deals_the_tasks(void **state)
{
    const struct row *row = *state;
    struct launch_request request = request_for(row->hosts, row->num_ps, row->num_workers);
    struct launch_plan plan;
    const char *text = "";

    assert_string_equal(launch_plan_make(&request, arena, &plan).message, "");
    for (int i = 0; i < plan.count; i++)
        text = arena_printf(arena, "%s%s%s %s,", text, i > 0 ? " " : "", plan.tasks[i].name,
                            plan.tasks[i].host);
    assert_string_equal(text, row->tasks);
    const char *first = command(&plan.tasks[0]);
    if (strstr(first, row->ps_hosts) == NULL || strstr(first, row->worker_hosts) == NULL)
        fail_msg("'%s' and '%s' are not in '%s'", row->ps_hosts, row->worker_hosts, first);
}

static void quotes_for_two_shells(void **state)
{
    (void)state;
    struct launch_request request = request_for("a", 1, 1);
    char *flags[] = { "--x=it's" };
    const char *environment[] = { "A=$B" };
    struct launch_plan plan;

    request.flags = flags;
    request.flags_count = 1;
    request.environment = environment;
    request.environment_count = 1;
    assert_string_equal(launch_plan_make(&request, arena, &plan).message, "");
    assert_string_equal(plan.tasks[0].argv[0], "ssh");
    assert_string_equal(plan.tasks[0].argv[1], "-x");
    assert_string_equal(plan.tasks[0].argv[2], "a");
    assert_string_equal(
        plan.tasks[0].argv[3],
        "exec /bin/pstrain supervise --stop_timeout=5 --directory=/ '--env=A=$B' -- /bin/pstrain "
        "'--x=it'\\''s' --ps_hosts=a:2222 --worker_hosts=a:2223 --job_name=ps --task_index=0");
    assert_null(plan.tasks[0].argv[4]);
}

int main(void)
{
    static const struct CMUnitTest plain[] = { cmocka_unit_test(quotes_for_two_shells) };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, tasks, deals_the_tasks);
    return test_group_run(&group, "launch plan", arena_setup, arena_teardown);
}
