#include "server/rest.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/gunzip.h"
#include "server/json_text.h"

#define CONNECTION_MEMORY ((size_t)16 * 1024) /* cleared for each request */
#define IDLE_SECONDS      600
#define GUNZIP_BYTES_MAX  ((size_t)100 * 1024 * 1024)
#define KEPT_BYTES_MAX    EXCHANGE_FREE_BYTES /* of buffers that the next request may use */
#define ARENA_BYTES       ((size_t)64 * 1024 * 1024)
#define ARENA_BODY_FACTOR 24 /* the dearest JSON: `"",` becomes 16 bytes, and grows by copies */
#define DRAIN_LINGER_NS \
    (300 * (int64_t)NS_PER_MS)          /* idle clients may have sent their next request already */
#define DRAIN_READING_NS (2 * NS_PER_S) /* requests that come in slowly while draining */

enum request_state {
    REQUEST_NEW,
    REQUEST_READING,
    REQUEST_RUNNING, /* in this round's batch */
    REQUEST_SUSPENDED,
    REQUEST_DONE,
};

struct request {
    struct exchange exchange;
    struct rest *rest;
    struct MHD_Connection *connection;
    enum request_state state;
    char *data; /* the body */
    size_t size, capacity;
    bool too_large;
    char *url;
    struct loop_watch *watch; /* of the client's leaving, while suspended */
    struct request *next;     /* among the idle ones */
};

struct rest {
    struct server_context *server;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer timer;
    struct request *idle;
    int connections, requests, reading; /* open; of these in work; of these not read whole */
    bool unfinished;                    /* MHD_run wants to be called again at once */
    bool answered;                      /* something waits for MHD_run */

    bool draining;
    struct loop_timer drain_timer;
    int64_t drain_idle_since_ns, drain_began_ns;
    void (*drained)(void *context);
    void *drained_context;
};

/* ---- Requests and their buffers. ---- */

static struct request *request_begin(struct rest *rest)
{
    struct request *request = rest->idle;
    if (request != NULL)
        rest->idle = request->next;
    else
        request = zalloc(sizeof *request);
    struct exchange kept = request->exchange;
    char *data = request->data;
    size_t capacity = request->capacity;
    *request = (struct request){ .rest = rest, .data = data, .capacity = capacity };
    request->exchange.server = rest->server;
    request->exchange.arena = kept.arena ? kept.arena : arena_create(ARENA_BYTES);
    request->exchange.http = MHD_HTTP_OK;
    rest->requests++;
    rest->reading++;
    return request;
}

/* Keeps small buffers for the next request and gives large ones back. */
static void request_end(struct request *request)
{
    struct rest *rest = request->rest;
    struct exchange *exchange = &request->exchange;
    if (request->state < REQUEST_RUNNING)
        rest->reading--;
    rest->requests--;
    servable_release(exchange->servable);
    budget_give(&rest->server->budget, exchange->taken);
    buffer_finish(&exchange->reply);
    free(request->url);
    if (request->capacity > KEPT_BYTES_MAX) {
        free(request->data);
        request->data = NULL;
        request->capacity = 0;
    }
    if (arena_used(exchange->arena) > KEPT_BYTES_MAX) {
        arena_destroy(exchange->arena);
        exchange->arena = NULL;
    } else {
        arena_reset(exchange->arena);
    }
    request->next = rest->idle;
    rest->idle = request;
}

static void request_free(struct request *request)
{
    arena_destroy(request->exchange.arena);
    free(request->data);
    free(request);
}

/* Room for `size` bytes of body and the padding. */
static struct status reserve_body(struct request *request, size_t size)
{
    if (size + JSON_PADDING <= request->capacity)
        return status_ok();
    size_t capacity = size + JSON_PADDING;
    if (capacity < 2 * request->capacity)
        capacity = 2 * request->capacity;
    if (capacity > KEPT_BYTES_MAX) /* small ones are kept, and few */
        TRY(exchange_take_memory(&request->exchange, capacity - (size_t)request->exchange.taken));
    char *data = realloc(request->data, capacity);
    if (data == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a body of %zu bytes", size);
    request->data = data;
    request->capacity = capacity;
    return status_ok();
}

/* A body that is refused is still read to its end: closing at once would lose the answer. */
static void refuse_body(struct request *request, struct status status)
{
    request->too_large = true;
    exchange_fail(&request->exchange, status);
}

static struct status too_large(const struct request *request, uint64_t size)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "request body of %llu bytes is over --max_request_bytes=%lld",
                        (unsigned long long)size, (long long)request->rest->server->body_bytes_max);
}

