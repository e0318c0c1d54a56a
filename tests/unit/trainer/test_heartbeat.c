/* The heartbeats of the tasks: which tasks are present, which of them a ps waits for, and the job's
 * outcome. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "small_cluster.h"
#include "trainer/client/client_internal.h"

struct heartbeat {
    struct status status;
    uint64_t generation;
    bool over;
    int code;
    const char *text, *note;
};

static struct arena *arena;

static struct heartbeat heartbeat(struct ps_client *client)
{
    struct heartbeat_request header = { 0 };
    struct identity identity = client_identity(&client->options, 0);
    struct heartbeat_reply reply;
    struct message answer;

    header.identity = &identity;
    struct message request = pack_heartbeat_request(&header);
    struct heartbeat heartbeat = { .status = channel_call(client->options.channels[0], PS_HEARTBEAT,
                                                          &request, CLOCK_NEVER, &answer) };
    if (status_is_ok(heartbeat.status)) {
        heartbeat.status = unpack_heartbeat_reply(&answer, arena, &reply);
        heartbeat.generation = reply.generation;
        heartbeat.over = reply.over;
        heartbeat.code = reply.code;
        heartbeat.text = reply.text;
        heartbeat.note = reply.note;
    }
    message_release(&answer);
    return heartbeat;
}

struct fixture {
    struct small_cluster cluster;
    struct clock *clock;
    struct ps_client chief, worker;
};

static int start(void **state)
{
    struct fixture *fixture = zalloc(sizeof *fixture);

    arena = arena_create(0);
    fixture->clock = clock_fake_create(NS_PER_S);
    small_start_at(&fixture->cluster, 1, fixture->clock);
    small_client(&fixture->cluster, 0, 1, &fixture->chief);
    small_client(&fixture->cluster, 1, 1, &fixture->worker);
    fixture->worker.options.task = "worker 1";
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    client_finish(&fixture->chief);
    client_finish(&fixture->worker);
    small_stop(&fixture->cluster);
    clock_fake_destroy(fixture->clock);
    free(fixture);
    arena_destroy(arena);
    return 0;
}

static void begin(struct fixture *fixture, bool sync)
{
    assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
    assert_true(status_is_ok(small_create(&fixture->chief, 2, sync)));
    assert_true(status_is_ok(client_join(&fixture->worker, true, 1000)));
    assert_true(status_is_ok(heartbeat(&fixture->chief).status));
    assert_true(status_is_ok(heartbeat(&fixture->worker).status));
}

static void says_whom_the_start_waits_for(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(ps_last_heard_ns(fixture->cluster.ps[0]), 0);
    assert_string_equal(heartbeat(&fixture->worker).note,
                        "the chief (never heard from) to make the variables");
    assert_int_equal(ps_last_heard_ns(fixture->cluster.ps[0]), NS_PER_S);
    assert_string_equal(heartbeat(&fixture->chief).note, "");
    assert_string_equal(heartbeat(&fixture->worker).note, "chief to make the variables");
    clock_fake_advance(fixture->clock, 12 * NS_PER_S);
    assert_string_equal(heartbeat(&fixture->worker).note,
                        "chief (last heard from 12 s ago) to make the variables");
    begin(fixture, false);
    assert_string_equal(heartbeat(&fixture->worker).note, "");
    assert_int_equal(heartbeat(&fixture->worker).generation, 1);
}

static void does_not_say_to_a_task_that_it_waits_for_itself(void **state)
{
    struct fixture *fixture = *state;
    char text[256];

    begin(fixture, false);
    assert_true(status_is_ok(client_report(&fixture->chief, status_ok(), false)));
    assert_string_equal(heartbeat(&fixture->worker).note, "");
    ps_describe_wait(fixture->cluster.ps[0], text, sizeof text);
    assert_string_equal(text, "worker 1 to finish");
}

static void says_whom_the_end_waits_for(void **state)
{
    struct fixture *fixture = *state;

    begin(fixture, false);
    assert_true(status_is_ok(client_report(&fixture->chief, status_ok(), false)));
    assert_string_equal(heartbeat(&fixture->chief).note, "worker 1 to finish");
    assert_true(status_is_ok(client_report(&fixture->worker, status_ok(), false)));
    assert_string_equal(heartbeat(&fixture->worker).note, "the chief to save what was learnt");
}

static void a_failure_of_the_chief_is_everybodys(void **state)
{
    struct fixture *fixture = *state;

    begin(fixture, false);
    struct status failed = status_error(STATUS_PERMISSION_DENIED, "no place to write");
    assert_true(status_is_ok(client_report(&fixture->chief, failed, true)));
    struct status status = client_pull(&fixture->worker);
    assert_int_equal(status.code, STATUS_CANCELLED);
    assert_string_equal(status.message, "the job ended: no place to write");
    assert_int_equal(ps_count_uninformed(fixture->cluster.ps[0], 3), 2);
    struct heartbeat told = heartbeat(&fixture->worker);
    assert_true(told.over);
    assert_int_equal(told.code, STATUS_PERMISSION_DENIED);
    assert_string_equal(told.text, "no place to write");
    assert_int_equal(ps_count_uninformed(fixture->cluster.ps[0], 3), 1);
    assert_int_equal(client_await(&fixture->worker, true, -1).code, STATUS_PERMISSION_DENIED);
    /* Passing the outcome on does not set another one. */
    assert_true(status_is_ok(client_report(&fixture->worker, status_ok(), true)));
    assert_int_equal(client_await(&fixture->worker, true, -1).code, STATUS_PERMISSION_DENIED);
}

