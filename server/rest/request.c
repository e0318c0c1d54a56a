/*
 * Reads, handles and answers a request. The life of a request:
 *
 *     NEW              its request line has arrived
 *      |
 *      v
 *     READING          its headers were accepted, its body is being received
 *      |
 *      v
 *     READ             complete or refused; often answered at once
 *      |
 *      v
 *     RUNNING          in this round's batch: libmicrohttpd gets the answer in its next run, or at
 *      |   |           once if the run did not wait for the end of the round
 *      |   v
 *      |  POOLED ----> CANCELLED, when its connection goes: it ends when the pool is done with it
 *      |   |   |
 *      |   |   v
 *      |   |  SUSPENDED, when libmicrohttpd asks: resumed with the answer
 *      v   v   v
 *     DONE             the answer is in served.reply
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/states.h"
#include "server/inference/auth.h"
#include "server/inference/explain.h"
#include "server/rest/predict.h"
#include "server/rest/rest_internal.h"

/* A larger body is read in the pool even if it is one tensor. */
#define TENSOR_BYTES_MAX ((size_t)1 << 20)

static const unsigned allowed[] = {
    [REQUEST_NEW] = STATE(REQUEST_READING),
    [REQUEST_READING] = STATE(REQUEST_READ),
    [REQUEST_READ] = STATE(REQUEST_RUNNING),
    [REQUEST_RUNNING] = STATE(REQUEST_POOLED) | STATE(REQUEST_DONE),
    [REQUEST_POOLED] = STATE(REQUEST_SUSPENDED) | STATE(REQUEST_CANCELLED) | STATE(REQUEST_DONE),
    [REQUEST_SUSPENDED] = STATE(REQUEST_DONE),
    [REQUEST_CANCELLED] = 0,
    [REQUEST_DONE] = 0,
};

static void enter(struct request *request, enum request_state state)
{
    request->state = state_next(allowed, request->state, state);
}

/* ---- requests and their buffers ---- */

static struct served_request *served_of(struct request *request)
{
    return &request->exchange.served;
}

static struct request *request_of(struct served_request *served)
{
    return (struct request *)served;
}

static struct request *take_request(struct rest *rest)
{
    struct request *request = request_of(request_pool_take(&rest->memory));
    request->rest = rest;
    request->exchange.http = MHD_HTTP_OK;
    rest->requests++;
    rest->requests_incomplete++;
    return request;
}

static size_t held(const struct served_request *served)
{
    return ((const struct request *)served)->capacity;
}

static void free_data(struct served_request *served)
{
    rest_body_free(request_of(served));
}

/* Frees the body and everything made from it, because the client may read the answer slowly. */
static void free_inputs(struct request *request)
{
    if (request->capacity > REQUEST_KEPT_BYTES_MAX)
        rest_body_free(request);
    if (arena_held(served_of(request)->arena) > REQUEST_KEPT_BYTES_MAX)
        arena_trim(served_of(request)->arena);
}

static void keep_target(struct request *request, const char *target)
{
    size_t size = strlen(target) + 1;
    if (size > sizeof request->short_target)
        request->target = xstrdup(target);
    else
        request->target = memcpy(request->short_target, target, size);
}

static void free_target(struct request *request)
{
    if (request->target != request->short_target)
        free(request->target);
}

/* Its answer is sent, or nobody waits for it. */
static void give_request(struct request *request)
{
    struct rest *rest = request->rest;
    assert(request->connection == NULL && rest->requests > 0);
    if (request->state <= REQUEST_READING)
        rest->requests_incomplete--;
    rest->requests--;
    assert(rest->requests_incomplete >= 0 && rest->requests_incomplete <= rest->requests);
    if (list_holds(&served_of(request)->link))
        served_request_end(served_of(request),
                           status_error(STATUS_CANCELLED, "the client disconnected"));
    free_target(request);
    free_inputs(request);
    status_ignore(served_request_settle_reply(served_of(request), false));
    request_pool_give(served_of(request));
}

/* ---- answers ---- */

/* Charges what was written without a reservation, or refuses the answer. */
static void pay_for_reply(struct exchange *exchange)
{
    struct status status =
        served_request_settle_reply(&exchange->served, exchange->http == MHD_HTTP_OK);
    if (status_is_ok(status))
        return;
    served_request_free_reply(&exchange->served);
    exchange_fail(exchange, status);
    status_ignore(served_request_settle_reply(&exchange->served, false));
}

