/* Channels over sockets when the peer or the connection misbehaves. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/container.h"
#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "support/status.h"

#define DEADLINE_MS 60000
#define HOARD_MAX   64

static int64_t soon(void)
{
    return clock_deadline_ns(clock_monotonic(), DEADLINE_MS);
}

/* ---- a server in a thread that runs work for the test ---- */

struct server {
    struct loop *loop;
    struct rpc_server *rpc;
    pthread_t thread;
    int port;
    char address[64];
    struct loop_task task;
    void (*work)(struct server *server);
    _Atomic bool done, drained, blocked;
    _Atomic int hoarded, answered, cancelled;
    struct {
        struct call *call;
        struct message request;
    } hoard[HOARD_MAX];
};

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

/* Keeps the call and its request. */
static void hoard(void *instance, struct call *call, struct message *request)
{
    struct server *server = instance;
    int at = atomic_load(&server->hoarded);
    assert_true(at < HOARD_MAX);
    server->hoard[at].call = call;
    server->hoard[at].request = message_move(request);
    call_when_cancelled(call, note_cancelled, server);
    atomic_store(&server->hoarded, at + 1);
}

static const struct method methods[] = { { "/t/Echo", echo, METHOD_UNARY, true },
                                         { "/t/Hoard", hoard, METHOD_UNARY, true } };
static const struct service service = { methods, COUNT(methods) };

static void *run_loop(void *context)
{
    struct server *server = context;
    assert_ok(loop_run(server->loop));
    return NULL;
}

static void server_start(struct server *server, const struct rpc_server_options *options, int port)
{
    *server = (struct server){ 0 };
    assert_ok(loop_create(&server->loop));
    assert_ok(rpc_server_create(server->loop, options, &server->rpc));
    rpc_server_add(server->rpc, &service, server);
    snprintf(server->address, sizeof server->address, "127.0.0.1:%d", port);
    assert_ok(rpc_server_listen(server->rpc, server->address, &server->port));
    snprintf(server->address, sizeof server->address, "127.0.0.1:%d", server->port);
    pthread_create(&server->thread, NULL, run_loop, server);
}

static void run_task(struct loop_task *task)
{
    struct server *server = CONTAINER_OF(task, struct server, task);
    server->work(server);
    atomic_store(&server->done, true);
}

/* Runs `work` in the server's thread and waits for it. */
static void server_do(struct server *server, void (*work)(struct server *server))
{
    server->work = work;
    server->task.work = run_task;
    atomic_store(&server->done, false);
    loop_post(server->loop, &server->task);
    while (!atomic_load(&server->done))
        usleep(500);
}

static void reply_all(struct server *server)
{
    for (int i = 0; i < server->hoarded; i++) {
        struct message reply = { .header = { "ok", 2 } };
        message_release(&server->hoard[i].request);
        call_reply(server->hoard[i].call, &reply);
    }
    server->answered += server->hoarded;
    server->hoarded = 0;
}

static void server_stop(struct server *server)
{
    loop_stop(server->loop);
    pthread_join(server->thread, NULL);
    rpc_server_destroy(server->rpc);
    reply_all(server); /* releases the calls: their clients have left */
    loop_destroy(server->loop);
}

static void until(_Atomic int *value, int least)
{
    for (int i = 0; i < 2 * DEADLINE_MS && atomic_load(value) < least; i++)
        usleep(500);
    assert_true(atomic_load(value) >= least);
}

static bool until_disconnected(struct channel *channel)
{
    struct remote_state seen;

    remote_state(channel, &seen);
    for (int i = 0; i < DEADLINE_MS && seen.connected; i++) {
        usleep(1000);
        remote_state(channel, &seen);
    }
    return !seen.connected;
}

/* ---- peers that are not gRPC servers ---- */

struct stranger {
    int fd;
    char address[64];
    const char *answer;
    pthread_t thread;
};

static void stranger_listen(struct stranger *stranger)
{
    struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof where;
    stranger->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(stranger->fd, (struct sockaddr *)&where, size), 0);
    assert_int_equal(listen(stranger->fd, 8), 0);
    assert_int_equal(getsockname(stranger->fd, (struct sockaddr *)&where, &size), 0);
    snprintf(stranger->address, sizeof stranger->address, "127.0.0.1:%d", ntohs(where.sin_port));
}

