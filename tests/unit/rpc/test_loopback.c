#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <sched.h>
#include <unistd.h>

#include "rpc/call_group.h"
#include "rpc/loopback.h"

/* A server with three methods. One answers at once, one keeps the call until the test releases it,
 * and one fails. */
struct server {
    _Atomic(struct call *) kept;
    _Atomic int cancelled;
    int released;
};

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void echo(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    struct message reply = message_move(request);
    call_reply(call, &reply);
}

static void note_cancelled(void *context, struct call *call)
{
    struct server *server = context;
    (void)call;
    atomic_fetch_add(&server->cancelled, 1);
}

static void keep(void *instance, struct call *call, struct message *request)
{
    struct server *server = instance;
    message_release(request);
    call_when_cancelled(call, note_cancelled, server);
    atomic_store(&server->kept, call);
}

static void refuse(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    message_release(request);
    call_fail(call, status_error(STATUS_FAILED_PRECONDITION, "not now"));
}

static const struct method methods[] = {
    { "/t/Echo", echo, METHOD_UNARY, true },
    { "/t/Keep", keep, METHOD_UNARY, true },
    { "/t/Refuse", refuse, METHOD_UNARY, true },
};
static const struct service service = { methods, COUNT(methods) };

static void bytes_arrive_by_reference_and_are_given_back(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct channel *channel = loopback_open(&service, &server, clock_monotonic());
    static const char text[] = "payload";
    struct bytes piece = { text, 7 };
    struct message request = { .header = { "h", 1 },
                               .pieces = &piece,
                               .pieces_count = 1,
                               .release = count_release,
                               .owner = &server.released };
    struct message reply;

    assert_true(status_is_ok(channel_call(channel, "/t/Echo", &request, CLOCK_NEVER, &reply)));
    assert_null(request.release); /* the callee owns it now */
    assert_ptr_equal(reply.pieces[0].data, text);
    assert_int_equal(server.released, 0);
    message_release(&reply);
    assert_int_equal(server.released, 1);
    channel_close(channel);
}

static void failures_keep_code_and_words(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct channel *channel = loopback_open(&service, &server, clock_monotonic());
    struct message request = { 0 }, reply;

    struct status status = channel_call(channel, "/t/Refuse", &request, CLOCK_NEVER, &reply);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_string_equal(status.message, "not now");
    status = channel_call(channel, "/t/None", &request, CLOCK_NEVER, &reply);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    channel_close(channel);
}

static void *reply_later(void *context)
{
    struct server *server = context;
    struct message reply = { .header = { "late", 4 } };
    struct call *call;

    while ((call = atomic_load(&server->kept)) == NULL)
        sched_yield();
    usleep(2000);
    call_reply(call, &reply);
    return NULL;
}

static void a_reply_may_come_later_from_another_thread(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct channel *channel = loopback_open(&service, &server, clock_monotonic());
    struct message request = { 0 }, reply;
    pthread_t thread;

    pthread_create(&thread, NULL, reply_later, &server);
    assert_true(status_is_ok(channel_call(channel, "/t/Keep", &request, CLOCK_NEVER, &reply)));
    assert_true(bytes_equal(reply.header, bytes_of("late")));
    pthread_join(thread, NULL);
    assert_int_equal(server.cancelled, 0);
    channel_close(channel);
}

struct advancer {
    struct server *server;
    struct clock *clock;
};

/* Once the server has the call, whose deadline is then known. */
static void *advance_past_deadline(void *context)
{
    struct advancer *advancer = context;
    while (atomic_load(&advancer->server->kept) == NULL)
        sched_yield();
    clock_fake_advance(advancer->clock, 60 * NS_PER_S);
    return NULL;
}

static void a_call_ends_at_its_deadline_and_the_server_is_told(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct clock *clock = clock_fake_create(0);
    struct channel *channel = loopback_open(&service, &server, clock);
    struct advancer advancer = { &server, clock };
    struct message request = { 0 }, reply = { 0 };
    pthread_t thread;

    pthread_create(&thread, NULL, advance_past_deadline, &advancer);
    struct status status =
        channel_call(channel, "/t/Keep", &request, clock_deadline_ns(clock, 30000), &reply);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    pthread_join(thread, NULL);
    while (atomic_load(&server.cancelled) == 0)
        sched_yield();
    /* The caller has left: the reply is dropped and released. */
    reply = (struct message){ .release = count_release, .owner = &server.released };
    call_reply(atomic_load(&server.kept), &reply);
    assert_int_equal(server.released, 1);
    request = (struct message){ 0 };
    status = channel_call(channel, "/t/Echo", &request, 1, &reply);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED); /* it had passed before the call */
    channel_close(channel);
    clock_fake_destroy(clock);
}

static void a_broken_channel_ends_what_is_in_flight(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct channel *channel = loopback_open(&service, &server, clock_monotonic());
    struct message request = { 0 }, reply = { 0 };
    struct call_group calls;

    call_group_init(&calls, clock_monotonic(), 2);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Keep", &request, CLOCK_NEVER);
    loopback_break(channel);
    call_group_add(&calls, channel, "/t/Echo", &request, CLOCK_NEVER);
    assert_int_equal(call_group_wait(&calls).code, STATUS_UNAVAILABLE);
    assert_int_equal(server.cancelled, 1);
    call_reply(server.kept, &reply);
    call_group_finish(&calls);
    channel_close(channel);
}

static void a_cancelled_call_answers_cancelled(void **state)
{
    (void)state;
    struct server server = { .kept = NULL };
    struct channel *channel = loopback_open(&service, &server, clock_monotonic());
    struct message request = { 0 }, reply = { 0 };
    struct call_group calls;

    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Keep", &request, CLOCK_NEVER);
    call_group_cancel(&calls);
    call_group_cancel(&calls);
    assert_int_equal(call_group_wait(&calls).code, STATUS_CANCELLED);
    assert_int_equal(server.cancelled, 1);
    call_fail(server.kept, status_error(STATUS_INTERNAL, "nobody hears this"));
    message_release(&reply);
    call_group_finish(&calls);
    channel_close(channel);
}

/* Releases the call and replies to it from within its cancellation, as other threads may. */
struct hasty {
    struct server server;
    struct client_call *call;
};

static void release_and_reply(void *context, struct status status, struct message *reply)
{
    struct hasty *hasty = context;
    struct message late = { 0 };
    (void)reply;
    assert_int_equal(status.code, STATUS_CANCELLED);
    client_call_release(hasty->call);
    call_reply(atomic_load(&hasty->server.kept), &late);
}

static void both_sides_may_be_done_with_a_call_while_it_is_cancelled(void **state)
{
    (void)state;
    struct hasty hasty = { .call = NULL };
    struct channel *channel = loopback_open(&service, &hasty.server, clock_monotonic());
    struct message request = { 0 };

    hasty.call =
        channel_start(channel, "/t/Keep", &request, CLOCK_NEVER, release_and_reply, &hasty);
    client_call_cancel(hasty.call);
    assert_int_equal(hasty.server.cancelled, 0); /* the server replied before it was told */
    channel_close(channel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_by_reference_and_are_given_back),
        cmocka_unit_test(failures_keep_code_and_words),
        cmocka_unit_test(a_reply_may_come_later_from_another_thread),
        cmocka_unit_test(a_call_ends_at_its_deadline_and_the_server_is_told),
        cmocka_unit_test(a_broken_channel_ends_what_is_in_flight),
        cmocka_unit_test(a_cancelled_call_answers_cancelled),
        cmocka_unit_test(both_sides_may_be_done_with_a_call_while_it_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
