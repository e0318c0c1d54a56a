/* The same calls over a loopback and over sockets must give the same answers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "rpc/call_group.h"
#include "rpc/loopback.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "support/status.h"

#define DEADLINE_MS 60000

/* ---- the service ---- */

struct instance {
    _Atomic(struct call *) kept;
    _Atomic int cancelled;
};

static void echo(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    struct message reply = message_move(request);
    call_reply(call, &reply);
}

static void refuse(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    message_release(request);
    call_fail(call, status_error(STATUS_FAILED_PRECONDITION, "not now: 100 %% \xc3\xa9\n"));
}

static void note_cancelled(void *context, struct call *call)
{
    struct instance *instance = context;
    (void)call;
    atomic_fetch_add(&instance->cancelled, 1);
}

static void keep(void *context, struct call *call, struct message *request)
{
    struct instance *instance = context;
    message_release(request);
    call_when_cancelled(call, note_cancelled, instance);
    atomic_store(&instance->kept, call);
}

static void reply_first(void *instance, struct call *call, struct message *request)
{
    struct message reply = message_move(request);
    call_reply(call, &reply);
    call_when_cancelled(call, note_cancelled, instance);
}

static void *reply_later(void *context)
{
    struct message reply = { .header = { "late", 4 } };
    usleep(2000);
    call_reply(context, &reply);
    return NULL;
}

static void later(void *instance, struct call *call, struct message *request)
{
    pthread_t thread;
    (void)instance;
    message_release(request);
    pthread_create(&thread, NULL, reply_later, call);
    pthread_detach(thread);
}

/* Sends three replies, each the request and a digit. */
static void thrice(void *instance, struct call *call, struct message *request)
{
    static const char *const digits[] = { "1", "2", "3" };
    (void)instance;
    for (int i = 0; i < 3; i++) {
        struct message reply = { .header = { digits[i], 1 } };
        call_send(call, &reply);
    }
    message_release(request);
    call_end(call);
}

static void half(void *instance, struct call *call, struct message *request)
{
    struct message reply = { .header = { "1", 1 } };
    (void)instance;
    message_release(request);
    call_send(call, &reply);
    call_fail(call, status_error(STATUS_DATA_LOSS, "the rest is lost"));
}

static void received(void *context, struct call *call, struct message *message)
{
    (void)context;
    if (message == NULL) {
        call_end(call);
        return;
    }
    struct message reply = message_move(message);
    call_send(call, &reply);
}

static void stream(void *instance, struct call *call, struct message *request)
{
    message_release(request);
    call_receive(call, received, instance);
}

static void tell(void *instance, struct call *call, struct message *request)
{
    const char *value = call_metadata(call, "x-asked");
    struct message reply = { .header = { "told", 4 } };
    (void)instance;
    message_release(request);
    call_add_metadata(call, "x-told", value != NULL ? value : "nothing");
    call_reply(call, &reply);
}

static const struct method methods[] = {
    { "/t/Echo", echo, METHOD_UNARY, true },
    { "/t/Refuse", refuse, METHOD_UNARY, true },
    { "/t/Keep", keep, METHOD_UNARY, true },
    { "/t/Later", later, METHOD_UNARY, true },
    { "/t/Thrice", thrice, METHOD_REPLIES, true },
    { "/t/Half", half, METHOD_REPLIES, true },
    { "/t/Stream", stream, METHOD_STREAM, true },
    { "/t/Tell", tell, METHOD_UNARY, false },
    { "/t/ReplyFirst", reply_first, METHOD_UNARY, true },
};
static const struct service service = { methods, COUNT(methods) };

/* ---- the transports: loopback, TCP and a Unix socket ---- */

struct place {
    struct instance instance;
    struct channel *channel;
    struct loop *loop;
    struct rpc_server *server;
    pthread_t thread;
};

static void open_loopback(struct place *place)
{
    place->channel = loopback_open(&service, &place->instance, clock_monotonic());
}

