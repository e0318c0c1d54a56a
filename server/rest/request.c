/*
 * Reads, handles and answers a request. The life of a request:
 *
 *     NEW              its request line is here
 *      |
 *      v
 *     READING          its headers were accepted, its body comes
 *      |
 *      v
 *     READ             complete or refused; often answered at once
 *      |
 *      v
 *     RUNNING          in this round's batch: libmicrohttpd gets the answer in its next run
 *      |   |
 *      |   v
 *      |  POOLED ----> LEFT, when its connection goes: it ends when the pool is done with it
 *      |   |   |
 *      |   |   v
 *      |   |  SUSPENDED, when libmicrohttpd asks: resumed with the answer
 *      v   v   v
 *     DONE             the answer is in exchange->reply
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/states.h"
#include "server/inference/reply.h"
#include "server/rest/internal.h"

static const unsigned allowed[] = {
    [REQUEST_NEW] = STATE(REQUEST_READING),
    [REQUEST_READING] = STATE(REQUEST_READ),
    [REQUEST_READ] = STATE(REQUEST_RUNNING),
    [REQUEST_RUNNING] = STATE(REQUEST_POOLED) | STATE(REQUEST_DONE),
    [REQUEST_POOLED] = STATE(REQUEST_SUSPENDED) | STATE(REQUEST_LEFT) | STATE(REQUEST_DONE),
    [REQUEST_SUSPENDED] = STATE(REQUEST_DONE),
    [REQUEST_LEFT] = 0,
    [REQUEST_DONE] = 0,
};

static void enter(struct request *request, enum request_state state)
{
    request->state = state_next(allowed, request->state, state);
}

/* ---- Requests and their buffers. ---- */

static struct request *request_create(struct rest *rest)
{
    struct request *request = zalloc(sizeof *request);
    request->exchange.arena = arena_create(0);
    arena_charge(request->exchange.arena, rest->server->budget);
    arena_set_stop(request->exchange.arena, &request->exchange.call.left);
    budget_charge(rest->server->budget, sizeof *request);
    return request;
}

/* The bytes that an idle request keeps for the next one. */
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
    rest->requests_incomplete++;
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
    budget_give(rest->server->budget, paid);
}

static void free_reply(struct exchange *exchange)
{
    buffer_finish(&exchange->reply);
    budget_give(exchange->server->budget, exchange->paid);
    exchange->paid = 0;
}

/* Frees the body and what was made from it, because the client may take long to read the answer. */
static void free_inputs(struct request *request)
{
    if (request->capacity > REST_KEPT_BYTES_MAX)
        rest_body_free(request);
    if (arena_held(request->exchange.arena) > REST_KEPT_BYTES_MAX)
        arena_trim(request->exchange.arena);
}