static void a_chief_that_cannot_begin_tells_those_who_wait_for_it(void **state)
{
    struct fixture *fixture = *state;
    struct status outcome;

    assert_true(status_is_ok(
        client_report(&fixture->chief, status_error(STATUS_NOT_FOUND, "no data"), true)));
    assert_true(ps_outcome(fixture->cluster.ps[0], &outcome));
    assert_int_equal(outcome.code, STATUS_NOT_FOUND);
    assert_true(status_is_ok(client_join(&fixture->worker, false, 1000)));
    assert_true(fixture->worker.finished);
}

static struct status begin_nothing(struct client_state *state, int variable, int part, bool *has)
{
    (void)state;
    (void)variable;
    (void)part;
    *has = false;
    return status_error(STATUS_UNKNOWN, "not yet");
}

/* The chief's successor has begun to create the variables. */
static void a_chief_that_was_replaced_does_not_end_the_job(void **state)
{
    struct fixture *fixture = *state;
    struct client_job job = { .optimizer = "sgd", .learning_rate = 1, .workers = 2 };
    struct client_state nothing = { .begin = begin_nothing };
    struct ps_client successor;
    struct status outcome;

    begin(fixture, false);
    small_client(&fixture->cluster, 0, 9, &successor);
    assert_true(status_is_ok(client_join(&successor, false, 1000)));
    assert_int_equal(client_begin(&successor, &job, &nothing).code, STATUS_UNKNOWN);
    struct status reported = client_report(
        &fixture->chief, status_error(STATUS_FAILED_PRECONDITION, "it was replaced"), true);
    assert_int_equal(reported.code, STATUS_FAILED_PRECONDITION);
    assert_false(ps_outcome(fixture->cluster.ps[0], &outcome));
    assert_true(status_is_ok(small_create(&successor, 2, false)));
    assert_true(status_is_ok(client_join(&fixture->worker, true, 1000)));
    client_finish(&successor);
}

static void a_chief_that_is_gone_ends_the_job(void **state)
{
    struct fixture *fixture = *state;
    struct ps *ps = fixture->cluster.ps[0];
    struct status outcome;

    begin(fixture, false);
    clock_fake_advance(fixture->clock, 9 * NS_PER_S);
    assert_true(status_is_ok(heartbeat(&fixture->worker).status));
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_false(ps_outcome(ps, &outcome));
    clock_fake_advance(fixture->clock, 2 * NS_PER_S);
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_true(ps_outcome(ps, &outcome));
    assert_int_equal(outcome.code, STATUS_UNAVAILABLE);
    assert_string_equal(outcome.message, "chief has not been heard from for 10 s");
}

