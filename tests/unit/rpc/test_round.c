/* A connection reads only as many small calls per round as fit in L2, and the rest in later
 * rounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "support/status.h"

#define CALLS         400
#define MESSAGE_BYTES ((size_t)3 << 10)
#define ROUND_BYTES   ((size_t)96 << 10) /* the limit in http2_read.c */

static void count(void *instance, struct call *call, struct message *request)
{
    struct message reply = { 0 };
    ++*(int *)instance;
    message_release(request);
    call_reply(call, &reply);
}

static const struct method methods[] = { { "/t/Count", count, METHOD_UNARY, true } };
static const struct service service = { methods, COUNT(methods) };

/* Sends all calls at once, from another thread. */
static void *call(void *address)
{
    struct remote_options options = { .payload = true };
    struct channel *channel;
    struct call_group calls;
    char zeros[MESSAGE_BYTES] = { 0 };
    struct bytes piece = { zeros, sizeof zeros };

    assert_ok(remote_open(address, &options, &channel));
    call_group_init(&calls, channel_clock(channel), CALLS);
    call_group_begin(&calls);
    for (int i = 0; i < CALLS; i++) {
        struct message request = { .header = { "\x08\x01", 2 },
                                   .pieces = &piece,
                                   .pieces_count = 1 };
        call_group_add(&calls, channel, "/t/Count", &request, CLOCK_NEVER);
    }
    assert_ok(call_group_wait(&calls));
    call_group_finish(&calls);
    channel_close(channel);
    return NULL;
}

static void a_round_brings_what_stays_near(void **state)
{
    struct rpc_server_options options = { .message_max_bytes = 1 << 20 };
    struct rpc_server *server;
    struct loop *loop;
    pthread_t thread;
    char address[64];
    int port, handled = 0, most = 0;
    (void)state;

    assert_ok(loop_create(&loop));
    loop_own(loop);
    assert_ok(rpc_server_create(loop, &options, &server));
    rpc_server_add(server, &service, &handled);
    assert_ok(rpc_server_listen(server, "127.0.0.1:0", &port));
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    pthread_create(&thread, NULL, call, address);
    while (handled < CALLS) {
        int before = handled;
        assert_ok(loop_run_once(loop, CLOCK_NEVER));
        if (handled - before > most)
            most = handled - before;
        usleep(5000); /* lets the client fill its windows */
    }
    assert_in_range(most, 1, ROUND_BYTES / MESSAGE_BYTES);
    rpc_server_destroy(server); /* writes all replies, so the client ends */
    pthread_join(thread, NULL);
    loop_disown(loop);
    loop_destroy(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_round_brings_what_stays_near) };
    return cmocka_run_group_tests_name("round", tests, NULL, NULL);
}
