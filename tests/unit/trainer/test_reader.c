/* A task that only reads snapshots. The tasks that train must not suffer from it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "small_cluster.h"
#include "support/status.h"
#include "trainer/client/client_internal.h"

#define PS 2
struct fixture {
    struct small_cluster cluster;
    struct clock *clock;
    struct ps_client chief, worker, reader;
};

static void make_reader(struct fixture *fixture, uint64_t incarnation, struct ps_client *out)
{
    small_client(&fixture->cluster, 1, incarnation, out); /* also the index of the worker */
    out->options.task = "evaluator";
    out->options.reader = true;
}

static int start(void **state)
{
    struct fixture *fixture = zalloc(sizeof *fixture);

    fixture->clock = clock_fake_create(NS_PER_S);
    small_start_at(&fixture->cluster, PS, fixture->clock);
    small_client(&fixture->cluster, 0, 1, &fixture->chief);
    small_client(&fixture->cluster, 1, 2, &fixture->worker);
    make_reader(fixture, 50, &fixture->reader);
    assert_ok(client_join(&fixture->chief, false, 1000));
    assert_ok(small_create(&fixture->chief, 2, false));
    assert_ok(client_join(&fixture->worker, true, 1000));
    assert_ok(client_join(&fixture->reader, true, 1000));
    *state = fixture;
    return 0;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;

    client_finish(&fixture->chief);
    client_finish(&fixture->worker);
    client_finish(&fixture->reader);
    small_stop(&fixture->cluster);
    clock_fake_destroy(fixture->clock);
    free(fixture);
    return 0;
}

/* Checks every element of "w" in a snapshot. */
static void assert_w(struct client_snapshot *snapshot, float expected)
{
    struct bytes chunk;
    size_t size = 0;

    client_snapshot_select(snapshot, 0, 0);
    for (;;) {
        assert_ok(snapshot->source.next(&snapshot->source, &chunk));
        if (chunk.size == 0)
            break;
        for (size_t i = 0; i < chunk.size / sizeof(float); i++) {
            float element;
            memcpy(&element, chunk.data + i * sizeof element, sizeof element);
            assert_true(element == expected);
        }
        size += chunk.size;
    }
    assert_int_equal(size, SMALL_W * sizeof(float));
}

static void has_snapshots_beside_the_chiefs(void **state)
{
    struct fixture *fixture = *state;
    struct client_snapshot chiefs, readers;

    assert_ok(client_snapshot_begin(&fixture->chief, true, 1000, &chiefs));
    assert_ok(client_push(&fixture->worker, all_ones, false));
    assert_ok(client_snapshot_begin(&fixture->reader, false, 1000, &readers));
    assert_ok(client_push(&fixture->worker, all_ones, false));
    assert_w(&chiefs, 1);
    assert_w(&readers, .5f);
    assert_int_equal(readers.global_step, 1);
    client_snapshot_end(&readers);
    assert_w(&chiefs, 1);
    assert_ok(client_snapshot_begin(&fixture->reader, false, 1000, &readers));
    client_snapshot_end(&chiefs);
    assert_w(&readers, 0);
    client_snapshot_end(&readers);
}

static void *push_twice(void *context)
{
    struct ps_client *client = context;
    enum status_code code = client_push(client, all_ones, false).code;

    if (code == STATUS_OK)
        code = client_push(client, all_ones, true).code;
    return (void *)(uintptr_t)code;
}

static struct status hold(struct ps_client *client, uint64_t number)
{
    return small_hold(client->options.channels[0], client_ticket(client, 0), number);
}

/* Pushes from another thread wait until the hold on ps 0 expires. */
static void assert_expires_after(struct fixture *fixture, int64_t ms)
{
    struct ps *ps = fixture->cluster.ps[0];
    pthread_t thread;
    void *code;

    assert_int_equal(pthread_create(&thread, NULL, push_twice, &fixture->worker), 0);
    clock_fake_advance(fixture->clock, (ms - 1) * NS_PER_MS);
    ps_expire(ps, clock_now_ns(fixture->clock));
    clock_sleep(clock_monotonic(), 50);
    assert_int_equal(ps_global_step(ps), 0);
    clock_fake_advance(fixture->clock, NS_PER_MS);
    ps_expire(ps, clock_now_ns(fixture->clock));
    clock_sleep(clock_monotonic(), 50); /* lets a late push arrive; no hold stops it */
    ps_expire(ps, clock_now_ns(fixture->clock));
    pthread_join(thread, &code);
    assert_int_equal((uintptr_t)code, STATUS_OK);
    assert_int_equal(ps_global_step(ps), 2);
}

