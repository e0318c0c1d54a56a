#include "server/rest/rest_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define IDLE_SECONDS     600
#define READS_MAX        16                         /* in one round of the loop, */
#define READ_NS          (NS_PER_MS / 2)            /* and for how long */
#define DRAIN_LINGER_NS  (300 * (int64_t)NS_PER_MS) /* for the next request of an idle client */
#define DRAIN_READING_NS (2 * NS_PER_S) /* for requests that arrive slowly while draining */
#define FOLLOW_AGAIN_NS  (10 * (int64_t)NS_PER_MS) /* after the system refused to watch */

/* Checks that the budget has room for another connection. The connection is charged later, when
 * libmicrohttpd reports it. */
static bool has_room(struct rest *rest)
{
    struct status status = budget_take_reserved(rest->server->budget, REST_CONNECTION_BYTES);
    if (!status_is_ok(status)) {
        log_debug("http: a connection is refused: %s", status.message);
        return false;
    }
    budget_give(rest->server->budget, REST_CONNECTION_BYTES);
    return true;
}

static void on_log(void *context, const char *format, va_list arguments)
{
    char line[512];
    (void)context;
    vsnprintf(line, sizeof line, format, arguments);
    size_t size = strlen(line);
    if (size > 0 && line[size - 1] == '\n')
        line[size - 1] = '\0';
    log_debug("http: %s", line);
}

/* ---- the loop ---- */

/* Returns whether any part of a request was received. */
static bool run_daemon(struct rest *rest, int wait_ms)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    if (MHD_run_wait(rest->daemon, wait_ms) != MHD_YES)
        log_error("http: MHD_run_wait failed");
    bool timed = MHD_get_timeout(rest->daemon, &timeout) == MHD_YES;
    rest->unfinished = timed && timeout == 0;
    if (timed && timeout > 0)
        loop_set_timer(rest->server->loop, &rest->timer,
                       loop_now_ns(rest->server->loop) + (int64_t)timeout * NS_PER_MS);
    else
        loop_clear_timer(rest->server->loop, &rest->timer);
    bool progressed = rest->progressed;
    rest_connections_after_run(rest);
    return progressed;
}

static void on_ready(void *context, uint32_t events)
{
    (void)events;
    run_daemon(context, 0);
}

static void on_timeout(void *context)
{
    run_daemon(context, 0);
}

static bool wait_in_daemon(void *context, int timeout_ms)
{
    return run_daemon(context, timeout_ms);
}

/* libmicrohttpd takes 128 events at a time. If it gets as many, it waits again before it handles
 * them. With at most this many connections and the loop's descriptor, there are never as many. */
#define LED_CONNECTIONS_MAX 126

/* libmicrohttpd 0.9.75 ignores an event without a pointer; other versions may not. The TLS
 * bridge's sockets belong to the loop. */
static bool may_lead(const struct rest *rest)
{
    return rest->bridge == NULL && rest_knows_library();
}

static bool begin_to_lead(struct rest *rest)
{
    struct loop *loop = rest->server->loop;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
    loop_unwatch(loop, rest->watch); /* first: neither may be in the other while it is added */
    rest->watch = NULL;
    rest->leads = epoll_ctl(rest->epoll, EPOLL_CTL_ADD, loop_descriptor(loop), &event) == 0;
    if (rest->leads) {
        loop_set_wait(loop, wait_in_daemon, rest);
        return true;
    }
    log_warning("http: each request costs one system call more: cannot wait in libmicrohttpd: %s",
                strerror(errno));
    rest->may_lead = false;
    return false;
}

static void stop_leading(struct rest *rest)
{
    if (!rest->leads)
        return;
    rest->leads = false;
    loop_set_wait(rest->server->loop, NULL, NULL);
    epoll_ctl(rest->epoll, EPOLL_CTL_DEL, loop_descriptor(rest->server->loop), NULL);
}

static struct status follow(struct rest *rest)
{
    return loop_watch(rest->server->loop, rest->epoll, EPOLLIN, on_ready, rest, &rest->watch);
}