/* Keeps small buffers for the next request, frees large ones. */
static void request_end(struct request *request)
{
    struct rest *rest = request->rest;
    struct exchange *exchange = &request->exchange;
    assert(request->connection == NULL && rest->requests > 0);
    if (request->state <= REQUEST_READING)
        rest->requests_incomplete--;
    rest->requests--;
    assert(rest->requests_incomplete >= 0 && rest->requests_incomplete <= rest->requests);
    servable_release(exchange->servable);
    free(request->target);
    if (exchange->reply.capacity > REST_KEPT_BYTES_MAX)
        free_reply(exchange);
    exchange->reply.size = 0;
    status_ignore(reply_settle(rest->server, &exchange->reply, &exchange->paid, false));
    free_inputs(request);
    arena_reset(exchange->arena);
    size_t kept = kept_bytes(request);
    if (rest->idle_bytes + kept > server_keep_max(rest->server)) {
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
    return reply_settle(exchange->server, &exchange->reply, &exchange->paid, may_fail);
}

/* Pays for what was written without asking, or refuses the answer. */
static void pay_for_reply(struct exchange *exchange)
{
    struct status status = settle_reply(exchange, exchange->http == MHD_HTTP_OK);
    if (status_is_ok(status))
        return;
    free_reply(exchange);
    exchange_fail(exchange, status);
    status_ignore(settle_reply(exchange, false));
}

/* Closing a socket with unread bytes sends a reset, which overtakes the answer. */
static void discard_unread(const struct request *request)
{
    char unread[16384];
    for (int i = 0;
         i < 64 && recv(request->connection->fd, unread, sizeof unread, MSG_DONTWAIT) > 0; i++)
        ;
}

static enum MHD_Result send_reply(struct request *request, bool json)
{
    struct exchange *exchange = &request->exchange;
    struct rest *rest = request->rest;
    free_inputs(request);
    pay_for_reply(exchange);
    /* The buffer of the reply belongs to the request, which ends when the answer is sent. */
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
    enum MHD_Result queued = MHD_queue_response(request->mhd, (unsigned)exchange->http, response);
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
    enum MHD_Result queued = MHD_queue_response(request->mhd, MHD_HTTP_NOT_FOUND, response);
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
    enter(request, REQUEST_DONE);
    request->rest->answered = true;
    if (!suspended)
        return;
    MHD_resume_connection(request->mhd);
}

/* A call that was prepared in the pool and also runs there is suspended already. */
static void call_to_pool(struct inference_call *call)
{
    struct request *request = (struct request *)exchange_of(call);
    if (request->state != REQUEST_RUNNING)
        return;
    enter(request, REQUEST_POOLED);
    request->rest->answered = true;
}

/* Only inside libmicrohttpd's callback. */
static enum MHD_Result suspend(struct request *request)
{
    assert(request->connection != NULL);
    enter(request, REQUEST_SUSPENDED);
    MHD_suspend_connection(request->mhd);
    if (request->connection->has_left)
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

/* In the loop's thread or in the pool. */
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

/* Unpacking and reading a large body takes long, and is left to the pool. */
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
    enter(request, REQUEST_RUNNING);
    inference_submit(server->inference, &exchange->call);
    return true;
}

/* Nothing more of it is read. */
static void request_read(struct request *request)
{
    request->rest->requests_incomplete--;
    enter(request, REQUEST_READ);
    rest_connection_end_reading(request->connection);
}

/* Answers a request without reading on, because its end is unknown. */
static enum MHD_Result refuse(struct request *request, struct status status)
{
    request_read(request);
    request->refused = true;
    exchange_fail(&request->exchange, status);
    discard_unread(request);
    return send_reply(request, true);
}

static enum MHD_Result begin_reading(struct request *request, struct MHD_Connection *mhd,
                                     const char *method, const char *version)
{
    request->mhd = mhd;
    enter(request, REQUEST_READING);
    request->exchange.method = method; /* lives as long as the request */
    request->exchange.url = rest_head_path(request->target);
    struct status status = rest_head_check(mhd, version, &request->connection->chunked);
    if (!status_is_ok(status))
        return refuse(request, status);
    rest_connection_note_progress(request->connection);
    rest_body_expect(request);
    return MHD_YES;
}

/* The request is complete. */
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

enum MHD_Result rest_on_request(void *context, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state)
{
    (void)context, (void)url;
    struct request *request = *state;
    switch (request->state) {
    case REQUEST_NEW:
        return begin_reading(request, mhd, method, version);
    case REQUEST_READING:
        if (*size == 0)
            return answer_request(request);
        rest_connection_note_progress(request->connection);
        rest_body_append(request, data, *size);
        *size = 0;
        return MHD_YES;
    case REQUEST_POOLED:
        return suspend(request);
    case REQUEST_DONE:
        return send_reply(request, true);
    case REQUEST_READ:
    case REQUEST_RUNNING:
    case REQUEST_SUSPENDED:
    case REQUEST_LEFT:
        break;
    }
    return MHD_YES;
}

/* Called with the request line as it came: libmicrohttpd's own URL is decoded and has lost its
 * query. */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *mhd)
{
    struct rest_connection *connection = rest_connection_of(mhd);
    /* libmicrohttpd does not tell of each request that it gives up */
    if (connection->request != NULL)
        rest_request_leave(connection->request);
    struct request *request = request_begin(context);
    request->target = xstrdup(url);
    request->connection = connection;
    connection->request = request;
    rest_connection_begin_reading(connection);
    return request;
}

void rest_request_leave(struct request *request)
{
    request->connection->request = NULL;
    if (request->state <= REQUEST_READING)
        rest_connection_end_reading(request->connection);
    request->connection = NULL;
    /* The client may have gone before the run ended. */
    if (request->state == REQUEST_POOLED) {
        inference_leave(&request->exchange.call);
        enter(request, REQUEST_LEFT);
        return;
    }
    if (request->state == REQUEST_RUNNING)
        inference_forget(request->rest->server->inference, &request->exchange.call);
    request_end(request);
}

void rest_on_completed(void *context, struct MHD_Connection *mhd, void **state,
                       enum MHD_RequestTerminationCode code)
{
    (void)context, (void)mhd, (void)code;
    struct request *request = *state;
    *state = NULL;
    if (request != NULL)
        rest_request_leave(request);
}
