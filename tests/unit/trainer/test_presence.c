/* A task's reports about the ps tasks that it waits for, and when it gives up on them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/arena.h"
#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/presence.h"

struct fixture {
    struct small_cluster cluster;
    struct ps_client client;
    struct loop *loop;
    struct presence presence;
    struct presence_options options;
    struct loop_timer timer;
    char lines[16384];
    int ready, ended;
    enum status_code code;
    char why[512];
    void (*then)(struct fixture *fixture); /* when all ps tasks answer; NULL: stop */
    const char *until;                     /* stop as soon as this is said */
};

static void print(void *context, const char *line)
{
    struct fixture *fixture = context;
    size_t size = strlen(fixture->lines);

    snprintf(fixture->lines + size, sizeof fixture->lines - size, "%s\n", line);
    if (fixture->until != NULL && strstr(fixture->lines, fixture->until) != NULL)
        loop_stop(fixture->loop);
}

static void ready(void *context)
{
    struct fixture *fixture = context;

    fixture->ready++;
    if (fixture->then != NULL)
        fixture->then(fixture);
    else
        loop_stop(fixture->loop);
}

static void ended(void *context, struct status why)
{
    struct fixture *fixture = context;

    fixture->ended++;
    fixture->code = why.code;
    snprintf(fixture->why, sizeof fixture->why, "%s", why.message);
    loop_stop(fixture->loop);
}

static const char *const names[] = { "ps 0 at a:1", "ps 1 at b:1" };

static int start(void **state)
{
    struct fixture *fixture = zalloc(sizeof *fixture);

    small_start(&fixture->cluster, 2);
    small_client(&fixture->cluster, 1, 1, &fixture->client);
    fixture->client.options.task = "worker 1";
    assert_true(status_is_ok(loop_create(&fixture->loop)));
    fixture->options = (struct presence_options){ .client = &fixture->client.options,
                                                  .names = names,
                                                  .loop = fixture->loop,
                                                  .start_timeout_ms = 60000,
                                                  .lost_timeout_ms = 60000,
                                                  .repeat_ms = 60000,
                                                  .print = print,
                                                  .ready = ready,
                                                  .ended = ended,
                                                  .context = fixture };
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    client_finish(&fixture->client);
    small_stop(&fixture->cluster);
    loop_destroy(fixture->loop);
    free(fixture);
    return 0;
}

static void run(struct fixture *fixture)
{
    presence_start(&fixture->presence, &fixture->options);
    assert_true(status_is_ok(loop_run(fixture->loop)));
    presence_finish(&fixture->presence);
}

static void assert_says(const struct fixture *fixture, const char *words)
{
    if (strstr(fixture->lines, words) == NULL)
        fail_msg("'%s' does not say '%s'", fixture->lines, words);
}

static void is_ready_when_each_ps_has_answered(void **state)
{
    struct fixture *fixture = *state;

    run(fixture);
    assert_int_equal(fixture->ready, 1);
    assert_int_equal(fixture->ended, 0);
    assert_string_equal(fixture->lines, "");
}

static void gives_up_on_one_who_is_not_there(void **state)
{
    struct fixture *fixture = *state;

    loopback_break(fixture->cluster.channels[1]);
    fixture->options.start_timeout_ms = 300;
    run(fixture);
    assert_int_equal(fixture->ready, 0);
    assert_int_equal(fixture->ended, 1);
    assert_int_equal(fixture->code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(fixture->why, "gave up waiting for ps 1 at b:1 after "));
    assert_non_null(strstr(fixture->why, " s: the peer is gone"));
}

static void says_again_for_whom_it_waits(void **state)
{
    struct fixture *fixture = *state;

    loopback_break(fixture->cluster.channels[1]);
    fixture->options.repeat_ms = 100;
    fixture->until = " s now: the peer is gone\n";
    run(fixture);
    assert_int_equal(fixture->ended, 0);
    assert_says(fixture, "waiting for ps 1 at b:1: the peer is gone\n");
    assert_says(fixture, "waiting for ps 1 at b:1, for ");
    assert_null(strstr(fixture->lines, "ps 0 at"));
}

static void says_at_once_whom_a_ps_waits_for(void **state)
{
    struct fixture *fixture = *state;

    loopback_break(fixture->cluster.channels[1]); /* keeps the worker from becoming ready */
    fixture->until = "waiting for the chief (never heard from) to make the variables\n";
    run(fixture);
    assert_int_equal(fixture->ended, 0);
}

static void *push(void *client)
{
    status_ignore(client_push(client, all_ones, false));
    return NULL;
}

static void go_on(struct fixture *fixture)
{
    (void)fixture;
}