void rest_set_leader(struct rest *rest, bool leads)
{
    leads = leads && rest->may_lead && rest->connections <= LED_CONNECTIONS_MAX &&
            (rest->leads || rest->connections > 0);
    if (leads ? rest->leads : rest->watch != NULL)
        return;
    if (leads && begin_to_lead(rest))
        return;
    stop_leading(rest);
    struct status status = follow(rest);
    if (status_is_ok(status))
        return;
    log_error("http: %s", status.message);
    loop_set_timer(rest->server->loop, &rest->timer,
                   loop_now_ns(rest->server->loop) + FOLLOW_AGAIN_NS);
}

int rest_connections(const struct rest *rest)
{
    return rest->connections;
}

/* libmicrohttpd reads 8 KiB of a body at a time. A round of the loop for each would cost as much
 * as reading them. If many bodies arrive at the same time, one run reads from all of them, and
 * small requests would wait for many runs. */
static void read_on(struct rest *rest)
{
    int64_t end_ns = clock_now_ns(clock_monotonic()) + READ_NS;
    for (int i = 0; i < READS_MAX && rest->unfinished; i++) {
        run_daemon(rest, 0);
        if (rest->reading == NULL || rest->idle_runs > 0 ||
            clock_now_ns(clock_monotonic()) >= end_ns)
            break;
    }
}

bool rest_answer(struct rest *rest)
{
    if (rest->answered) {
        rest->answered = false;
        run_daemon(rest, 0); /* libmicrohttpd asks for the answers, and sends them */
        if (rest->unfinished)
            run_daemon(rest, 0);
    } else {
        read_on(rest);
    }
    if (rest->disconnected != NULL && !rest->unfinished)
        rest_connections_close_disconnected(rest);
    return rest->unfinished;
}

/* Answers in HTTP/1, also clients of HTTP/2: those of gRPC then report that the server speaks
 * HTTP/1, and wait before they try again. After a GOAWAY they would try again at once, until the
 * deadline of the call. Reads first, because closing a socket with unread bytes sends a reset,
 * which would overtake the answer. */
static void turn_away(int fd, bool encrypted)
{
    static const char plain[] = "HTTP/1.1 505 HTTP Version Not Supported\r\n"
                                "Content-Type: text/plain\r\nConnection: close\r\n\r\n"
                                "This port is for REST, over HTTP/1.1 and without TLS.\n";
    static const char https[] = "HTTP/1.1 400 Bad Request\r\n"
                                "Content-Type: text/plain\r\nConnection: close\r\n\r\n"
                                "This port is for REST, over HTTPS.\n";
    char unread[4096];
    const char *words = encrypted ? https : plain;
    ssize_t size = recv(fd, unread, sizeof unread, MSG_DONTWAIT);
    size = send(fd, words, strlen(words), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)size;
    close(fd);
}

/* libmicrohttpd closes the descriptor if it refuses the connection. It runs at the end of the
 * round, once for all new connections, because each run may check every other connection. */
static void add_connection(void *context, int fd, const struct sockaddr *address,
                           socklen_t address_size)
{
    struct rest *rest = context;
    if (!has_room(rest))
        close(fd);
    else if (MHD_add_connection(rest->daemon, fd, address, address_size) == MHD_YES)
        rest->unfinished = true;
}

static void add_http2(void *context, struct transport *transport)
{
    struct rest *rest = context;
    if (rest->take_http2 != NULL)
        rest->take_http2(rest->http2_context, transport);
    else
        transport->type->close(transport);
}

void rest_set_http2(struct rest *rest, void (*take)(void *context, struct transport *transport),
                    void *context)
{
    rest->take_http2 = take;
    rest->http2_context = context;
}

void rest_accept(void *context, int fd, enum listener_protocol protocol,
                 const struct sockaddr *address, socklen_t address_size)
{
    struct rest *rest = context;
    bool encrypted = rest->bridge != NULL;
    if (protocol != (encrypted ? LISTENER_TLS : LISTENER_HTTP1)) {
        log_debug("http: a client that speaks %s is turned away", protocol == LISTENER_TLS ? "TLS"
                                                                  : protocol == LISTENER_HTTP1
                                                                      ? "HTTP without TLS"
                                                                      : "HTTP/2 only");
        turn_away(fd, encrypted);
    } else if (encrypted) {
        tls_bridge_accept(rest->bridge, fd, address, address_size);
    } else {
        add_connection(rest, fd, address, address_size);
    }
}