static void append_body(struct request *request, const char *data, size_t size)
{
    int64_t limit = request->rest->server->body_bytes_max;
    if (request->too_large)
        return;
    struct status status = status_ok();
    if (limit > 0 && request->size + size > (uint64_t)limit)
        status = too_large(request, request->size + size);
    else
        status = reserve_body(request, request->size + size);
    if (!status_is_ok(status)) {
        refuse_body(request, status);
        return;
    }
    memcpy(request->data + request->size, data, size);
    request->size += size;
}

/* ---- Answers. ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_error("no memory for a response header");
}

static enum MHD_Result send_reply(struct request *request, bool json)
{
    struct exchange *exchange = &request->exchange;
    struct rest *rest = request->rest;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        exchange->reply.size, exchange->reply.data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL)
        return MHD_NO;
    exchange->reply = (struct buffer){ 0 };
    if (json)
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (rest->server->cors) {
        add_header(response, "Access-Control-Allow-Origin", "*");
        add_header(response, "Access-Control-Allow-Methods", "POST, GET");
        add_header(response, "Access-Control-Allow-Headers", "Content-Type");
    }
    if (rest->draining)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued =
        MHD_queue_response(request->connection, (unsigned)exchange->http, response);
    MHD_destroy_response(response);
    return queued;
}

static const char *header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result send_preflight(struct request *request)
{
    const char *origin = header(request, "Origin");
    bool web = origin != NULL && (strstr(origin, "http://") || strstr(origin, "https://"));
    request->exchange.http = web ? MHD_HTTP_OK : MHD_HTTP_BAD_REQUEST;
    return send_reply(request, false);
}

static enum MHD_Result send_foreign_path(struct request *request)
{
    static char page[] = "<html><head><title>404 Not Found</title></head>"
                         "<body><h1>404 Not Found</h1></body></html>\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof page - 1, page, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/html");
    enum MHD_Result queued = MHD_queue_response(request->connection, MHD_HTTP_NOT_FOUND, response);
    MHD_destroy_response(response);
    return queued;
}

/* ---- Handling. ---- */

static void call_done(struct inference_call *call, struct status status)
{
    struct request *request = (struct request *)exchange_of(call);
    if (!status_is_ok(status))
        exchange_fail(&request->exchange, status);
    bool suspended = request->state == REQUEST_SUSPENDED;
    request->state = REQUEST_DONE;
    request->rest->answered = true;
    if (!suspended)
        return;
    loop_unwatch(request->rest->server->loop, request->watch);
    request->watch = NULL;
    MHD_resume_connection(request->connection);
}

static void on_left(void *context, uint32_t events)
{
    struct request *request = context;
    (void)events;
    inference_leave(&request->exchange.call);
}

/* microhttpd does not look at a connection that is suspended. Without a watch the run goes on to
 * its end, for nobody. */
static void watch_client(struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info != NULL)
        status_ignore(loop_watch(request->rest->server->loop, info->connect_fd,
                                 EPOLLRDHUP | EPOLLET, on_left, request, &request->watch));
}

struct status
exchange_call(struct exchange *exchange, struct callable *callable, const struct tensor *inputs,
              struct status (*answer)(struct inference_call *, const struct tensor *outputs))
{
    struct request *request = (struct request *)exchange;
    struct server_context *server = exchange->server;
    TRY(callable->status);
    exchange->call = (struct inference_call){
        .callable = callable,
        .inputs = inputs,
        .answer = answer,
        .done = call_done,
        .arena = exchange->arena,
        .deadline_ns = server->timeout_ns > 0 ? loop_now_ns(server->loop) + server->timeout_ns : 0
    };
    if (inference_goes_to_pool(&exchange->call)) {
        request->state = REQUEST_SUSPENDED;
        MHD_suspend_connection(request->connection);
        watch_client(request);
        inference_submit_to_pool(server->inference, &exchange->call);
    } else {
        request->state = REQUEST_RUNNING;
        inference_submit(server->inference, &exchange->call);
    }
    return status_ok();
}