/* The push of a synchronous step has reached ps 1 only, so ps 0 waits for nobody. */
static void says_whom_another_ps_than_ps_0_waits_for(void **state)
{
    struct fixture *fixture = *state;
    struct small_cluster *cluster = &fixture->cluster;
    struct channel *cut_off = loopback_open(&ps_service, cluster->ps[0], clock_monotonic());
    struct channel *half[] = { cut_off, cluster->channels[1] };
    struct ps_client chief, other;
    pthread_t thread;

    small_client(cluster, 0, 1, &chief);
    small_client(cluster, 2, 1, &other);
    assert_ok(client_join(&chief, false, 20000));
    assert_ok(small_create(&chief, 3, true));
    assert_ok(client_join(&other, true, 20000));
    assert_ok(client_pull(&other));
    loopback_break(cut_off);
    other.options.channels = half;
    pthread_create(&thread, NULL, push, &other);
    fixture->then = go_on;
    fixture->until = "waiting for the chief (never heard from) to push for step 1\n";
    run(fixture);
    client_interrupt(&other);
    pthread_join(thread, NULL);
    client_finish(&chief);
    client_finish(&other);
    channel_close(cut_off);
}

static void waits_for_another_job_to_go_away(void **state)
{
    struct fixture *fixture = *state;

    fixture->client.options.cluster = "another";
    fixture->until =
        "waiting for ps 0 at a:1: ps 0 belongs to cluster 'test', worker 1 to 'another'";
    run(fixture);
    assert_int_equal(fixture->ended, 0);
}

static void does_not_wait_for_a_map_to_change(void **state)
{
    struct fixture *fixture = *state;

    fixture->client.options.ps_list = "b:1,a:1";
    run(fixture);
    assert_int_equal(fixture->ended, 1);
    assert_int_equal(fixture->code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(fixture->why, "another order"));
}

/* One ps that knows the outcome is enough: the others may have left. */
static void is_told_that_the_job_is_over(struct fixture *fixture, struct status outcome)
{
    ps_end(fixture->cluster.ps[0], outcome);
    loopback_break(fixture->cluster.channels[1]);
    run(fixture);
    assert_int_equal(fixture->ready, 0);
    assert_int_equal(fixture->ended, 1);
    assert_int_equal(fixture->code, outcome.code);
}

static void is_told_that_the_job_is_finished(void **state)
{
    is_told_that_the_job_is_over(*state, status_ok());
}

static void is_told_that_the_job_has_failed(void **state)
{
    struct fixture *fixture = *state;

    is_told_that_the_job_is_over(fixture, status_error(STATUS_NOT_FOUND, "no data"));
    assert_string_equal(fixture->why, "the job ended: no data");
}

static void lose(void *context)
{
    struct fixture *fixture = context;

    loopback_break(fixture->cluster.channels[0]);
}

static void lose_soon(struct fixture *fixture)
{
    fixture->timer = (struct loop_timer){ .expired = lose, .context = fixture };
    loop_set_timer(fixture->loop, &fixture->timer, clock_deadline_ns(clock_monotonic(), 50));
}

static void gives_up_on_one_who_is_lost_later(void **state)
{
    struct fixture *fixture = *state;

    fixture->then = lose_soon;
    fixture->options.start_timeout_ms = 1;
    fixture->options.lost_timeout_ms = 300;
    run(fixture);
    assert_int_equal(fixture->ready, 1);
    assert_int_equal(fixture->ended, 1);
    assert_non_null(strstr(fixture->why, "gave up waiting for ps 0 at a:1"));
}

/* A ps that does not answer may wait for nobody any more. */
static void does_not_repeat_whom_a_silent_ps_waited_for(void **state)
{
    struct fixture *fixture = *state;

    loopback_break(fixture->cluster.channels[1]); /* keeps the worker from becoming ready */
    lose_soon(fixture);
    fixture->options.repeat_ms = 50;
    fixture->until = "waiting for ps 0 at a:1, for 1 s now: the peer is gone\n";
    run(fixture);
    assert_says(fixture, "waiting for the chief (never heard from) to make the variables\n");
    const char *gone = strstr(fixture->lines, "waiting for ps 0 at a:1: the peer is gone\n");
    assert_non_null(gone);
    assert_null(strstr(gone, "waiting for the chief"));
}

/* Calls and their replies in other threads may outlive the loop. */
static void may_end_at_any_time(void **state)
{
    struct fixture *fixture = *state;

    presence_start(&fixture->presence, &fixture->options);
    presence_finish(&fixture->presence);
    assert_int_equal(fixture->ready, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_ready_when_each_ps_has_answered),
        TEST(gives_up_on_one_who_is_not_there),
        TEST(says_again_for_whom_it_waits),
        TEST(says_at_once_whom_a_ps_waits_for),
        TEST(says_whom_another_ps_than_ps_0_waits_for),
        TEST(waits_for_another_job_to_go_away),
        TEST(does_not_wait_for_a_map_to_change),
        TEST(is_told_that_the_job_is_finished),
        TEST(is_told_that_the_job_has_failed),
        TEST(gives_up_on_one_who_is_lost_later),
        TEST(does_not_repeat_whom_a_silent_ps_waited_for),
        TEST(may_end_at_any_time),
    };
    return cmocka_run_group_tests_name("presence", tests, NULL, NULL);
}