/* Closing a socket with unread bytes sends a reset, which would overtake the answer. */
static void discard_unread(const struct request *request)
{
    char unread[16384];
    for (int i = 0;
         i < 64 && recv(request->connection->fd, unread, sizeof unread, MSG_DONTWAIT) > 0; i++)
        ;
}

static void add_headers(const struct request *request, struct MHD_Response *response)
{
    const struct exchange *exchange = &request->exchange;
    if (exchange->content_type != NULL)
        rest_add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->content_type);
    for (int i = 0; i < exchange->headers_count; i++)
        rest_add_header(response, exchange->headers[i].name, exchange->headers[i].value);
    rest_cors_add(request, response);
    if (request->rest->draining || request->refused)
        rest_add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* Adds "explain" as the last member of the answer, a JSON object. */
static void add_explanation(struct exchange *exchange)
{
    struct buffer *reply = &exchange->served.reply;
    size_t size = reply->size;
    while (size > 0 && reply->data[size - 1] != '}')
        size--;
    while (size > 1 && (reply->data[size - 2] == '\n' || reply->data[size - 2] == ' '))
        size--;
    reply->size = size > 0 ? size - 1 : 0;
    buffer_append_text(reply, ",\n    \"explain\": ");
    explain_print(exchange->explain, &exchange->served, "    ", SIZE_MAX, reply);
    buffer_append_text(reply, "\n}");
}

static enum MHD_Result send_reply(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    struct served_request *served = &exchange->served;
    if (exchange->explain != NULL && exchange->http == MHD_HTTP_OK)
        add_explanation(exchange);
    pay_for_reply(exchange);
    /* The buffer of the reply belongs to the request, which ends when the answer is sent. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        served->reply.size, served->reply.data, MHD_RESPMEM_PERSISTENT);
    if (response != NULL)
        add_headers(request, response);
    served_request_end(served, served->status); /* the status of exchange_fail */
    free_inputs(request);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(request->mhd, (unsigned)exchange->http, response);
    MHD_destroy_response(response);
    return queued;
}

/* Is it a CORS preflight request? TensorFlow Serving answers it for each path of its own; other
 * paths are answered if CORS is enabled. */
static bool is_preflight(const struct request *request)
{
    const struct exchange *exchange = &request->exchange;
    return strcmp(exchange->method, MHD_HTTP_METHOD_OPTIONS) == 0 &&
           (route_is_v1(exchange->url) || rest_cors_is_on(request->rest->server));
}

static enum MHD_Result send_preflight(struct request *request)
{
    request->exchange.http = rest_cors_is_web_page(request) ? MHD_HTTP_OK : MHD_HTTP_BAD_REQUEST;
    return send_reply(request);
}

static enum MHD_Result send_foreign_path(struct request *request)
{
    request->exchange.http = MHD_HTTP_NOT_FOUND;
    request->exchange.content_type = "text/html";
    request->exchange.served.status = status_error(STATUS_NOT_FOUND, "no such page");
    buffer_append_text(&request->exchange.served.reply,
                       "<html><head><title>404 Not Found</title></head>"
                       "<body><h1>404 Not Found</h1></body></html>\n");
    return send_reply(request);
}

static enum MHD_Result send_wrong_method(struct request *request, const char *allow)
{
    struct exchange *exchange = &request->exchange;
    exchange_fail(exchange, status_error(STATUS_INVALID_ARGUMENT, "%s %s: wants %s",
                                         exchange->method, exchange->url, allow));
    exchange->http = MHD_HTTP_METHOD_NOT_ALLOWED;
    exchange_add_header(exchange, MHD_HTTP_HEADER_ALLOW, allow);
    return send_reply(request);
}

/* ---- handling ---- */

/* A run, or whatever the request waited for, has ended. */
static void finish(struct served_request *served, struct status status)
{
    struct request *request = request_of(served);
    if (request->state == REQUEST_CANCELLED) {
        served_request_end(served, status);
        give_request(request);
        return;
    }
    if (!status_is_ok(status))
        exchange_fail(&request->exchange, status);
    bool suspended = request->state == REQUEST_SUSPENDED;
    enter(request, REQUEST_DONE);
    request->rest->answered |= !request->handled;
    if (suspended)
        MHD_resume_connection(request->mhd);
}

/* A call that was prepared in the pool and also runs there is suspended already. */
static void call_to_pool(struct inference_call *call)
{
    struct request *request = request_of(served_request_of(call));
    if (request->state != REQUEST_RUNNING)
        return;
    enter(request, REQUEST_POOLED);
    request->rest->answered |= !request->handled;
}

