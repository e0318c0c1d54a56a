/* Connections are dealt to the loop that has the fewest of their protocol. No loop has a thread:
 * the test runs each in turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "server/inference/inference_pool.h"
#include "server/serving_loops.h"
#include "support/status.h"

#define LOOPS       3
#define CONNECTIONS (4 * LOOPS)

static struct budget budget = { .limit_bytes = (int64_t)64 << 20 };
static struct inference_pool *pool;
static struct serving_loops loops;
static int peers[2 * CONNECTIONS], peers_count; /* the clients' ends */

static int set_up(void **state)
{
    struct inference_options inference = { .threads = 1 };
    struct grpc_port_options port = { 0 };
    struct serving_options options = { .context = { .budget = &budget, .loops = LOOPS },
                                       .port = &port };
    (void)state;
    log_set_level(LOG_NONE);
    peers_count = 0;
    assert_ok(inference_pool_create(&inference, &pool));
    options.pool = pool;
    assert_ok(serving_loops_create(&loops, &options, LOOPS));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    inference_pool_stop(pool);
    serving_loops_close(&loops);
    inference_pool_destroy(pool);
    serving_loops_destroy(&loops);
    for (int i = 0; i < peers_count; i++)
        if (peers[i] >= 0)
            close(peers[i]);
    assert_int_equal(budget.used_bytes, 0);
    return 0;
}

static int connect_pair(void)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    peers[peers_count++] = fds[1];
    return fds[0];
}

static void connect_rest(void)
{
    struct sockaddr address = { .sa_family = AF_UNIX };
    serving_loops_accept_either(&loops, connect_pair(), LISTENER_HTTP1, &address, sizeof address);
}

/* Lets each loop take what was dealt to it, and notice what has closed. */
static void take_turns(void)
{
    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < LOOPS; i++) {
            struct serving_loop *serving = loops.items[i];
            assert_ok(loop_run_once(serving->context.loop, 0));
            serving_loop_end_round(serving);
        }
}

static void assert_loads(enum serving_protocol protocol, int a, int b, int c)
{
    assert_int_equal(serving_loop_load(loops.items[0], protocol), a);
    assert_int_equal(serving_loop_load(loops.items[1], protocol), b);
    assert_int_equal(serving_loop_load(loops.items[2], protocol), c);
}

static void a_burst_is_dealt_evenly(void **state)
{
    (void)state;
    for (int i = 0; i < CONNECTIONS; i++)
        connect_rest(); /* no loop has taken any yet */
    assert_loads(SERVING_REST, 4, 4, 4);
    take_turns();
    assert_loads(SERVING_REST, 4, 4, 4);
    for (int i = 0; i < LOOPS; i++)
        assert_int_equal(rest_connections(loops.items[i]->rest), 4);
}

static void connections_that_come_one_by_one_are_dealt_evenly(void **state)
{
    (void)state;
    for (int i = 0; i < CONNECTIONS; i++) {
        connect_rest();
        take_turns();
    }
    assert_loads(SERVING_REST, 4, 4, 4);
}

static void each_protocol_is_dealt_by_itself(void **state)
{
    (void)state;
    connect_rest();
    connect_rest();
    for (int i = 0; i < 4; i++)
        serving_loops_accept_grpc(&loops, connect_pair());
    assert_loads(SERVING_REST, 1, 1, 0);
    assert_loads(SERVING_GRPC, 1, 1, 2); /* the first goes where no connection is at all */
    take_turns();
    assert_loads(SERVING_GRPC, 1, 1, 2);
}

static void closed_connections_make_room(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++)
        connect_rest();
    take_turns();
    for (int i = 1; i < 6; i += LOOPS) { /* both of the second loop */
        close(peers[i]);
        peers[i] = -1;
    }
    take_turns();
    assert_loads(SERVING_REST, 2, 0, 2);
    connect_rest();
    connect_rest();
    assert_loads(SERVING_REST, 2, 2, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_burst_is_dealt_evenly),
        TEST(connections_that_come_one_by_one_are_dealt_evenly),
        TEST(each_protocol_is_dealt_by_itself),
        TEST(closed_connections_make_room),
    };
    return cmocka_run_group_tests_name("serving loops", tests, NULL, NULL);
}
