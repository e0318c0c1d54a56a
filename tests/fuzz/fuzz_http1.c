/*
 * A REST port that receives the fuzzer's bytes, through the listener, libmicrohttpd and the routes.
 * The first byte is the number of bytes per write (0: all at once). No model is loaded: the server
 * reads each request to its end and answers with an error.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/inference/inference_pool.h"
#include "server/models/manager.h"
#include "server/rest/listener.h"
#include "server/rest/rest.h"
#include "stranger.h"

/* libmicrohttpd spins on some inputs. The guard in rest/connection.c ends such a connection after a
 * second. */
#define LEFT_MAX_NS (60 * NS_PER_S)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct budget budget = { .limit_bytes = (int64_t)64 << 20 };
static struct server_context server = { .budget = &budget, .loops = 1, .body_bytes_max = 1 << 20 };
static struct rest *rest;
static struct listener *listener;

static void on_started(void *context, struct status status)
{
    (void)context, (void)status;
}

static void start(void)
{
    struct manager_options options = { .poll_wait_seconds = -1,
                                       .clock = clock_monotonic(),
                                       .source = &source_disk,
                                       .loader = &servable_loader,
                                       .started = on_started };
    struct inference_options inference = { .threads = 1 };
    struct inference_pool *pool;
    log_set_level(LOG_NONE);
    check(loop_create(&server.loop));
    options.loop = server.loop;
    check(manager_start(&options, model_configs_single("m", "/nonexistent"), &server.manager));
    check(inference_pool_create(&inference, &pool));
    server.inference = inference_create(pool, server.loop);
    check(rest_create(&server, &rest));
    check(listener_open(server.loop, 0, rest_accept, rest, &listener));
}

static void turn(void)
{
    check(loop_run_once(server.loop, 0));
    rest_answer(rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sockaddr_storage address = { 0 };
    int fds[2];
    if (size == 0)
        return 0;
    if (rest == NULL)
        start();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
        abort();
    listener_take(listener, fds[0], &address, sizeof address);
    size_t cut = data[0] > 0 ? data[0] : size;
    for (size_t at = 1; at < size; at += cut) {
        say(server.loop, fds[1], data + at, size - at < cut ? size - at : cut);
        turn();
    }
    shutdown(fds[1], SHUT_WR);
    int64_t end_ns = clock_now_ns(clock_monotonic()) + LEFT_MAX_NS;
    for (int turns = 0; turns < 3 || rest_connections(rest) > 0; turns++) {
        expect(clock_now_ns(clock_monotonic()) < end_ns); /* the server drops a closed connection */
        turn();
        drain(fds[1]);
    }
    close(fds[1]);
    return 0;
}