static void *run_server(void *context)
{
    struct place *place = context;
    assert_true(status_is_ok(loop_run(place->loop)));
    return NULL;
}

static void open_server(struct place *place, const char *address)
{
    struct rpc_server_options options = { .message_max_bytes = (size_t)64 << 20 };
    struct remote_options client = { .payload = true };
    char text[128];
    int port;

    assert_ok(loop_create(&place->loop));
    assert_ok(rpc_server_create(place->loop, &options, &place->server));
    rpc_server_add(place->server, &service, &place->instance);
    assert_ok(rpc_server_listen(place->server, address, &port));
    snprintf(text, sizeof text, "127.0.0.1:%d", port);
    pthread_create(&place->thread, NULL, run_server, place);
    assert_ok(remote_open(port > 0 ? text : address, &client, &place->channel));
}

static void open_tcp(struct place *place)
{
    open_server(place, "127.0.0.1:0");
}

static void open_unix(struct place *place)
{
    char address[64];
    snprintf(address, sizeof address, "unix:/tmp/slipway-test-%d.sock", (int)getpid());
    open_server(place, address);
}

static void close_place(struct place *place)
{
    channel_close(place->channel);
    if (place->loop == NULL)
        return;
    loop_stop(place->loop);
    pthread_join(place->thread, NULL);
    rpc_server_destroy(place->server);
    loop_destroy(place->loop);
}

/* ---- the cases ---- */

static int64_t soon(void)
{
    return clock_deadline_ns(clock_monotonic(), DEADLINE_MS);
}

static void replies_of_every_size_come_back_whole(struct place *place)
{
    static const size_t sizes[] = { 0,     1,     5,      1000,    16384,   65531,
                                    65536, 70000, 300000, 1 << 20, 5000000, 40000001 };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t size = sizes[i];
        char *data = zalloc(size + 1), *back = zalloc(size + 1);
        for (size_t at = 0; at < size; at++)
            data[at] = (char)(at * 31 + at / 251);
        struct bytes pieces[] = { { data, size / 3 }, { data + size / 3, size - size / 3 } };
        struct message request = { .header = { "\x08\x01", 2 },
                                   .pieces = pieces,
                                   .pieces_count = 2 };
        struct message reply;
        assert_ok(channel_call(place->channel, "/t/Echo", &request, soon(), &reply));
        assert_int_equal(message_payload_size(&reply), size);
        assert_int_equal(reply.header.size, 2);
        assert_memory_equal(reply.header.data, "\x08\x01", 2);
        struct payload_cursor payload = { .message = &reply };
        payload_copy(&payload, back, size);
        assert_memory_equal(data, back, size);
        message_release(&reply);
        free(data);
        free(back);
    }
}

static void an_empty_message_is_a_message(struct place *place)
{
    struct message request = { 0 }, reply;
    assert_ok(channel_call(place->channel, "/t/Echo", &request, soon(), &reply));
    assert_int_equal(reply.header.size, 0);
    assert_int_equal(reply.pieces_count, 0);
    message_release(&reply);
}

static void failures_keep_code_and_words(struct place *place)
{
    struct message request = { 0 }, reply;
    struct status status = channel_call(place->channel, "/t/Refuse", &request, soon(), &reply);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_string_equal(status.message, "not now: 100 % \xc3\xa9\n");
}

static void an_unknown_method_is_named(struct place *place)
{
    struct message request = { .header = { "abc", 3 } }, reply;
    struct status status = channel_call(place->channel, "/t/None", &request, soon(), &reply);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message, "unknown method /t/None");
}

static void a_reply_may_come_later_from_another_thread(struct place *place)
{
    for (int i = 0; i < 20; i++) {
        struct message request = { 0 }, reply;
        assert_ok(channel_call(place->channel, "/t/Later", &request, soon(), &reply));
        assert_true(bytes_equal(reply.header, bytes_of("late")));
        message_release(&reply);
    }
}

