#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/log.h"
#include "server/rest_internal.h"

/* ---- Requests and their buffers. ---- */

static struct request *request_create(struct rest *rest)
{
    struct request *request = zalloc(sizeof *request);
    request->exchange.arena = arena_create(0);
    arena_charge(request->exchange.arena, &rest->server->budget);
    arena_set_stop(request->exchange.arena, &request->exchange.call.left);
    budget_charge(&rest->server->budget, sizeof *request);
    return request;
}

/* What an idle one keeps for the next request. */
static size_t kept_bytes(const struct request *request)
{
    return sizeof *request + request->capacity + request->exchange.reply.capacity +
           arena_held(request->exchange.arena);
}

static struct request *request_begin(struct rest *rest)
{
    struct request *request = rest->idle;
    if (request != NULL) {
        rest->idle = request->next;
        rest->idle_bytes -= kept_bytes(request);
    } else {
        request = request_create(rest);
    }
    struct exchange kept = request->exchange;
    char *data = request->data;
    size_t capacity = request->capacity;
    *request = (struct request){ .rest = rest, .data = data, .capacity = capacity };
    request->exchange.server = rest->server;
    request->exchange.arena = kept.arena;
    request->exchange.reply = kept.reply;
    request->exchange.paid = kept.paid;
    request->exchange.http = MHD_HTTP_OK;
    rest->requests++;
    rest->reading++;
    return request;
}

void rest_request_free(struct rest *rest, struct request *request)
{
    struct exchange *exchange = &request->exchange;
    int64_t paid = exchange->paid + (int64_t)request->capacity + (int64_t)sizeof *request;
    arena_destroy(exchange->arena);
    buffer_finish(&exchange->reply);
    free(request->data);
    free(request);
    budget_give(&rest->server->budget, paid);
}

static void free_reply(struct exchange *exchange)
{
    buffer_finish(&exchange->reply);
    budget_give(&exchange->server->budget, exchange->paid);
    exchange->paid = 0;
}

/* The body and what was made of it: an answer may wait for long until its client reads it. */
static void free_inputs(struct request *request)
{
    if (request->capacity > REST_KEPT_BYTES_MAX)
        rest_body_free(request);
    if (arena_held(request->exchange.arena) > REST_KEPT_BYTES_MAX)
        arena_trim(request->exchange.arena);
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
    free(request->target);
    if (exchange->reply.capacity > REST_KEPT_BYTES_MAX)
        free_reply(exchange);
    exchange->reply.size = 0;
    status_ignore(context_settle_reply(rest->server, &exchange->reply, &exchange->paid, false));
    free_inputs(request);
    arena_reset(exchange->arena);
    size_t kept = kept_bytes(request);
    if (rest->idle_bytes + kept > context_keep_max(rest->server)) {
        rest_request_free(rest, request);
        return;
    }
    rest->idle_bytes += kept;
    request->next = rest->idle;
    rest->idle = request;
}

/* ---- Answers. ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_error("no memory for a response header");
}

static struct status settle_reply(struct exchange *exchange, bool may_fail)
{
    return context_settle_reply(exchange->server, &exchange->reply, &exchange->paid, may_fail);
}

/* What was written without asking is paid for, or refused. */
static void pay_for_reply(struct exchange *exchange)
{
    struct status status = settle_reply(exchange, exchange->http == MHD_HTTP_OK);
    if (status_is_ok(status))
        return;
    free_reply(exchange);
    exchange_fail(exchange, status);
    status_ignore(settle_reply(exchange, false));
}

/* What stands unread in the socket when it is closed would become a reset, which overtakes the
 * answer. */
static void discard_unread(const struct request *request)
{
    char unread[16384];
    for (int i = 0; i < 64 && recv(request->link->fd, unread, sizeof unread, MSG_DONTWAIT) > 0; i++)
        ;
}