static void what_it_did_not_hear_while_it_stood_still_is_nobodys_silence(void **state)
{
    struct fixture *fixture = *state;
    struct ps *ps = fixture->cluster.ps[0];
    struct status outcome;

    begin(fixture, false);
    int64_t now_ns = clock_now_ns(fixture->clock);
    clock_fake_advance(fixture->clock, 60 * NS_PER_S);
    ps_watch(ps, now_ns, 10000, 10000); /* it stood still after it had looked at the clock */
    assert_false(ps_outcome(ps, &outcome));
    ps_exclude_pause(ps, 59 * NS_PER_S);
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_false(ps_outcome(ps, &outcome));
    clock_fake_advance(fixture->clock, 10 * NS_PER_S);
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_true(ps_outcome(ps, &outcome));
}

static void a_worker_that_is_gone_ends_only_a_synchronous_job(void **state)
{
    struct fixture *fixture = *state;
    struct ps *ps = fixture->cluster.ps[0];
    struct status outcome;

    begin(fixture, true);
    clock_fake_advance(fixture->clock, 11 * NS_PER_S);
    assert_true(status_is_ok(heartbeat(&fixture->chief).status));
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_true(ps_outcome(ps, &outcome));
    assert_string_equal(outcome.message, "worker 1 has not been heard from for 10 s");
}

static const char *const three[] = { "worker 0 at a:1", "worker 1 at b:1", "worker 2 at c:1" };

/* Restarts the cluster with a ps that knows the addresses of the tasks that train. */
static void start_again_with_lists(struct fixture *fixture, uint32_t trainers_count)
{
    client_finish(&fixture->chief);
    client_finish(&fixture->worker);
    small_stop(&fixture->cluster);
    small_start_with(&fixture->cluster, 1, fixture->clock, three, trainers_count);
    small_client(&fixture->cluster, 0, 1, &fixture->chief);
    small_client(&fixture->cluster, 1, 1, &fixture->worker);
}

static void a_worker_that_never_comes_ends_only_a_synchronous_job_and_is_named(void **state)
{
    for (int sync = 0; sync < 2; sync++) {
        struct fixture *fixture = *state;
        struct status outcome;
        start_again_with_lists(fixture, 2);
        struct ps *ps = fixture->cluster.ps[0];
        assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
        clock_fake_advance(fixture->clock, 60 * NS_PER_S);
        assert_true(status_is_ok(small_create(&fixture->chief, 2, sync)));
        assert_true(status_is_ok(heartbeat(&fixture->chief).status));
        ps_watch(ps, clock_now_ns(fixture->clock), 100000,
                 10000); /* the time starts when the variables exist */
        assert_false(ps_outcome(ps, &outcome));
        clock_fake_advance(fixture->clock, 11 * NS_PER_S);
        ps_watch(ps, clock_now_ns(fixture->clock), 100000, 10000);
        assert_int_equal(ps_outcome(ps, &outcome), sync);
        if (sync)
            assert_string_equal(
                outcome.message,
                "worker 1 at b:1 has not come within 10 s, and --sync needs all workers");
    }
}

static void
a_task_beyond_the_lists_is_refused_before_and_after_the_variables_are_there(void **state)
{
    struct fixture *fixture = *state;

    start_again_with_lists(fixture, 1);
    for (int created = 0; created < 2; created++) {
        struct status status = heartbeat(&fixture->worker).status;
        assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
        assert_non_null(strstr(status.message, "--worker_hosts"));
        assert_int_equal(client_join(&fixture->worker, false, 1000).code,
                         STATUS_FAILED_PRECONDITION);
        assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
        if (!created)
            assert_true(status_is_ok(small_create(&fixture->chief, 1, true)));
    }
}

static void a_chief_with_other_lists_is_refused(void **state)
{
    struct fixture *fixture = *state;

    start_again_with_lists(fixture, 3);
    assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
    struct status status = small_create(&fixture->chief, 2, true);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "the chief's lists have 2 tasks"));
}