static void an_answered_call_is_valid_until_its_method_returns(struct place *place)
{
    for (int i = 1; i <= 20; i++) {
        struct message request = { .header = { "abc", 3 } }, reply;
        assert_ok(channel_call(place->channel, "/t/ReplyFirst", &request, soon(), &reply));
        assert_true(bytes_equal(reply.header, bytes_of("abc")));
        message_release(&reply);
        assert_int_equal(place->instance.cancelled,
                         i); /* at once, before the client has the reply */
    }
}

static void wait_left(struct place *place)
{
    for (int i = 0; i < DEADLINE_MS && atomic_load(&place->instance.cancelled) == 0; i++)
        usleep(1000);
    assert_int_equal(place->instance.cancelled, 1);
    struct message reply = { 0 };
    call_reply(place->instance.kept, &reply); /* the caller has left: dropped */
}

static void a_call_ends_at_its_deadline_and_the_server_is_told(struct place *place)
{
    struct message request = { 0 }, reply;
    assert_ok(channel_call(place->channel, "/t/Echo", &request, soon(), &reply)); /* connects */
    message_release(&reply);
    struct status status = channel_call(place->channel, "/t/Keep", &request,
                                        clock_deadline_ns(clock_monotonic(), 50), &reply);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    /* Over a socket the client names its peer, unless the server's status arrives first. */
    assert_true(strstr(status.message, "has not answered in time") != NULL ||
                strcmp(status.message, "deadline exceeded") == 0);
    wait_left(place);
}

static void *cancel_soon(void *context)
{
    usleep(20000);
    call_group_cancel(context);
    return NULL;
}

static void a_cancelled_call_answers_cancelled(struct place *place)
{
    struct message request = { 0 };
    struct call_group calls;
    pthread_t thread;

    call_group_init(&calls, channel_clock(place->channel), 1);
    call_group_begin(&calls);
    call_group_add(&calls, place->channel, "/t/Keep", &request, soon());
    while (atomic_load(&place->instance.kept) == NULL)
        usleep(1000);
    pthread_create(&thread, NULL, cancel_soon, &calls);
    assert_int_equal(call_group_wait(&calls).code, STATUS_CANCELLED);
    pthread_join(thread, NULL);
    call_group_finish(&calls);
    wait_left(place);
}

/* The first call would never end, like a ps that waits for a dead worker. */
static void the_first_failure_ends_the_calls_beside_it(struct place *place)
{
    struct message request = { 0 };
    struct call_group calls;

    call_group_init(&calls, channel_clock(place->channel), 2);
    call_group_begin(&calls);
    call_group_add(&calls, place->channel, "/t/Keep", &request, CLOCK_NEVER);
    call_group_add(&calls, place->channel, "/t/Refuse", &request, soon());
    assert_int_equal(call_group_wait(&calls).code, STATUS_FAILED_PRECONDITION);
    call_group_finish(&calls);
    wait_left(place);
}

/* Aborts only once the server has the call: one cancelled earlier would never reach it. */
static struct status look_until_kept(void *context)
{
    struct place *place = context;

    return atomic_load(&place->instance.kept) == NULL
               ? status_ok()
               : status_error(STATUS_ABORTED, "the worker has died");
}

static void a_watch_ends_a_wait_that_makes_no_sense(struct place *place)
{
    struct message request = { 0 };
    struct call_group calls;
    struct call_watch watch = { 1, look_until_kept, place };

    call_group_init(&calls, channel_clock(place->channel), 1);
    call_group_begin(&calls);
    call_group_add(&calls, place->channel, "/t/Keep", &request, CLOCK_NEVER);
    struct status status = call_group_wait_watched(&calls, &watch);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_string_equal(status.message, "the worker has died");
    call_group_finish(&calls);
    wait_left(place);
}