static void *answer(void *context)
{
    struct stranger *stranger = context;
    char seen[256];
    int fd = accept(stranger->fd, NULL, NULL);
    assert_true(read(fd, seen, sizeof seen) > 0);
    assert_true(write(fd, stranger->answer, strlen(stranger->answer)) > 0);
    while (read(fd, seen, sizeof seen) > 0)
        ;
    close(fd);
    return NULL;
}

static struct status call_once(struct channel *channel, int timeout_ms)
{
    struct message request = { .header = { "\x08\x01", 2 } }, reply;
    struct status status = channel_call(channel, "/t/Echo", &request,
                                        clock_deadline_ns(clock_monotonic(), timeout_ms), &reply);
    message_release(&reply);
    return status;
}

static void a_refused_connection_is_said_to_be_so(void **state)
{
    (void)state;
    struct stranger stranger = { 0 };
    struct channel *channel;
    struct remote_state seen;

    stranger_listen(&stranger);
    close(stranger.fd); /* frees the port: nothing listens on it */
    assert_ok(remote_open(stranger.address, &(struct remote_options){ 0 }, &channel));
    struct status status = call_once(channel, DEADLINE_MS);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, stranger.address));
    assert_non_null(strstr(status.message, "connection refused"));
    remote_state(channel, &seen);
    assert_int_equal(seen.trouble, REMOTE_REFUSED);
    assert_string_equal(seen.text, "connection refused");
    assert_string_equal(seen.address, stranger.address);
    assert_int_equal(seen.attempts, 1);
    channel_close(channel);
}

static void a_name_that_does_not_resolve_is_said_to_be_so(void **state)
{
    (void)state;
    struct channel *channel;
    struct remote_state seen;

    assert_ok(remote_open("no-such-host.invalid:1", &(struct remote_options){ 0 }, &channel));
    struct status status = call_once(channel, DEADLINE_MS);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, "no-such-host.invalid"));
    remote_state(channel, &seen);
    assert_int_equal(seen.trouble, REMOTE_UNRESOLVED);
    channel_close(channel);
}

static void one_that_accepts_and_says_nothing_is_silent(void **state)
{
    (void)state;
    struct stranger stranger = { 0 };
    struct channel *channel;
    struct remote_state seen;

    stranger_listen(&stranger);
    assert_ok(remote_open(stranger.address, &(struct remote_options){ .connect_timeout_ms = 100 },
                          &channel));
    struct status status = call_once(channel, DEADLINE_MS);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, "silent"));
    remote_state(channel, &seen);
    assert_int_equal(seen.trouble, REMOTE_SILENT);
    channel_close(channel);
    close(stranger.fd);
}

static void one_that_speaks_something_else_is_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *text;
    } rows[] = {
        { "HTTP/1.1 400 Bad Request\r\n\r\n", "the peer speaks HTTP/1, not HTTP/2" },
        { "\x15\x03\x01\x00\x02\x02\x46 and what else there is",
          "the peer speaks TLS, and this client does not" },
        { "220 mail.example ESMTP\r\n", "the peer does not speak HTTP/2" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct stranger stranger = { .answer = rows[i].answer };
        struct channel *channel;
        struct remote_state seen;
        stranger_listen(&stranger);
        pthread_create(&stranger.thread, NULL, answer, &stranger);
        assert_ok(remote_open(stranger.address,
                              &(struct remote_options){ .connect_timeout_ms = 3000 }, &channel));
        assert_int_equal(call_once(channel, DEADLINE_MS).code, STATUS_UNAVAILABLE);
        remote_state(channel, &seen);
        assert_int_equal(seen.trouble, REMOTE_FOREIGN);
        assert_string_equal(seen.text, rows[i].text);
        channel_close(channel);
        pthread_join(stranger.thread, NULL);
        close(stranger.fd);
    }
}

static void a_write_to_one_that_has_gone_is_an_error_and_no_signal(void **state)
{
    (void)state;
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    close(fds[1]);
    struct transport *transport = transport_plain(fds[0]);
    struct iovec run = { (char[]){ "x" }, 1 };
    assert_int_equal(transport->type->write(transport, &run, 1), -1);
    assert_int_equal(errno, EPIPE);
    transport->type->close(transport);
}