static struct tls_bridge *create_bridge(struct rest *rest, unsigned connections_max)
{
    struct tls_bridge_options options = {
        .loop = rest->server->loop,
        .budget = rest->server->budget,
        .tls = rest->server->rest_tls,
        .connections_max = connections_max,
        .http1 = add_connection,
        .http2 = add_http2,
        .context = rest,
    };
    return options.tls != NULL ? tls_bridge_create(&options) : NULL;
}

/* For one loop. All loops together leave descriptors for other uses, such as the files of
 * models. */
static unsigned connections_max(const struct server_context *server)
{
    rlim_t loops = (rlim_t)server->loops;
    rlim_t each = server->rest_tls != NULL ? 3 : 1; /* the bridge adds a pair of sockets */
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1000;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t others = 60 + 4 * loops /* a loop has 4 of its own */
                          + limit.rlim_cur / LISTENER_SILENT_PART;
    rlim_t most = limit.rlim_cur > others ? (limit.rlim_cur - others) / loops / each : 0;
    if (most > 100000)
        return 100000;
    return most > 0 ? (unsigned)most : 1;
}

struct status rest_create(struct server_context *server, struct rest **out)
{
    struct rest *rest = zalloc(sizeof *rest);
    unsigned most = connections_max(server);
    rest->server = server;
    request_pool_init(&rest->memory, server, &rest_request_kind);
    rest->timer = (struct loop_timer){ .expired = on_timeout, .context = rest };
    rest_connections_start(rest);
    rest->bridge = create_bridge(rest, most);
    rest->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, rest_on_request, rest, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, rest_on_completed, rest, MHD_OPTION_URI_LOG_CALLBACK,
        rest_on_request_line, rest, MHD_OPTION_NOTIFY_CONNECTION, rest_on_connection, rest,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, REST_CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_END);
    if (rest->daemon == NULL) {
        tls_bridge_destroy(rest->bridge);
        request_pool_finish(&rest->memory);
        free(rest);
        return status_error(STATUS_INTERNAL, "cannot start libmicrohttpd");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(rest->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    rest->epoll = info->epoll_fd;
    rest->may_lead = may_lead(rest);
    struct status status = follow(rest);
    if (!status_is_ok(status)) {
        rest_destroy(rest);
        return status;
    }
    *out = rest;
    return status_ok();
}

void rest_destroy(struct rest *rest)
{
    if (rest == NULL)
        return;
    stop_leading(rest);
    loop_unwatch(rest->server->loop, rest->watch);
    loop_clear_timer(rest->server->loop, &rest->timer);
    loop_clear_timer(rest->server->loop, &rest->drain_timer);
    rest_requests_abandon(rest);
    MHD_stop_daemon(rest->daemon);
    tls_bridge_destroy(rest->bridge);
    rest_connections_stop(rest);
    request_pool_finish(&rest->memory);
    free(rest);
}

/* Waits for running requests, and for a limited time for those that arrive slowly or may still
 * come on idle connections. */
static void check_drained(void *context)
{
    struct rest *rest = context;
    int64_t now = clock_now_ns(clock_monotonic());
    if (rest->requests > 0)
        rest->drain_idle_since_ns = now;
    bool idle = rest->requests == 0 && now - rest->drain_idle_since_ns >= DRAIN_LINGER_NS;
    bool stuck = rest->requests == rest->requests_incomplete &&
                 now - rest->drain_began_ns >= DRAIN_READING_NS;
    bool closed = rest->connections == 0 && tls_bridge_connections(rest->bridge) == 0;
    bool sends = tls_bridge_sends(rest->bridge);
    if (closed || (idle && !sends) || stuck)
        rest->drained(rest->drained_context);
    else
        loop_set_timer(rest->server->loop, &rest->drain_timer, now + 10 * NS_PER_MS);
}

void rest_drain(struct rest *rest, void (*drained)(void *context), void *context)
{
    rest->draining = true;
    rest->drained = drained;
    rest->drained_context = context;
    rest->drain_began_ns = rest->drain_idle_since_ns = clock_now_ns(clock_monotonic());
    rest->drain_timer = (struct loop_timer){ .expired = check_drained, .context = rest };
    check_drained(rest);
}