static enum MHD_Result send_reply(struct request *request, bool json)
{
    struct exchange *exchange = &request->exchange;
    struct rest *rest = request->rest;
    free_inputs(request);
    pay_for_reply(exchange);
    /* The reply's buffer stays the request's, which ends when the answer is sent. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        exchange->reply.size, exchange->reply.data, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    if (json)
        add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (rest->server->cors) {
        add_header(response, "Access-Control-Allow-Origin", "*");
        add_header(response, "Access-Control-Allow-Methods", "POST, GET");
        add_header(response, "Access-Control-Allow-Headers", "Content-Type");
    }
    if (rest->draining || request->refused)
        add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued =
        MHD_queue_response(request->connection, (unsigned)exchange->http, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_preflight(struct request *request)
{
    const char *origin = rest_header(request, "Origin");
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
    if (request->state == REQUEST_LEFT) {
        request_end(request);
        return;
    }
    if (!status_is_ok(status))
        exchange_fail(&request->exchange, status);
    bool suspended = request->state == REQUEST_SUSPENDED;
    request->state = REQUEST_DONE;
    request->rest->answered = true;
    if (!suspended)
        return;
    MHD_resume_connection(request->connection);
}

/* A call that was prepared in the pool and runs there, too, is suspended already. */
static void call_to_pool(struct inference_call *call)
{
    struct request *request = (struct request *)exchange_of(call);
    if (request->state != REQUEST_RUNNING)
        return;
    request->state = REQUEST_POOLED;
    request->rest->answered = true;
}

/* Inside microhttpd's callback only. */
static enum MHD_Result suspend(struct request *request)
{
    request->state = REQUEST_SUSPENDED;
    MHD_suspend_connection(request->connection);
    if (request->link->has_left)
        inference_leave(&request->exchange.call);
    return MHD_YES;
}

struct status
exchange_call(struct exchange *exchange, struct callable *callable, const struct tensor *inputs,
              struct status (*answer)(struct inference_call *, const struct tensor *outputs))
{
    TRY(callable->status);
    exchange->call.callable = callable;
    exchange->call.inputs = inputs;
    exchange->call.answer = answer;
    return status_ok();
}

/* In the loop's thread, or in the pool. */
static struct status handle(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    const struct route *route;
    TRY(rest_body_finish(request));
    exchange->body = (struct bytes){ request->data, request->size };
    TRY(route_find(exchange->method, exchange->url, exchange->arena, &exchange->target, &route));
    return route->handle(exchange);
}

static struct status handle_in_pool(struct inference_call *call)
{
    return handle((struct request *)exchange_of(call));
}

/* Expanding and reading a large body takes long: that is for the pool. */
static bool is_large(const struct request *request)
{
    return request->gzip || request->size > INFERENCE_READ_BYTES_MAX;
}

/* False: it is answered already, in exchange->reply. */
static bool begin_call(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    struct server_context *server = exchange->server;
    exchange->call = (struct inference_call){
        .done = call_done,
        .to_pool = call_to_pool,
        .arena = exchange->arena,
        .deadline_ns = server->timeout_ns > 0 ? loop_now_ns(server->loop) + server->timeout_ns : 0
    };
    if (is_large(request)) {
        exchange->call.prepare = handle_in_pool;
    } else {
        struct status status = handle(request);
        if (!status_is_ok(status))
            exchange_fail(exchange, status);
        if (!status_is_ok(status) || exchange->call.callable == NULL)
            return false;
    }
    request->state = REQUEST_RUNNING;
    inference_submit(server->inference, &exchange->call);
    return true;
}

/* Nothing more of it is wanted. */
static void request_read(struct request *request)
{
    request->rest->reading--;
    request->state = REQUEST_DONE;
    rest_link_has_read(request->link);
}

/* A request that is not to be read on: where it ends is not certain. */
static enum MHD_Result refuse(struct request *request, struct status status)
{
    request_read(request);
    request->refused = true;
    exchange_fail(&request->exchange, status);
    discard_unread(request);
    return send_reply(request, true);
}

static enum MHD_Result begin_reading(struct request *request, struct MHD_Connection *connection,
                                     const char *method, const char *version)
{
    request->connection = connection;
    request->state = REQUEST_READING;
    request->exchange.method = method; /* lives as long as the request */
    request->exchange.url = rest_head_path(request->target);
    struct status status = rest_head_check(connection, version, &request->link->chunked);
    if (!status_is_ok(status))
        return refuse(request, status);
    rest_link_progressed(request->link);
    rest_body_expect(request);
    return MHD_YES;
}

/* The request has been read whole. */
static enum MHD_Result answer_request(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    request_read(request);
    if (strncasecmp(exchange->url, "/v1/", 4) != 0)
        return send_foreign_path(request);
    if (strcmp(exchange->method, MHD_HTTP_METHOD_OPTIONS) == 0)
        return send_preflight(request);
    if (request->too_large || !begin_call(request))
        return send_reply(request, true);
    return request->state == REQUEST_POOLED ? suspend(request) : MHD_YES;
}

enum MHD_Result rest_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state)
{
    (void)context, (void)url;
    struct request *request = *state;
    switch (request->state) {
    case REQUEST_NEW:
        return begin_reading(request, connection, method, version);
    case REQUEST_READING:
        if (*size == 0)
            return answer_request(request);
        rest_link_progressed(request->link);
        rest_body_append(request, data, *size);
        *size = 0;
        return MHD_YES;
    case REQUEST_POOLED:
        return suspend(request);
    case REQUEST_DONE:
        return send_reply(request, true);
    case REQUEST_RUNNING:
    case REQUEST_SUSPENDED:
    case REQUEST_LEFT:
        break;
    }
    return MHD_YES;
}

/* Called with the request line as it came: microhttpd's own URL is decoded and has lost its query.
 */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *connection)
{
    struct rest_link *link = rest_link_of(connection);
    if (link->request != NULL) /* libmicrohttpd does not tell of each request that it gives up */
        rest_request_leave(link->request);
    struct request *request = request_begin(context);
    request->target = xstrdup(url);
    request->link = link;
    link->request = request;
    rest_link_reads(link);
    return request;
}

void rest_request_leave(struct request *request)
{
    request->link->request = NULL;
    if (request->state < REQUEST_RUNNING)
        rest_link_has_read(request->link);
    request->link = NULL;
    /* Its client may have gone before the run has ended. */
    if (request->state == REQUEST_POOLED) {
        inference_leave(&request->exchange.call);
        request->state = REQUEST_LEFT;
        return;
    }
    if (request->state == REQUEST_RUNNING)
        inference_forget(request->rest->server->inference, &request->exchange.call);
    request_end(request);
}

void rest_on_completed(void *context, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code)
{
    (void)context, (void)connection, (void)code;
    struct request *request = *state;
    *state = NULL;
    if (request != NULL)
        rest_request_leave(request);
}