/* Only inside libmicrohttpd's callback. */
static enum MHD_Result suspend(struct request *request)
{
    assert(request->connection != NULL);
    enter(request, REQUEST_SUSPENDED);
    MHD_suspend_connection(request->mhd);
    if (request->connection->is_disconnected)
        inference_cancel(&served_of(request)->call);
    return MHD_YES;
}

const struct request_kind rest_request_kind = {
    .protocol = PROTOCOL_REST,
    .size = sizeof(struct request),
    .cleared_end = offsetof(struct request, data),
    .finish = finish,
    .to_pool = call_to_pool,
    .held = held,
    .free = free_data,
};

void rest_requests_abandon(struct rest *rest)
{
    for (struct list_link *at = rest->memory.begun, *next; at != NULL; at = next) {
        struct served_request *served = CONTAINER_OF(at, struct served_request, link);
        next = at->next;
        if (served->waits)
            served_request_finish(served,
                                  status_error(STATUS_UNAVAILABLE, "the server is going down"));
    }
}

/* In the loop's thread or in the pool. */
static struct status handle(struct served_request *served)
{
    struct request *request = request_of(served);
    TRY(rest_body_finish(request));
    served->body = (struct bytes){ request->data, request->size };
    return request->exchange.route->handle(&request->exchange);
}

/* The pool decompresses and reads large bodies, and prints large answers. If all of its threads
 * are busy, the loop prints: a server is scraped above all while it is overloaded. */
static bool takes_long(const struct request *request)
{
    if (request->compressed)
        return true;
    if (request->exchange.route->takes_long)
        return inference_has_idle_thread(request->exchange.served.server->inference);
    return request->size > INFERENCE_READ_BYTES_MAX &&
           (request->size > TENSOR_BYTES_MAX || !predict_body_is_tensor(&request->exchange));
}

/* Copies the headers that the handler reads, because it may run in the pool, after the
 * connection is closed. */
static void keep_headers(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    const char *const *names = exchange->route->headers;
    size_t count = 0;
    while (names != NULL && names[count] != NULL)
        count++;
    const char **values = ARENA_ARRAY(exchange->served.arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *value = rest_header(request, names[i]);
        values[i] = value != NULL ? arena_strdup(exchange->served.arena, value) : NULL;
    }
    exchange->wanted = values;
}

/* Returns false if it is answered already, in served.reply. */
static bool begin_call(struct request *request)
{
    struct served_request *served = served_of(request);
    struct server_context *server = served->server;
    struct status status = status_ok();
    served->call.deadline_ns =
        server->timeout_ns > 0 ? loop_now_ns(server->loop) + server->timeout_ns : 0;
    served->call.at_once = true;
    bool in_pool = takes_long(request);
    if (!in_pool)
        status = handle(served);
    if (!status_is_ok(status))
        exchange_fail(&request->exchange, status);
    if (!status_is_ok(status) || (!in_pool && !served->runs && !served->waits))
        return false;
    enter(request, REQUEST_RUNNING);
    if (in_pool)
        served_request_read_in_pool(served, handle);
    else if (!served_request_continue(served, status) && served->waits)
        call_to_pool(&served->call);
    return true;
}

/* Nothing more of the request will be read. */
static void request_read(struct request *request)
{
    request->rest->requests_incomplete--;
    enter(request, REQUEST_READ);
    rest_connection_end_reading(request->connection);
}

/* Answers a request without reading on: its end is unknown, or its client has not sent the body
 * yet. */
static enum MHD_Result refuse(struct request *request, struct status status)
{
    request_read(request);
    request->refused = true;
    served_request_begin(served_of(request));
    exchange_fail(&request->exchange, status);
    discard_unread(request);
    return send_reply(request);
}