static void a_worker_of_an_asynchronous_job_may_go(void **state)
{
    struct fixture *fixture = *state;
    struct status outcome;

    begin(fixture, false);
    clock_fake_advance(fixture->clock, 11 * NS_PER_S);
    assert_true(status_is_ok(heartbeat(&fixture->chief).status));
    ps_watch(fixture->cluster.ps[0], clock_now_ns(fixture->clock), 10000, 10000);
    assert_false(ps_outcome(fixture->cluster.ps[0], &outcome));
    assert_true(status_is_ok(
        client_report(&fixture->worker, status_error(STATUS_INTERNAL, "it died"), false)));
    assert_false(ps_outcome(fixture->cluster.ps[0], &outcome));
}

static void a_failure_of_a_worker_ends_a_synchronous_job(void **state)
{
    struct fixture *fixture = *state;
    struct status outcome;

    begin(fixture, true);
    assert_true(status_is_ok(
        client_report(&fixture->worker, status_error(STATUS_INTERNAL, "it died"), false)));
    assert_true(ps_outcome(fixture->cluster.ps[0], &outcome));
    assert_string_equal(outcome.message, "worker 1 ended: it died");
}

static void a_synchronous_job_waits_for_a_worker_that_was_stopped(void **state)
{
    struct fixture *fixture = *state;
    struct ps *ps = fixture->cluster.ps[0];
    struct status outcome;

    begin(fixture, true);
    assert_true(status_is_ok(client_report(
        &fixture->worker, status_error(STATUS_CANCELLED, "stopped at step 3"), false)));
    assert_false(ps_outcome(ps, &outcome));
    clock_fake_advance(fixture->clock, 11 * NS_PER_S);
    assert_true(status_is_ok(heartbeat(&fixture->chief).status));
    ps_watch(ps, clock_now_ns(fixture->clock), 10000, 10000);
    assert_true(ps_outcome(ps, &outcome));
}

static void assert_news(struct fixture *fixture, const char *expected)
{
    char line[256] = "";

    bool any = ps_next_news(fixture->cluster.ps[0], clock_now_ns(fixture->clock), 300000, line,
                            sizeof line);
    assert_string_equal(line, expected);
    assert_int_equal(any, *expected != '\0');
}

static void tells_once_who_comes_falls_silent_and_comes_back(void **state)
{
    struct fixture *fixture = *state;

    assert_news(fixture, "");
    begin(fixture, false);
    assert_news(fixture, "chief is here");
    assert_news(fixture, "worker 1 is here");
    assert_news(fixture, "");
    clock_fake_advance(fixture->clock, 6 * NS_PER_S);
    assert_news(fixture, "chief has not been heard from for 6 s; the job ends if that lasts 300 s");
    assert_news(fixture, "worker 1 has not been heard from for 6 s");
    assert_news(fixture, "");
    assert_true(status_is_ok(heartbeat(&fixture->worker).status));
    assert_news(fixture, "worker 1 is here again");
    fixture->chief.options.incarnation++;
    assert_true(status_is_ok(heartbeat(&fixture->chief).status));
    assert_news(fixture, "chief is here, restarted");
    assert_news(fixture, "");
}

static void refuse(struct fixture *fixture, const char *agreed)
{
    const struct ps_client_options options = fixture->worker.options;

    fixture->worker.options.agreed = agreed;
    fixture->worker.options.incarnation += 7;
    for (int i = 0; i < 2; i++)
        assert_int_equal(heartbeat(&fixture->worker).status.code, STATUS_FAILED_PRECONDITION);
    fixture->worker.options = options;
}

/* The process that has its place hides none that would take it. */
static void tells_once_who_is_refused(void **state)
{
    struct fixture *fixture = *state;

    assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
    assert_true(status_is_ok(small_create(&fixture->chief, 2, false)));
    refuse(fixture, "sync=true");
    assert_news(fixture,
                "worker 1 is refused: worker 1 was given sync=true, the chief : it must be the "
                "same");
    assert_news(fixture, "");
    assert_true(status_is_ok(heartbeat(&fixture->worker).status));
    assert_news(fixture, "worker 1 is here");
    fixture->worker.options.incarnation++;
    refuse(fixture, "sync=true");
    assert_true(status_is_ok(heartbeat(&fixture->worker).status));
    assert_news(fixture, "worker 1 is here, restarted");
    assert_news(fixture,
                "another worker 1 is refused: worker 1 was given sync=true, the chief : it must "
                "be the same");
    assert_news(fixture, "");
}