static void may_die_while_it_holds_a_ps(void **state)
{
    struct fixture *fixture = *state;

    assert_ok(hold(&fixture->reader, 5));
    assert_expires_after(fixture, 1000);
    assert_int_equal(hold(&fixture->reader, 5).code, STATUS_NOT_FOUND);
}

/* The ps hears it before it has looked at the clock again. */
static void a_pause_before_a_hold_does_not_lengthen_it(void **state)
{
    struct fixture *fixture = *state;

    clock_fake_advance(fixture->clock, 3600 * NS_PER_S);
    assert_ok(hold(&fixture->reader, 5));
    ps_exclude_pause(fixture->cluster.ps[0], 3600 * NS_PER_S);
    assert_expires_after(fixture, 1000);
}

static void heartbeat(struct ps_client *client, struct status *status)
{
    struct heartbeat_request header = { 0 };
    struct identity identity = client_identity(&client->options, 0);
    struct message reply = { 0 };

    header.identity = &identity;
    struct message request = pack_heartbeat_request(&header);
    *status =
        channel_call(client->options.channels[0], PS_HEARTBEAT, &request, CLOCK_NEVER, &reply);
    message_release(&reply);
}

/* The chief's hold expires only 5 s after its last heartbeat. */
static void training_goes_on_when_the_chief_dies_while_it_holds_a_ps(void **state)
{
    struct fixture *fixture = *state;
    struct status status;

    heartbeat(&fixture->chief, &status);
    assert_ok(status);
    assert_ok(hold(&fixture->chief, 5));
    assert_expires_after(fixture, 5000);
}

static void a_pause_before_a_heartbeat_does_not_lengthen_a_hold(void **state)
{
    struct fixture *fixture = *state;
    struct status status;

    clock_fake_advance(fixture->clock, 3600 * NS_PER_S);
    heartbeat(&fixture->chief, &status);
    assert_ok(status);
    assert_ok(hold(&fixture->chief, 5));
    ps_exclude_pause(fixture->cluster.ps[0], 3600 * NS_PER_S);
    assert_expires_after(fixture, 5000);
}

static void leaves_the_chief_to_go_first(void **state)
{
    struct fixture *fixture = *state;
    struct client_snapshot snapshot;

    assert_ok(hold(&fixture->chief, 5));
    assert_int_equal(hold(&fixture->reader, 7).code, STATUS_ABORTED);
    assert_ok(client_snapshot_begin(&fixture->chief, true, 1000, &snapshot));
    client_snapshot_end(&snapshot);
    assert_ok(hold(&fixture->reader, 7));
    assert_ok(client_snapshot_begin(&fixture->chief, true, 1000, &snapshot));
    assert_w(&snapshot, 1);
    client_snapshot_end(&snapshot);
    assert_int_equal(hold(&fixture->reader, 7).code, STATUS_NOT_FOUND);
    assert_ok(client_push(&fixture->worker, all_ones, true));
}

/* A ps that stood still learns afterwards for how long. */
static void keeps_a_snapshot_while_the_ps_stands_still(void **state)
{
    struct fixture *fixture = *state;
    int64_t before_ns = clock_now_ns(fixture->clock);
    struct client_snapshot snapshot;

    assert_ok(client_snapshot_begin(&fixture->reader, false, 1000, &snapshot));
    clock_fake_advance(fixture->clock, 3600 * NS_PER_S);
    for (int p = 0; p < PS; p++) { /* it had looked at the clock before */
        ps_expire(fixture->cluster.ps[p], before_ns);
        ps_exclude_pause(fixture->cluster.ps[p], 3600 * NS_PER_S);
        ps_expire(fixture->cluster.ps[p], clock_now_ns(fixture->clock));
    }
    assert_w(&snapshot, 1);
    client_snapshot_end(&snapshot);
}

