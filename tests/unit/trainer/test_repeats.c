/* Repeated requests: one that arrives twice, late, after its successor, or from a process that is
 * gone. The job is synchronous, with one ps and two workers, so that pushes have to wait. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "small_cluster.h"
#include "support/status.h"
#include "trainer/protocol/protocol.h"

struct pair {
    struct small_cluster cluster;
    struct ps_client workers[2]; /* incarnations 10 and 11 */
};

static int start(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);

    small_start(&pair->cluster, 1);
    for (uint32_t i = 0; i < 2; i++)
        small_client(&pair->cluster, i, 10 + i, &pair->workers[i]);
    assert_ok(client_join(&pair->workers[0], false, 1000));
    assert_ok(small_create(&pair->workers[0], 2, true));
    assert_ok(client_join(&pair->workers[1], true, 1000));
    *state = pair;
    return 0;
}

static int stop(void **state)
{
    struct pair *pair = *state;

    for (int i = 0; i < 2; i++)
        client_finish(&pair->workers[i]);
    small_stop(&pair->cluster);
    free(pair);
    return 0;
}

static struct ticket ticket_of(uint32_t worker, uint64_t incarnation)
{
    struct ticket ticket = { 0 };

    ticket.worker = worker;
    ticket.incarnation = incarnation;
    ticket.generation = 1;
    return ticket;
}

/* Sends a push from that worker's process; every gradient element is `value`. */
static void send_push(struct pair *pair, uint32_t worker, uint64_t incarnation, uint64_t sequence,
                      float value, struct call_group *calls)
{
    static float gradient[8][SMALL_W + SMALL_B];
    static int next;
    float *values = gradient[next++ % 8];
    struct bytes piece = { (const char *)values, sizeof gradient[0] };
    struct push_request header = { 0 };
    struct ticket ticket = ticket_of(worker, incarnation);

    for (int i = 0; i < SMALL_W + SMALL_B; i++)
        values[i] = value;
    header.ticket = &ticket;
    header.sequence = sequence;
    header.pull = true;
    call_group_init(calls, clock_monotonic(), 1);
    call_group_begin(calls);
    struct message request = protocol_attach(pack_push_request(&header), &piece, 1);
    call_group_add(calls, pair->cluster.channels[0], PS_PUSH, &request,
                   clock_deadline_ns(clock_monotonic(), 20000));
}

static float first_value(const struct call_group *calls)
{
    struct payload_cursor payload = { .message = &calls->replies[0] };
    float value;

    payload_copy(&payload, &value, sizeof value);
    return value;
}

static void a_push_that_comes_twice_is_applied_once_and_answered_twice(void **state)
{
    struct pair *pair = *state;
    struct call_group first, again, other;

    send_push(pair, 0, 10, 1, 1, &first);
    send_push(pair, 0, 10, 1, 1, &again);
    send_push(pair, 1, 11, 1, 1, &other);
    assert_ok(call_group_wait(&first));
    assert_ok(call_group_wait(&again));
    assert_ok(call_group_wait(&other));
    assert_true(first_value(&first) == .5f && first_value(&again) == .5f);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 1);
    call_group_finish(&first);
    call_group_finish(&again);
    call_group_finish(&other);
}

static void a_push_counts_as_long_as_one_of_its_callers_waits(void **state)
{
    struct pair *pair = *state;
    struct call_group first, again, other;

    send_push(pair, 0, 10, 1, 1, &first);
    send_push(pair, 0, 10, 1, 1, &again);
    call_group_cancel(&first);
    assert_int_equal(call_group_wait(&first).code, STATUS_CANCELLED);
    send_push(pair, 1, 11, 1, 1, &other);
    assert_ok(call_group_wait(&again));
    assert_ok(call_group_wait(&other));
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 1);
    call_group_finish(&first);
    call_group_finish(&again);
    call_group_finish(&other);
}

static void a_push_of_a_replaced_process_does_not_count_for_the_new_one(void **state)
{
    struct pair *pair = *state;
    struct ps_client later;
    struct call_group stale, fresh, other;

    send_push(pair, 0, 10, 7, 100, &stale);
    small_client(&pair->cluster, 0, 12, &later);
    assert_ok(client_join(&later, true, 1000));
    assert_int_equal(call_group_wait(&stale).code, STATUS_ABORTED);
    send_push(pair, 0, 12, 1, 1, &fresh);
    send_push(pair, 1, 11, 1, 1, &other);
    assert_ok(call_group_wait(&fresh));
    assert_ok(call_group_wait(&other));
    assert_true(first_value(&fresh) == .5f);
    assert_int_equal(ps_global_step(pair->cluster.ps[0]), 1);
    call_group_finish(&stale);
    call_group_finish(&fresh);
    call_group_finish(&other);
    client_finish(&later);
}