static void all_calls_are_waited_for_if_so_told(struct place *place)
{
    struct message request = { 0 };
    struct call_group calls;

    call_group_init(&calls, channel_clock(place->channel), 2);
    call_group_begin(&calls);
    call_group_add(&calls, place->channel, "/t/Refuse", &request, soon());
    call_group_add(&calls, place->channel, "/t/Later", &request, soon());
    assert_int_equal(call_group_wait_all(&calls).code, STATUS_FAILED_PRECONDITION);
    assert_int_equal(calls.replies[1].header.size, 4);
    call_group_finish(&calls);
}

struct canceller {
    struct call_group *calls;
    _Atomic bool stop;
};

static void *cancel_again_and_again(void *context)
{
    struct canceller *canceller = context;

    while (!atomic_load(&canceller->stop)) {
        call_group_cancel(canceller->calls);
        sched_yield();
    }
    return NULL;
}

static void calls_are_cancelled_at_any_moment(struct place *place)
{
    struct call_group calls;
    struct canceller canceller = { .calls = &calls };
    pthread_t thread;

    call_group_init(&calls, channel_clock(place->channel), 3);
    pthread_create(&thread, NULL, cancel_again_and_again, &canceller);
    for (int round = 0; round < 300; round++) {
        call_group_begin(&calls);
        for (int i = 0; i < 3; i++) {
            struct message request = { .header = { "\n\1x", 3 } };
            call_group_add(&calls, place->channel, "/t/Echo", &request, soon());
        }
        struct status status = call_group_wait(&calls);
        assert_true(status_is_ok(status) || status.code == STATUS_CANCELLED);
    }
    atomic_store(&canceller.stop, true);
    pthread_join(thread, NULL);
    call_group_finish(&calls);
}

static void many_calls_at_once_are_all_answered(struct place *place)
{
    enum { COUNT_MAX = 300 };
    struct call_group calls;
    char data[COUNT_MAX][16];

    call_group_init(&calls, channel_clock(place->channel), COUNT_MAX);
    for (int round = 0; round < 5; round++) {
        call_group_begin(&calls);
        for (int i = 0; i < COUNT_MAX; i++) {
            snprintf(data[i], sizeof data[i], "%c%c%05d", 0x0a, 5, i);
            struct message request = { .header = { data[i], 7 } };
            call_group_add(&calls, place->channel, "/t/Echo", &request, soon());
        }
        assert_ok(call_group_wait(&calls));
        for (int i = 0; i < COUNT_MAX; i++) {
            assert_int_equal(calls.replies[i].header.size, 7);
            assert_memory_equal(calls.replies[i].header.data, data[i], 7);
        }
    }
    call_group_finish(&calls);
}

/* The replies and status of a streaming call. */
struct seen {
    struct call_group *calls;
    char text[16];
    int count;
    _Atomic bool done;
    enum status_code code;
    char words[64];
    const char *told;
    struct client_call *call;
};

static void see(void *context, struct message *reply)
{
    struct seen *seen = context;
    assert_false(atomic_load(&seen->done));
    assert_true(reply->header.size < 4);
    memcpy(seen->text + seen->count, reply->header.data, reply->header.size);
    seen->count += (int)reply->header.size;
}

static void see_end(void *context, struct status status, struct message *reply)
{
    struct seen *seen = context;
    assert_null(reply->release);
    seen->code = status.code;
    snprintf(seen->words, sizeof seen->words, "%s", status.message);
    atomic_store(&seen->done, true);
}

static void run_stream(struct place *place, const char *path, const char *text, struct seen *seen)
{
    struct message request = { .header = bytes_of(text) };
    struct call_options options = { .deadline_ns = soon(), .received = see };

    *seen = (struct seen){ 0 };
    struct client_call *call =
        channel_begin(place->channel, path, &request, &options, see_end, seen);
    while (!atomic_load(&seen->done))
        usleep(1000);
    client_call_release(call);
}