/* Ranks and incarnations cost a stranger nothing. */
static void keeps_little_of_what_a_stranger_sends(void **state)
{
    struct fixture *fixture = *state;
    char *name = zalloc(100001), line[4096];

    memset(name, 'x', 100000);
    assert_true(status_is_ok(client_join(&fixture->chief, false, 1000)));
    assert_true(status_is_ok(small_create(&fixture->chief, 2, false)));
    fixture->worker.options.task = name;
    refuse(fixture, "sync=true");
    assert_true(ps_next_news(fixture->cluster.ps[0], clock_now_ns(fixture->clock), 300000, line,
                             sizeof line));
    assert_true(strlen(line) < 1200);
    free(name);
}

static void tells_who_leaves_and_waits_no_more_for_it(void **state)
{
    struct fixture *fixture = *state;

    begin(fixture, false);
    assert_news(fixture, "chief is here");
    assert_news(fixture, "worker 1 is here");
    assert_true(status_is_ok(client_report(
        &fixture->worker, status_error(STATUS_CANCELLED, "stopped at step 3"), false)));
    assert_true(
        status_is_ok(heartbeat(&fixture->worker).status)); /* a last heartbeat that was in flight */
    assert_news(fixture, "worker 1 has left: stopped at step 3");
    assert_news(fixture, "");
    clock_fake_advance(fixture->clock, 2 * NS_PER_S);
    assert_true(status_is_ok(client_report(&fixture->chief, status_ok(), true)));
    assert_int_equal(ps_count_uninformed(fixture->cluster.ps[0], 2), 0);
}

/* The chief may fail before any task has sent a heartbeat. */
static void knows_who_has_told_it_the_outcome(void **state)
{
    struct fixture *fixture = *state;

    assert_true(status_is_ok(
        client_report(&fixture->chief, status_error(STATUS_NOT_FOUND, "no data"), true)));
    assert_int_equal(ps_count_uninformed(fixture->cluster.ps[0], 1), 0);
}

static void a_stranger_is_not_heard(void **state)
{
    struct fixture *fixture = *state;

    fixture->worker.options.cluster = "another";
    assert_int_equal(heartbeat(&fixture->worker).status.code, STATUS_PERMISSION_DENIED);
    assert_int_equal(ps_last_heard_ns(fixture->cluster.ps[0]), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(says_whom_the_start_waits_for),
        TEST(says_whom_the_end_waits_for),
        TEST(does_not_say_to_a_task_that_it_waits_for_itself),
        TEST(a_failure_of_the_chief_is_everybodys),
        TEST(a_chief_that_cannot_begin_tells_those_who_wait_for_it),
        TEST(a_chief_that_was_replaced_does_not_end_the_job),
        TEST(a_chief_that_is_gone_ends_the_job),
        TEST(what_it_did_not_hear_while_it_stood_still_is_nobodys_silence),
        TEST(a_worker_that_is_gone_ends_only_a_synchronous_job),
        TEST(a_worker_that_never_comes_ends_only_a_synchronous_job_and_is_named),
        TEST(a_task_beyond_the_lists_is_refused_before_and_after_the_variables_are_there),
        TEST(a_chief_with_other_lists_is_refused),
        TEST(tells_once_who_is_refused),
        TEST(keeps_little_of_what_a_stranger_sends),
        TEST(a_worker_of_an_asynchronous_job_may_go),
        TEST(a_failure_of_a_worker_ends_a_synchronous_job),
        TEST(a_synchronous_job_waits_for_a_worker_that_was_stopped),
        TEST(tells_once_who_comes_falls_silent_and_comes_back),
        TEST(tells_who_leaves_and_waits_no_more_for_it),
        TEST(knows_who_has_told_it_the_outcome),
        TEST(a_stranger_is_not_heard),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}
