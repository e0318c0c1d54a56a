/* Bytes that a transport has buffered are read even if poll does not report the socket, and also
 * after a handshake that ended with a write. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "support/status.h"

#define CALLS         2
#define MESSAGE_BYTES ((size_t)12 << 20)
#define FIRST_BYTES   ((size_t)4 << 10)             /* the preface and SETTINGS: not held back */
#define ALL_BYTES     (CALLS * MESSAGE_BYTES + 100) /* less than the calls take on the wire */
#define ROOM_BYTES    (ALL_BYTES + ((size_t)1 << 20))

/* Passes bytes through unchanged, but withholds the messages until it has them all. */
struct holding {
    struct transport transport;
    struct transport *plain;
    bool shaken;
    char *data;
    size_t at, end;
};

static struct status shake(struct transport *transport, enum transport_wants *wants)
{
    struct holding *holding = (struct holding *)transport;
    *wants = holding->shaken ? TRANSPORT_DONE : TRANSPORT_WANTS_WRITE;
    holding->shaken = true;
    return status_ok();
}

static bool held_back(const struct holding *holding)
{
    return holding->end > FIRST_BYTES && holding->end < ALL_BYTES;
}

static bool pending(const struct transport *transport)
{
    const struct holding *holding = (const struct holding *)transport;
    return holding->at < holding->end && !held_back(holding);
}

static ssize_t read_held(struct transport *transport, const struct iovec *to, int count)
{
    struct holding *holding = (struct holding *)transport;
    ssize_t got;
    size_t total = 0;

    while ((got = recv(transport->fd, holding->data + holding->end, ROOM_BYTES - holding->end, 0)) >
           0)
        holding->end += (size_t)got;
    if (got == 0 && holding->at == holding->end)
        return 0;
    if (!pending(transport)) {
        errno = EAGAIN;
        return -1;
    }
    for (int i = 0; i < count; i++) {
        size_t left = holding->end - holding->at;
        size_t part = to[i].iov_len < left ? to[i].iov_len : left;
        memcpy(to[i].iov_base, holding->data + holding->at, part);
        holding->at += part;
        total += part;
    }
    return (ssize_t)total;
}

static ssize_t write_on(struct transport *transport, const struct iovec *from, int count)
{
    struct transport *plain = ((struct holding *)transport)->plain;
    return plain->type->write(plain, from, count);
}

static void end(struct transport *transport)
{
    struct holding *holding = (struct holding *)transport;
    holding->plain->type->close(holding->plain);
    free(holding->data);
    free(holding);
}

static struct status make(struct transport_maker *maker, int fd, const char *peer,
                          struct transport **out)
{
    static const struct transport_type type = {
        .handshake = shake, .read = read_held, .write = write_on, .pending = pending, .close = end
    };
    struct holding *holding = zalloc(sizeof *holding);
    (void)maker, (void)peer;

    holding->transport = (struct transport){ .type = &type, .fd = fd };
    holding->plain = transport_plain(fd);
    holding->data = xrealloc(NULL, ROOM_BYTES);
    *out = &holding->transport;
    return status_ok();
}

static void take(void *instance, struct call *call, struct message *request)
{
    struct message reply = { 0 };
    (void)instance;
    message_release(request);
    call_reply(call, &reply);
}

static const struct method methods[] = { { "/t/Take", take, METHOD_UNARY, true } };
static const struct service service = { methods, COUNT(methods) };

static void *run_loop(void *loop)
{
    assert_ok(loop_run(loop));
    return NULL;
}

static void what_it_holds_back_beyond_a_round_is_read(void **state)
{
    struct transport_maker maker = { make };
    struct rpc_server_options options = { .tls = &maker, .message_max_bytes = 2 * MESSAGE_BYTES };
    struct rpc_server *server;
    struct loop *loop;
    struct channel *channel;
    struct call_group calls;
    pthread_t thread;
    char address[64], *zeros = zalloc(MESSAGE_BYTES);
    struct bytes piece = { zeros, MESSAGE_BYTES };
    int port;
    (void)state;

    assert_ok(loop_create(&loop));
    assert_ok(rpc_server_create(loop, &options, &server));
    rpc_server_add(server, &service, NULL);
    assert_ok(rpc_server_listen(server, "127.0.0.1:0", &port));
    pthread_create(&thread, NULL, run_loop, loop);
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    assert_ok(remote_open(address, &(struct remote_options){ .payload = true }, &channel));

    call_group_init(&calls, clock_monotonic(), CALLS);
    call_group_begin(&calls);
    for (int i = 0; i < CALLS; i++) {
        struct message request = { .pieces = &piece, .pieces_count = 1 };
        call_group_add(&calls, channel, "/t/Take", &request,
                       clock_deadline_ns(clock_monotonic(), 60000));
    }
    assert_ok(call_group_wait(&calls));
    call_group_finish(&calls);
    channel_close(channel);
    loop_stop(loop);
    pthread_join(thread, NULL);
    rpc_server_destroy(server);
    loop_destroy(loop);
    free(zeros);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_holds_back_beyond_a_round_is_read),
    };
    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