static void loses_a_snapshot_that_it_does_not_read(void **state)
{
    struct fixture *fixture = *state;
    struct client_snapshot snapshot;
    struct bytes chunk;

    assert_ok(client_snapshot_begin(&fixture->reader, false, 1000, &snapshot));
    for (int i = 0; i < 2; i++) {
        clock_fake_advance(fixture->clock, 59 * NS_PER_S);
        for (int p = 0; p < PS; p++)
            ps_expire(fixture->cluster.ps[p], clock_now_ns(fixture->clock));
        assert_w(&snapshot, 1);
    }
    clock_fake_advance(fixture->clock, 60 * NS_PER_S);
    for (int p = 0; p < PS; p++)
        ps_expire(fixture->cluster.ps[p], clock_now_ns(fixture->clock));
    client_snapshot_select(&snapshot, 0, 0);
    assert_int_equal(snapshot.source.next(&snapshot.source, &chunk).code, STATUS_ABORTED);
    client_snapshot_end(&snapshot);
}

static void gives_way_to_a_later_one(void **state)
{
    struct fixture *fixture = *state;
    struct client_snapshot before, snapshot;
    struct ps_client later;

    assert_ok(client_snapshot_begin(&fixture->reader, false, 1000, &before));
    make_reader(fixture, 51, &later);
    assert_ok(client_join(&later, true, 1000));
    assert_ok(hold(&later, 1)); /* a smaller number: it comes from another host's clock */
    assert_ok(client_snapshot_begin(&later, false, 1000, &snapshot));
    assert_w(&snapshot, 1);
    client_snapshot_end(&snapshot);
    client_snapshot_end(&before);
    struct status status = client_snapshot_begin(&fixture->reader, false, 1000, &before);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "replaced by a later process"));
    assert_int_equal(client_join(&fixture->reader, true, 1000).code, STATUS_FAILED_PRECONDITION);
    client_finish(&later);
}

static void is_nobody_that_is_waited_for(void **state)
{
    struct fixture *fixture = *state;
    struct ps *ps = fixture->cluster.ps[0];
    struct status status;

    heartbeat(&fixture->reader, &status);
    assert_ok(status);
    assert_int_equal(ps_last_heard_ns(ps), 0);
    assert_ok(client_report(&fixture->worker, status_ok(), false));
    assert_ok(client_report(&fixture->chief, status_ok(), false));
    assert_ok(client_await(&fixture->chief, false, 1000));
    assert_ok(client_report(&fixture->chief, status_ok(), true));
    heartbeat(&fixture->reader, &status);
    assert_ok(status);
    assert_ok(client_await(&fixture->reader, true, 1000));
    assert_int_equal(ps_count_uninformed(ps, 2),
                     1); /* only the worker: the reader does not count */
}

static void changes_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct status outcome;

    assert_int_equal(client_push(&fixture->reader, all_ones, false).code, STATUS_PERMISSION_DENIED);
    assert_int_equal(client_report(&fixture->reader, status_ok(), true).code,
                     STATUS_PERMISSION_DENIED);
    assert_false(ps_outcome(fixture->cluster.ps[0], &outcome));
    assert_int_equal(small_create(&fixture->reader, 2, false).code, STATUS_PERMISSION_DENIED);
    assert_ok(client_pull(&fixture->reader));
    assert_ok(client_push(&fixture->worker, all_ones, true));
}

#define READER_TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(has_snapshots_beside_the_chiefs),
        READER_TEST(may_die_while_it_holds_a_ps),
        READER_TEST(a_pause_before_a_hold_does_not_lengthen_it),
        READER_TEST(training_goes_on_when_the_chief_dies_while_it_holds_a_ps),
        READER_TEST(a_pause_before_a_heartbeat_does_not_lengthen_a_hold),
        READER_TEST(leaves_the_chief_to_go_first),
        READER_TEST(keeps_a_snapshot_while_the_ps_stands_still),
        READER_TEST(loses_a_snapshot_that_it_does_not_read),
        READER_TEST(gives_way_to_a_later_one),
        READER_TEST(is_nobody_that_is_waited_for),
        READER_TEST(changes_nothing),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