static void a_deadline_before_the_connection_says_what_it_waited_for(void **state)
{
    (void)state;
    struct stranger stranger = { 0 };
    struct channel *channel;
    struct remote_state seen = { 0 };

    stranger_listen(&stranger);
    close(stranger.fd);
    assert_ok(remote_open(stranger.address, &(struct remote_options){ .wait_for_ready = true },
                          &channel));
    for (int i = 0; i < DEADLINE_MS && seen.trouble != REMOTE_REFUSED; i++) {
        assert_int_equal(call_once(channel, 1).code, STATUS_DEADLINE_EXCEEDED);
        remote_state(channel, &seen);
    }
    struct status status = call_once(channel, 300);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
    assert_non_null(strstr(status.message, "connection refused"));
    channel_close(channel);
}

/* ---- peers that come and go ---- */

static void *start_late(void *context)
{
    struct server *server = context;
    int port = server->port;
    usleep(300000);
    server_start(server, &(struct rpc_server_options){ 0 }, port);
    return NULL;
}

static void a_call_may_wait_for_a_server_that_starts_later(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct channel *channel;
    struct remote_state seen;
    pthread_t thread;
    char address[64];

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    int port = server->port;
    server_stop(server);
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    assert_ok(remote_open(address, &(struct remote_options){ .wait_for_ready = true }, &channel));
    server->port = port;
    pthread_create(&thread, NULL, start_late, server);
    assert_ok(call_once(channel, DEADLINE_MS));
    pthread_join(thread, NULL);
    remote_state(channel, &seen);
    assert_true(seen.connected);
    assert_int_equal(seen.trouble, REMOTE_FINE);
    server_stop(server); /* the next call needs a new connection */
    server_start(server, &(struct rpc_server_options){ 0 }, port);
    (void)until_disconnected(channel); /* the housekeeper notices the loss */
    assert_ok(call_once(channel, DEADLINE_MS));
    channel_close(channel);
    server_stop(server);
    free(server);
}

static void a_call_in_flight_ends_with_its_connection(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct channel *channel;
    struct message request = { 0 };
    struct remote_state seen;
    struct call_group calls;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    assert_ok(remote_open(server->address, &(struct remote_options){ 0 }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Hoard", &request, soon());
    until(&server->hoarded, 1);
    server_stop(server);
    struct status status = call_group_wait(&calls);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, server->address));
    assert_int_equal(server->cancelled, 1);
    remote_state(channel, &seen);
    assert_false(seen.connected);
    assert_int_equal(seen.trouble, REMOTE_LOST);
    call_group_finish(&calls);
    channel_close(channel);
    free(server);
}

static void note_drained(void *context)
{
    atomic_store(&((struct server *)context)->drained, true);
}

static void drain(struct server *server)
{
    rpc_server_drain(server->rpc, soon(), note_drained, server);
}