/* Refuses a request without a token, except probes and the preflight requests of web browsers. */
static struct status check_token(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    struct server_context *server = exchange->served.server;
    struct route_match match;
    if (server->auth == NULL || strcmp(exchange->method, MHD_HTTP_METHOD_OPTIONS) == 0)
        return status_ok();
    struct status status =
        route_find(server, exchange->method, exchange->url, exchange->served.arena, &match);
    if (status_is_ok(status) && match.route != NULL && match.route->api == API_HEALTH)
        return status_ok();
    status = auth_check(server->auth, rest_header(request, MHD_HTTP_HEADER_AUTHORIZATION));
    if (!status_is_ok(status))
        exchange_add_header(exchange, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    return status;
}

/* Does the client send the body only after "100 Continue"? */
static bool waits_to_send(const struct request *request, const char *version)
{
    const char *expect = rest_header(request, MHD_HTTP_HEADER_EXPECT);
    return expect != NULL && strcasecmp(expect, "100-continue") == 0 &&
           strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
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
    status = check_token(request);
    if (status_is_ok(status))
        status = rest_body_expect(request);
    if (status_is_ok(status))
        return MHD_YES;
    if (waits_to_send(request, version))
        return refuse(request, status);
    rest_body_refuse(request, status);
    return MHD_YES;
}

/* Returns false if there is no route, and the request is answered. */
static bool find_route(struct request *request, enum MHD_Result *answered)
{
    struct exchange *exchange = &request->exchange;
    struct served_request *served = &exchange->served;
    struct route_match match;
    struct status status =
        route_find(served->server, exchange->method, exchange->url, served->arena, &match);
    exchange->route = match.route;
    served->spec = match.spec;
    exchange->query = match.query;
    if (exchange->route != NULL) {
        const char *type = exchange->route->content_type;
        exchange->content_type = type != NULL ? type : "application/json";
        served->api = exchange->route->api;
        return true;
    }
    if (route_is_v1(exchange->url))
        served->api = API_MALFORMED;
    if (!status_is_ok(status))
        exchange_fail(exchange, status);
    *answered = !status_is_ok(status) ? send_reply(request)
                : match.allow != NULL ? send_wrong_method(request, match.allow)
                                      : send_foreign_path(request);
    return false;
}

/* Only answers of TensorFlow Serving's API are JSON objects to which a member can be added. */
static bool wants_explanation(const struct request *request)
{
    const struct exchange *exchange = &request->exchange;
    enum request_api api = exchange->served.api;
    if (!route_is_v1(exchange->url) ||
        (api != API_PREDICT && api != API_CLASSIFY && api != API_REGRESS))
        return false;
    return exchange->query.size > 0 || explain_is_requested(rest_header(request, EXPLAIN_HEADER));
}

/* The request is complete. */
static enum MHD_Result answer_request(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    enum MHD_Result answered;
    request_read(request);
    served_request_begin(served_of(request));
    if (request->dropped)
        return send_reply(request);
    if (is_preflight(request))
        return send_preflight(request);
    if (!find_route(request, &answered))
        return answered;
    keep_headers(request);
    if (wants_explanation(request))
        exchange->explain = explain_begin(served_of(request));
    request->handled = true;
    bool begun = begin_call(request);
    request->handled = false;
    if (!begun || request->state == REQUEST_DONE)
        return send_reply(request);
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
        return send_reply(request);
    case REQUEST_READ:
    case REQUEST_RUNNING:
    case REQUEST_SUSPENDED:
    case REQUEST_CANCELLED:
        break;
    }
    return MHD_YES;
}

/* libmicrohttpd 0.9.75 makes an entry for each argument of a query. If they do not fit into its
 * buffer, it closes the connection without an answer. As nobody reads them, the query is removed
 * from its copy of the URL, from which it will cut the path. */
static void drop_arguments(const char *url)
{
    char *mark = strchr(url, '?');
    if (mark != NULL && rest_knows_library())
        mark[1] = '\0';
}

/* Called with the verbatim request line: libmicrohttpd's own URL is decoded and lacks the query. */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *mhd)
{
    struct rest_connection *connection = rest_connection_of(mhd);
    /* libmicrohttpd does not report each request that it gives up */
    if (connection->request != NULL)
        rest_request_detach(connection->request);
    struct request *request = take_request(context);
    keep_target(request, url);
    drop_arguments(url);
    request->connection = connection;
    connection->request = request;
    rest_connection_begin_reading(connection);
    return request;
}

void rest_request_detach(struct request *request)
{
    struct served_request *served = served_of(request);
    request->connection->request = NULL;
    if (request->state <= REQUEST_READING)
        rest_connection_end_reading(request->connection);
    request->connection = NULL;
    /* The client may have disconnected before the run ended. */
    if (request->state == REQUEST_POOLED) {
        inference_cancel(&served->call);
        enter(request, REQUEST_CANCELLED);
        return;
    }
    if (request->state == REQUEST_RUNNING)
        inference_forget(request->rest->server->inference, &served->call);
    give_request(request);
}

void rest_on_completed(void *context, struct MHD_Connection *mhd, void **state,
                       enum MHD_RequestTerminationCode code)
{
    (void)context, (void)mhd, (void)code;
    struct request *request = *state;
    *state = NULL;
    if (request != NULL)
        rest_request_detach(request);
}
