/*
 * The epolls of the loop and of libmicrohttpd, one of which holds the other: what happens if the
 * system refuses to add one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/inference/inference_pool.h"
#include "server/models/manager.h"
#include "server/rest/rest.h"

#define DEADLINE_NS (20 * NS_PER_S)

static struct budget budget = { .limit_bytes = (int64_t)64 << 20 };
static struct server_context server = { .budget = &budget, .loops = 1, .body_bytes_max = 1 << 20 };
static struct rest *rest;
static struct inference_pool *pool;
static int refusals; /* of the next epolls that are to be added */
static int asked;    /* how often an epoll was to be added since the connection came */

int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);

static bool is_epoll(int fd)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    return strstr(target, "eventpoll") != NULL;
}

/* The linker (--wrap) redirects our calls here; libmicrohttpd's go to the system. */
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && is_epoll(fd)) {
        asked++;
        if (refusals > 0) {
            refusals--;
            errno = ENOSPC;
            return -1;
        }
    }
    return __real_epoll_ctl(epoll, operation, fd, event);
}

static void on_started(void *context, struct status status)
{
    (void)context, (void)status;
}

static int start(void **state)
{
    struct manager_options options = { .poll_wait_seconds = -1,
                                       .clock = clock_monotonic(),
                                       .source = &source_disk,
                                       .loader = &servable_loader,
                                       .started = on_started };
    struct inference_options inference = { .threads = 1 };
    (void)state;
    log_set_level(LOG_NONE);
    refusals = 0;
    if (!status_is_ok(loop_create(&server.loop)))
        return -1;
    options.loop = server.loop;
    if (!status_is_ok(
            manager_start(&options, model_configs_single("m", "/nonexistent"), &server.manager)) ||
        !status_is_ok(inference_pool_create(&inference, &pool)))
        return -1;
    server.inference = inference_create(pool, server.loop);
    if (!status_is_ok(rest_create(&server, &rest)))
        return -1;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    inference_pool_stop(pool);
    inference_destroy(server.inference);
    server.inference = NULL; /* connections that close look for it */
    rest_destroy(rest);
    inference_pool_destroy(pool);
    manager_stop(server.manager);
    loop_destroy(server.loop);
    return 0;
}

static int connect_client(void)
{
    struct sockaddr_storage address = { 0 };
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    asked = 0;
    rest_accept(rest, fds[0], LISTENER_HTTP1, (const struct sockaddr *)&address, sizeof address);
    return fds[1];
}

/* Sends a request and runs the loop until its answer is there. leads: of rest_set_leader. */
static void is_answered(int client, bool leads)
{
    static const char request[] = "GET /v1/models/none HTTP/1.1\r\nHost: h\r\n\r\n";
    char answer[4096];
    int64_t end_ns = clock_now_ns(clock_monotonic()) + DEADLINE_NS;
    bool unfinished = true;
    ssize_t size;
    assert_int_equal(send(client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    while ((size = recv(client, answer, sizeof answer, 0)) < 0) {
        assert_true(clock_now_ns(clock_monotonic()) < end_ns);
        assert_true(status_is_ok(loop_run_once(server.loop, unfinished ? 0 : end_ns)));
        unfinished = rest_answer(rest);
        rest_set_leader(rest, leads);
    }
    assert_true(size > 12);
    assert_memory_equal(answer, "HTTP/1.1 404", 12);
}

static const struct row {
    const char *label;
    int refusals;
    bool leads_later;
} rows[] = {
    { "answers if no epoll is refused", 0, true },
    { "answers if it cannot lead", 1, true },
    { "answers if it cannot lead nor follow", 3, true },
    { "answers if it need not lead once it could not", 3, false },
};

static void answers_if_the_system_refuses(void **state)
{
    const struct row *row = *state;
    int client = connect_client();
    refusals = row->refusals;
    is_answered(client, true);
    is_answered(client, row->leads_later);
    is_answered(client, true);
    close(client);
}

static void does_not_try_to_lead_again(void **state)
{
    int client = connect_client();
    (void)state;
    refusals = 1;
    is_answered(client, true);
    is_answered(client, true);
    assert_int_equal(asked, 2); /* to lead, in vain, and to follow again */
    close(client);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(rows) + 1];
    for (size_t i = 0; i < COUNT(rows); i++)
        tests[i] = (struct CMUnitTest){ .name = rows[i].label,
                                        .test_func = answers_if_the_system_refuses,
                                        .setup_func = start,
                                        .teardown_func = stop,
                                        .initial_state = (void *)(uintptr_t)&rows[i] };
    tests[COUNT(rows)] =
        (struct CMUnitTest)cmocka_unit_test_setup_teardown(does_not_try_to_lead_again, start, stop);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