static void a_draining_server_finishes_what_it_has_begun(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct message request = { 0 };
    struct channel *channel;
    struct call_group calls;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    assert_ok(remote_open(server->address, &(struct remote_options){ 0 }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Hoard", &request, soon());
    until(&server->hoarded, 1);
    server_do(server, drain);
    assert_false(atomic_load(&server->drained));
    assert_true(until_disconnected(channel)); /* the GOAWAY has arrived */
    assert_int_equal(call_once(channel, DEADLINE_MS).code, STATUS_UNAVAILABLE); /* not listening */
    server_do(server, reply_all);
    assert_ok(call_group_wait(&calls));
    assert_true(bytes_equal(calls.replies[0].header, bytes_of("ok")));
    call_group_finish(&calls);
    for (int i = 0; i < DEADLINE_MS && !atomic_load(&server->drained); i++)
        usleep(1000);
    assert_true(atomic_load(&server->drained));
    channel_close(channel);
    server_stop(server);
    free(server);
}

static void note_done(void *context, struct status status, struct message *reply)
{
    (void)reply;
    atomic_store((_Atomic int *)context, status.code + 1);
}

static void closing_a_channel_ends_its_calls(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct message request = { 0 };
    struct channel *channel;
    _Atomic int code = 0;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    assert_ok(remote_open(server->address, &(struct remote_options){ 0 }, &channel));
    client_call_release(channel_start(channel, "/t/Hoard", &request, soon(), note_done, &code));
    until(&server->hoarded, 1); /* the housekeeper sends it: no thread waits */
    channel_close(channel);
    assert_int_equal(code, STATUS_CANCELLED + 1);
    until(&server->cancelled, 1);
    server_stop(server);
    free(server);
}

struct holder {
    struct shared_loop *loop;
    _Atomic int held, posted;
};

/* Holds the loop until another thread waits for it to close a channel. */
static void *hold_loop(void *context)
{
    struct holder *holder = context;
    shared_loop_claim(holder->loop);
    atomic_store(&holder->held, 1);
    until(&holder->posted, 1);
    usleep(5000);
    shared_loop_leave(holder->loop);
    return NULL;
}

static void closing_a_channel_ends_a_call_that_has_not_reached_the_loop(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct holder holder = { 0 };
    struct message request = { 0 };
    struct channel *channel;
    _Atomic int code = 0;
    pthread_t thread;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    assert_ok(shared_loop_create(&holder.loop));
    assert_ok(
        remote_open(server->address, &(struct remote_options){ .loop = holder.loop }, &channel));
    assert_ok(call_once(channel, DEADLINE_MS)); /* opens the connection */
    pthread_create(&thread, NULL, hold_loop, &holder);
    until(&holder.held, 1);
    client_call_release(channel_start(channel, "/t/Hoard", &request, soon(), note_done, &code));
    atomic_store(&holder.posted, 1);
    channel_close(channel);
    assert_int_equal(code, STATUS_CANCELLED + 1);
    pthread_join(thread, NULL);
    shared_loop_destroy(holder.loop);
    server_stop(server);
    free(server);
}

/* ---- peers that go silent ---- */

/* Blocks the server's loop, which then answers no PING. */
static void block(struct server *server)
{
    while (atomic_load(&server->blocked))
        usleep(1000);
}

static void a_peer_that_goes_silent_is_noticed(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct message request = { 0 };
    struct channel *channel;
    struct call_group calls;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    assert_ok(remote_open(
        server->address,
        &(struct remote_options){ .keepalive_ms = 50, .keepalive_timeout_ms = 2000 }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Hoard", &request, soon());
    until(&server->hoarded, 1);
    usleep(3000000); /* the server answers PINGs: the call goes on */
    assert_int_equal(server->cancelled, 0);
    atomic_store(&server->blocked, true);
    server->work = block;
    server->task.work = run_task;
    loop_post(server->loop, &server->task);
    struct status status = call_group_wait(&calls);
    atomic_store(&server->blocked, false);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, "silent"));
    call_group_finish(&calls);
    channel_close(channel);
    server_stop(server);
    free(server);
}

/* ---- limits ---- */

static void put(int fd, const void *bytes, size_t size)
{
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
}

/* A frame that arrives while a PING is unanswered does not answer it. */
static void one_that_goes_silent_with_a_ping_unanswered_is_noticed(void **state)
{
    static const char settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 },
                      ack[] = { 0, 0, 0, 4, 1, 0, 0, 0, 0 };
    struct message request = { 0 };
    struct channel *channel;
    struct call_group calls;
    struct stranger stranger = { 0 };
    (void)state;

    stranger_listen(&stranger);
    assert_ok(remote_open(
        stranger.address,
        &(struct remote_options){ .keepalive_ms = 50, .keepalive_timeout_ms = 100 }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Echo", &request,
                   clock_deadline_ns(clock_monotonic(), 10000));
    int fd = accept(stranger.fd, NULL, NULL);
    put(fd, settings, sizeof settings); /* the client replies with its first PING */
    usleep(20000);
    put(fd, ack, sizeof ack);
    struct status status = call_group_wait(&calls);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(status.message, "silent"));
    call_group_finish(&calls);
    channel_close(channel);
    close(fd);
    close(stranger.fd);
}

static void too_large_a_message_is_refused_on_either_side(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct rpc_server_options options = { .message_max_bytes = 1000 };
    struct remote_options client = { .message_max_bytes = 500 };
    struct channel *channel;
    char bytes[5000] = { 0x0a };
    struct message reply;

    server_start(server, &options, 0);
    assert_ok(remote_open(server->address, &client, &channel));
    struct message request = { .header = { bytes, sizeof bytes } };
    struct status status = channel_call(channel, "/t/Echo", &request, soon(), &reply);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(status.message, "Received message larger than max (5000 vs. 1000)");
    request = (struct message){ .header = { bytes, 800 } };
    status = channel_call(channel, "/t/Echo", &request, soon(), &reply);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(status.message, "Received message larger than max (800 vs. 500)");
    assert_ok(call_once(channel, DEADLINE_MS)); /* the connection survives */
    channel_close(channel);
    server_stop(server);
    free(server);
}

static void requests_that_are_not_given_back_stop_the_sender(void **state)
{
    (void)state;
    enum { COUNT_SENT = 40, SIZE = 256 << 10, HELD = 1 << 20 };
    struct server *server = zalloc(sizeof *server);
    struct rpc_server_options options = { .message_max_bytes = HELD, .held_max_bytes = HELD };
    struct channel *channel;
    struct call_group calls;
    char *bytes = zalloc(SIZE);

    server_start(server, &options, 0);
    assert_ok(remote_open(server->address, &(struct remote_options){ 0 }, &channel));
    call_group_init(&calls, clock_monotonic(), COUNT_SENT);
    call_group_begin(&calls);
    struct bytes piece = { bytes, SIZE };
    for (int i = 0; i < COUNT_SENT; i++) {
        struct message request = { .pieces = &piece, .pieces_count = 1 };
        call_group_add(&calls, channel, "/t/Hoard", &request, soon());
    }
    until(&server->hoarded, HELD / SIZE);
    usleep(300000);
    /* The limit, as much again in flight, and the last request of each. */
    assert_in_range(server->hoarded, HELD / SIZE, 2 * HELD / SIZE + 2);
    while (server->answered < COUNT_SENT) {
        until(&server->hoarded, 1);
        server_do(server, reply_all);
    }
    assert_ok(call_group_wait(&calls));
    call_group_finish(&calls);
    channel_close(channel);
    server_stop(server);
    free(bytes);
    free(server);
}

/* ---- connections that the server did not accept itself ---- */

struct accepted {
    struct server *server;
    int fd;
    char peeked[16];
    ssize_t size;
};

static struct accepted *accepted;

static void accept_peeked(struct server *server)
{
    rpc_server_accept(server->rpc, accepted->fd,
                      (struct bytes){ accepted->peeked, (size_t)accepted->size });
}

static void a_connection_may_be_handed_over_with_its_first_bytes(void **state)
{
    (void)state;
    struct server *server = zalloc(sizeof *server);
    struct stranger stranger = { 0 };
    struct accepted handed = { 0 };
    struct channel *channel;
    struct message request = { 0 };
    struct call_group calls;

    server_start(server, &(struct rpc_server_options){ 0 }, 0);
    stranger_listen(&stranger);
    assert_ok(remote_open(stranger.address, &(struct remote_options){ 0 }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    call_group_begin(&calls);
    call_group_add(&calls, channel, "/t/Echo", &request, soon());
    handed.fd = accept(stranger.fd, NULL, NULL);
    handed.size = read(handed.fd, handed.peeked, sizeof handed.peeked);
    assert_int_equal(handed.size, 16);
    accepted = &handed;
    server_do(server, accept_peeked);
    assert_ok(call_group_wait(&calls));
    call_group_finish(&calls);
    channel_close(channel);
    close(stranger.fd);
    server_stop(server);
    free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_connection_is_said_to_be_so),
        cmocka_unit_test(a_name_that_does_not_resolve_is_said_to_be_so),
        cmocka_unit_test(one_that_accepts_and_says_nothing_is_silent),
        cmocka_unit_test(one_that_speaks_something_else_is_foreign),
        cmocka_unit_test(a_write_to_one_that_has_gone_is_an_error_and_no_signal),
        cmocka_unit_test(a_deadline_before_the_connection_says_what_it_waited_for),
        cmocka_unit_test(a_call_may_wait_for_a_server_that_starts_later),
        cmocka_unit_test(a_call_in_flight_ends_with_its_connection),
        cmocka_unit_test(a_draining_server_finishes_what_it_has_begun),
        cmocka_unit_test(closing_a_channel_ends_its_calls),
        cmocka_unit_test(closing_a_channel_ends_a_call_that_has_not_reached_the_loop),
        cmocka_unit_test(a_peer_that_goes_silent_is_noticed),
        cmocka_unit_test(one_that_goes_silent_with_a_ping_unanswered_is_noticed),
        cmocka_unit_test(too_large_a_message_is_refused_on_either_side),
        cmocka_unit_test(requests_that_are_not_given_back_stop_the_sender),
        cmocka_unit_test(a_connection_may_be_handed_over_with_its_first_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