/* A body that cannot be expanded counts as empty, and so does a bomb, as in TensorFlow Serving; one
 * over the operator's own limit is refused. */
static struct status expand_body(struct request *request)
{
    const char *encoding = header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (encoding == NULL || strcasestr(encoding, "gzip") == NULL)
        return status_ok();
    char *data;
    size_t size;
    int64_t taken;
    int64_t own_limit = request->rest->server->body_bytes_max;
    bool ours = own_limit > 0 && (uint64_t)own_limit < GUNZIP_BYTES_MAX;
    size_t limit = ours ? (size_t)own_limit : GUNZIP_BYTES_MAX;
    struct status status = gunzip(request->data, request->size, limit, JSON_PADDING,
                                  &request->rest->server->budget, &data, &size, &taken);
    if (status.code == STATUS_OUT_OF_RANGE && ours)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "request body expands to over --max_request_bytes=%lld",
                            (long long)own_limit);
    if (status.code == STATUS_RESOURCE_EXHAUSTED)
        return status;
    request->size = 0;
    if (!status_is_ok(status))
        return status_ok();
    free(request->data);
    request->data = data;
    request->size = size;
    request->capacity = size + JSON_PADDING;
    request->exchange.taken += taken;
    return status_ok();
}

/* Tensors take a multiple of the text: a large body gets a larger arena, and pays for it. */
static struct status size_arena(struct request *request)
{
    if (request->size <= KEPT_BYTES_MAX)
        return status_ok();
    TRY(exchange_take_memory(&request->exchange, request->size * 4));
    arena_destroy(request->exchange.arena); /* it holds nothing yet */
    request->exchange.arena = arena_create(ARENA_BYTES + request->size * ARENA_BODY_FACTOR);
    return status_ok();
}

static struct status handle(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    const struct route *route;
    TRY(expand_body(request));
    TRY(size_arena(request));
    TRY(reserve_body(request, request->size));
    memset(request->data + request->size, 0, JSON_PADDING);
    exchange->body = (struct bytes){ request->data, request->size };
    TRY(route_find(exchange->method, exchange->url, exchange->arena, &exchange->target, &route));
    return route->handle(exchange);
}

/* The request has been read whole. */
static enum MHD_Result answer_request(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    request->rest->reading--;
    request->state = REQUEST_DONE;
    if (strncasecmp(exchange->url, "/v1/", 4) != 0)
        return send_foreign_path(request);
    if (strcmp(exchange->method, MHD_HTTP_METHOD_OPTIONS) == 0)
        return send_preflight(request);
    if (!request->too_large) {
        struct status status = handle(request);
        if (!status_is_ok(status)) {
            request->state = REQUEST_DONE;
            exchange_fail(exchange, status);
        }
    }
    return request->state == REQUEST_DONE ? send_reply(request, true) : MHD_YES;
}

static void read_headers(struct request *request, const char *method)
{
    request->exchange.method = method; /* lives as long as the request */
    request->exchange.url = request->url;
    const char *length = header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    uint64_t size = length != NULL ? strtoull(length, NULL, 10) : 0;
    int64_t limit = request->rest->server->body_bytes_max;
    if (limit > 0 && size > (uint64_t)limit) {
        refuse_body(request, too_large(request, size));
        return;
    }
    /* What a header promises is believed up to a size; beyond it, what has come. */
    struct status status = reserve_body(request, size < ((uint64_t)1 << 20) ? size : (1 << 20));
    if (!status_is_ok(status))
        refuse_body(request, status);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    (void)context, (void)url, (void)version;
    struct request *request = *state;
    switch (request->state) {
    case REQUEST_NEW:
        request->connection = connection;
        request->state = REQUEST_READING;
        read_headers(request, method);
        return MHD_YES;
    case REQUEST_READING:
        if (*size == 0)
            return answer_request(request);
        append_body(request, data, *size);
        *size = 0;
        return MHD_YES;
    case REQUEST_DONE:
        return send_reply(request, true);
    case REQUEST_RUNNING:
    case REQUEST_SUSPENDED:
        break;
    }
    return MHD_YES;
}

/* Called with the request line as it came: microhttpd's own URL is decoded and has lost its query.
 */