static void several_replies_come_in_order(struct place *place)
{
    struct seen seen;
    run_stream(place, "/t/Thrice", "x", &seen);
    assert_int_equal(seen.code, STATUS_OK);
    assert_string_equal(seen.text, "123");
    run_stream(place, "/t/Half", "x", &seen);
    assert_int_equal(seen.code, STATUS_DATA_LOSS);
    assert_string_equal(seen.words, "the rest is lost");
    assert_string_equal(seen.text, "1");
    run_stream(place, "/t/Stream", "ab", &seen);
    assert_int_equal(seen.code, STATUS_OK);
    assert_string_equal(seen.text, "ab");
}

struct told {
    struct client_call *call;
    _Atomic bool done;
    char text[32];
};

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_told(void *context, struct status status, struct message *reply)
{
    struct told *told = context;
    (void)reply;
    assert_true(status_is_ok(status));
    pthread_mutex_lock(&told_lock); /* waits until told->call is set */
    pthread_mutex_unlock(&told_lock);
    atomic_store(&told->done, true);
}

static void metadata_goes_both_ways(struct place *place)
{
    const struct metadata items[] = { { "x-asked", "a question" } };
    struct call_options options = { .deadline_ns = soon(), .metadata = items, .metadata_count = 1 };
    struct message request = { .header = { "h", 1 } };
    struct told told = { 0 };

    told.call = channel_begin(place->channel, "/t/Tell", &request, &options, note_told, &told);
    while (!atomic_load(&told.done))
        usleep(1000);
    assert_string_equal(client_call_metadata(told.call, "x-told"), "a question");
    client_call_release(told.call);
}

static const struct place_row {
    const char *label;
    void (*open)(struct place *place);
} places[] = { { "loopback", open_loopback }, { "tcp", open_tcp }, { "unix", open_unix } };

static const struct case_row {
    const char *label;
    void (*run)(struct place *place);
} cases[] = {
#define CASE(name)  \
    {               \
#name, name \
    }
    CASE(replies_of_every_size_come_back_whole),
    CASE(an_empty_message_is_a_message),
    CASE(failures_keep_code_and_words),
    CASE(an_unknown_method_is_named),
    CASE(a_reply_may_come_later_from_another_thread),
    CASE(an_answered_call_is_valid_until_its_method_returns),
    CASE(a_call_ends_at_its_deadline_and_the_server_is_told),
    CASE(a_cancelled_call_answers_cancelled),
    CASE(the_first_failure_ends_the_calls_beside_it),
    CASE(a_watch_ends_a_wait_that_makes_no_sense),
    CASE(all_calls_are_waited_for_if_so_told),
    CASE(calls_are_cancelled_at_any_moment),
    CASE(many_calls_at_once_are_all_answered),
    CASE(several_replies_come_in_order),
    CASE(metadata_goes_both_ways),
};

struct test {
    const struct place_row *place;
    const struct case_row *row;
    char label[96];
};

static void run_row(void **state)
{
    const struct test *test = *state;
    struct place *place = zalloc(sizeof *place);

    test->place->open(place);
    test->row->run(place);
    close_place(place);
    free(place);
}

int main(void)
{
    static struct test tests[COUNT(places) * COUNT(cases)];
    struct CMUnitTest rows[COUNT(tests)];

    for (size_t i = 0; i < COUNT(tests); i++) {
        tests[i].place = &places[i / COUNT(cases)];
        tests[i].row = &cases[i % COUNT(cases)];
        snprintf(tests[i].label, sizeof tests[i].label, "%s: %s", tests[i].place->label,
                 tests[i].row->label);
        rows[i] = (struct CMUnitTest){ .name = tests[i].label,
                                       .test_func = run_row,
                                       .initial_state = &tests[i] };
    }
    return cmocka_run_group_tests_name("call_group", rows, NULL, NULL);
}