/* The reply to the worker's first join comes too late, so the worker joins again after the last
 * step. The chief waits for this worker, so the second reply must not let it leave without a
 * report. */
static void who_joins_again_after_the_last_step_still_reports(void **state)
{
    struct pair *pair = *state;
    struct ps_client chief, worker;
    struct small_cluster cluster;

    (void)pair;
    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    small_client(&cluster, 1, 2, &worker);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(small_create_until(&chief, 2, false, 1));
    assert_ok(client_join(&worker, true, 1000));
    static const float zeros[SMALL_W];
    const struct variable_gradient gradients[] = { { .values = zeros }, { .values = zeros } };
    assert_ok(client_push(&chief, gradients, false));
    assert_ok(client_report(&chief, status_ok(), false));
    assert_ok(client_join(&worker, true, 1000));
    assert_false(worker.finished);
    assert_ok(client_report(&worker, status_ok(), false));
    assert_ok(client_await(&chief, false, 20000));
    client_finish(&chief);
    client_finish(&worker);
    small_stop(&cluster);
}

static struct status hold(struct pair *pair, uint64_t incarnation, uint64_t number)
{
    return small_hold(pair->cluster.channels[0], ticket_of(0, incarnation), number);
}

/* Returns the snapshot's id, or 0 if the ps refused the cut. */
static uint64_t cut(struct pair *pair, uint64_t number)
{
    struct cut_request header = { 0 };
    struct ticket ticket = ticket_of(0, 10);
    struct cut_reply cut_reply;
    struct message reply = { 0 };
    uint64_t id = 0;

    header.ticket = &ticket;
    header.number = number;
    struct message request = pack_cut_request(&header);
    struct status status = channel_call(pair->cluster.channels[0], PS_CUT, &request,
                                        clock_deadline_ns(clock_monotonic(), 20000), &reply);
    struct arena *arena = arena_create(0);
    if (status_is_ok(status)) {
        assert_ok(unpack_cut_reply(&reply, arena, &cut_reply));
        id = cut_reply.snapshot;
    }
    arena_destroy(arena);
    message_release(&reply);
    return id;
}

static void assert_training_goes_on(struct pair *pair, uint64_t incarnation)
{
    struct call_group first, other;

    send_push(pair, 0, incarnation, 1, 1, &first);
    send_push(pair, 1, 11, 1, 1, &other);
    assert_ok(call_group_wait(&first));
    assert_ok(call_group_wait(&other));
    call_group_finish(&first);
    call_group_finish(&other);
}

static void a_hold_or_a_cut_that_comes_again_changes_nothing(void **state)
{
    struct pair *pair = *state;

    assert_ok(hold(pair, 10, 5));
    assert_ok(hold(pair, 10, 5));
    uint64_t id = cut(pair, 5);
    assert_int_not_equal(id, 0);
    assert_int_equal(cut(pair, 5), id);
    assert_ok(hold(pair, 10, 5)); /* a late repeat must not hold the ps again */
    assert_int_equal(hold(pair, 10, 4).code, STATUS_ABORTED);
    assert_training_goes_on(pair, 10);
    assert_int_equal(cut(pair, 4), 0);
    assert_int_equal(cut(pair, 6), 0);
}

static void a_hold_ends_with_the_process_that_asked_for_it(void **state)
{
    struct pair *pair = *state;
    struct ps_client later;

    assert_ok(hold(pair, 10, 5));
    small_client(&pair->cluster, 0, 12, &later);
    assert_ok(client_join(&later, true, 1000));
    assert_training_goes_on(pair, 12);
    assert_int_equal(hold(pair, 10, 6).code, STATUS_FAILED_PRECONDITION);
    client_finish(&later);
}

#define REPEATS_TEST(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPEATS_TEST(a_push_that_comes_twice_is_applied_once_and_answered_twice),
        REPEATS_TEST(a_push_counts_as_long_as_one_of_its_callers_waits),
        REPEATS_TEST(a_push_of_a_replaced_process_does_not_count_for_the_new_one),
        REPEATS_TEST(a_hold_or_a_cut_that_comes_again_changes_nothing),
        REPEATS_TEST(a_hold_ends_with_the_process_that_asked_for_it),
        REPEATS_TEST(who_joins_again_after_the_last_step_still_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