static void *on_request_line(void *context, const char *url, struct MHD_Connection *connection)
{
    (void)connection;
    struct request *request = request_begin(context);
    request->url = xstrdup(url);
    return request;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)context, (void)connection, (void)code;
    struct request *request = *state;
    *state = NULL;
    if (request == NULL)
        return;
    if (request->state == REQUEST_RUNNING) /* its client has gone */
        inference_forget(request->rest->server->inference, &request->exchange.call);
    request_end(request);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    (void)connection, (void)state;
    ((struct rest *)context)->connections += code == MHD_CONNECTION_NOTIFY_STARTED ? 1 : -1;
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

/* ---- The loop. ---- */

static void run_daemon(struct rest *rest)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    if (MHD_run(rest->daemon) != MHD_YES)
        log_error("http: MHD_run failed");
    bool timed = MHD_get_timeout(rest->daemon, &timeout) == MHD_YES;
    rest->unfinished = timed && timeout == 0;
    if (timed && timeout > 0)
        loop_set_timer(rest->server->loop, &rest->timer,
                       loop_now_ns(rest->server->loop) + (int64_t)timeout * NS_PER_MS);
    else
        loop_clear_timer(rest->server->loop, &rest->timer);
}

static void on_ready(void *context, uint32_t events)
{
    (void)events;
    run_daemon(context);
}

static void on_timeout(void *context)
{
    run_daemon(context);
}

int rest_connections(const struct rest *rest)
{
    return rest->connections;
}

bool rest_answer(struct rest *rest)
{
    if (rest->answered) {
        rest->answered = false;
        run_daemon(rest); /* asks for the answers, and sends them */
        if (rest->unfinished)
            run_daemon(rest);
    } else if (rest->unfinished) {
        run_daemon(rest);
    }
    return rest->unfinished;
}

void rest_accept(void *context, int fd, enum listener_protocol protocol,
                 const struct sockaddr *address, socklen_t address_size)
{
    struct rest *rest = context;
    if (protocol != LISTENER_HTTP1) {
        log_debug("http: a client that speaks %s is turned away",
                  protocol == LISTENER_TLS ? "TLS" : "HTTP/2 only");
        close(fd);
        return;
    }
    /* It closes the descriptor itself where it refuses the connection. */
    if (MHD_add_connection(rest->daemon, fd, address, address_size) == MHD_YES)
        run_daemon(rest);
}

static unsigned connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1000;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t others = 64; /* descriptors that are no connections */
    if (limit.rlim_cur > 100000 + others)
        return 100000;
    return limit.rlim_cur > others ? (unsigned)(limit.rlim_cur - others) : 1;
}

struct status rest_create(struct server_context *server, struct rest **out)
{
    struct rest *rest = zalloc(sizeof *rest);
    rest->server = server;
    rest->timer = (struct loop_timer){ .expired = on_timeout, .context = rest };
    rest->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, on_request, rest, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, rest, MHD_OPTION_URI_LOG_CALLBACK,
        on_request_line, rest, MHD_OPTION_NOTIFY_CONNECTION, on_connection, rest,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT, connections_max(), MHD_OPTION_END);
    if (rest->daemon == NULL) {
        free(rest);
        return status_error(STATUS_INTERNAL, "cannot start libmicrohttpd");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(rest->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct status status =
        loop_watch(server->loop, info->epoll_fd, EPOLLIN, on_ready, rest, &rest->watch);
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
    loop_unwatch(rest->server->loop, rest->watch);
    loop_clear_timer(rest->server->loop, &rest->timer);
    loop_clear_timer(rest->server->loop, &rest->drain_timer);
    MHD_stop_daemon(rest->daemon);
    while (rest->idle != NULL) {
        struct request *next = rest->idle->next;
        request_free(rest->idle);
        rest->idle = next;
    }
    free(rest);
}

/* Requests that run are waited for; those that come in slowly, or might come on idle connections,
 * for a while. */
static void check_drained(void *context)
{
    struct rest *rest = context;
    int64_t now = clock_now_ns(clock_monotonic());
    if (rest->requests > 0)
        rest->drain_idle_since_ns = now;
    bool idle = rest->requests == 0 && now - rest->drain_idle_since_ns >= DRAIN_LINGER_NS;
    bool stuck = rest->requests == rest->reading && now - rest->drain_began_ns >= DRAIN_READING_NS;
    if (rest->connections == 0 || idle || stuck)
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
