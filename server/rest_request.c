#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "server/rest_internal.h"

#define CORS_HEADERS                              \
    "Access-Control-Allow-Origin: *\r\n"          \
    "Access-Control-Allow-Methods: POST, GET\r\n" \
    "Access-Control-Allow-Headers: Content-Type\r\n"
#define ARENA_BYTES       ((size_t)64 * 1024 * 1024)
#define ARENA_BODY_FACTOR 24 /* the dearest JSON: `"",` becomes 16 bytes, and grows by copies */

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
    request->exchange.http = 200;
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
    free(request->line);
    if (request->capacity > REST_KEPT_BYTES_MAX) {
        free(request->data);
        request->data = NULL;
        request->capacity = 0;
    }
    if (arena_used(exchange->arena) > REST_KEPT_BYTES_MAX) {
        arena_destroy(exchange->arena);
        exchange->arena = NULL;
    } else {
        arena_reset(exchange->arena);
    }
    request->next = rest->idle;
    rest->idle = request;
}

void rest_request_free(struct request *request)
{
    arena_destroy(request->exchange.arena);
    free(request->data);
    free(request);
}

/* ---- Answers. ---- */

static void send_reply(struct request *request, const char *type)
{
    struct exchange *exchange = &request->exchange;
    struct rest *rest = request->rest;
    struct http1_answer answer = { .code = exchange->http,
                                   .type = type,
                                   .headers = rest->server->cors ? CORS_HEADERS : NULL,
                                   .body = exchange->reply,
                                   .close = rest->draining };
    exchange->reply = (struct buffer){ 0 };
    request->state = REQUEST_DONE;
    http1_answer(request->connection, &answer);
}

static void send_preflight(struct request *request)
{
    request->exchange.http = request->from_web ? 200 : 400;
    send_reply(request, NULL);
}

static void send_foreign_path(struct request *request)
{
    static const char page[] = "<html><head><title>404 Not Found</title></head>"
                               "<body><h1>404 Not Found</h1></body></html>\n";
    struct http1_answer answer = { .code = 404,
                                   .type = "text/html",
                                   .close = request->rest->draining };
    buffer_append_text(&answer.body, page);
    request->state = REQUEST_DONE;
    http1_answer(request->connection, &answer);
}

/* ---- Handling. ---- */

static void call_done(struct inference_call *call, struct status status)
{
    struct request *request = (struct request *)exchange_of(call);
    if (!status_is_ok(status))
        exchange_fail(&request->exchange, status);
    send_reply(request, "application/json");
}

/* A client that left before is remembered. */
static void call_to_pool(struct inference_call *call)
{
    struct request *request = (struct request *)exchange_of(call);
    request->state = REQUEST_IN_POOL;
    if (request->left)
        inference_leave(call);
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

/* Tensors take a multiple of the text: a large body gets a larger arena, and pays for it. */
static struct status size_arena(struct request *request)
{
    if (request->size <= REST_KEPT_BYTES_MAX)
        return status_ok();
    TRY(exchange_take_memory(&request->exchange, request->size * 4));
    arena_destroy(request->exchange.arena); /* it holds nothing yet */
    request->exchange.arena = arena_create(ARENA_BYTES + request->size * ARENA_BODY_FACTOR);
    request->exchange.call.arena = request->exchange.arena;
    return status_ok();
}

/* In the loop's thread, or in the pool. */
static struct status handle(struct request *request)
{
    struct exchange *exchange = &request->exchange;
    const struct route *route;
    TRY(rest_body_finish(request));
    TRY(size_arena(request));
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

void rest_on_whole(void *context)
{
    struct request *request = context;
    struct exchange *exchange = &request->exchange;
    request->rest->reading--;
    request->state = REQUEST_DONE;
    if (strncasecmp(exchange->url, "/v1/", 4) != 0) {
        send_foreign_path(request);
        return;
    }
    if (strcmp(exchange->method, "OPTIONS") == 0) {
        send_preflight(request);
        return;
    }
    if (request->too_large || !begin_call(request))
        send_reply(request, "application/json");
}

static bool contains(struct bytes bytes, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= bytes.size; i++)
        if (strncasecmp(bytes.data + i, word, size) == 0)
            return true;
    return false;
}

/* Both as strings, which live as long as the request. */
static void copy_line(struct request *request, const struct http1_head *head)
{
    struct exchange *exchange = &request->exchange;
    size_t method_size = head->method.size, url_size = head->target.size;
    request->line = xrealloc(NULL, method_size + url_size + 2);
    char *url = request->line + method_size + 1;
    memcpy(request->line, head->method.data, method_size);
    memcpy(url, head->target.data, url_size);
    request->line[method_size] = url[url_size] = '\0';
    exchange->method = request->line;
    exchange->url = url;
}

void *rest_on_begin(void *context, struct http1_connection *connection,
                    const struct http1_head *head)
{
    struct request *request = request_begin(context);
    request->connection = connection;
    request->gzip = contains(head->content_encoding, "gzip");
    request->from_web = contains(head->origin, "http://") || contains(head->origin, "https://");
    copy_line(request, head);
    rest_body_expect(request, head->length);
    return request;
}

void rest_on_body(void *context, struct bytes data)
{
    rest_body_append(context, data.data, data.size);
}

void rest_on_left(void *context)
{
    struct request *request = context;
    request->left = true;
    if (request->state == REQUEST_IN_POOL)
        inference_leave(&request->exchange.call);
}

void rest_on_end(void *context)
{
    struct request *request = context;
    if (request->state == REQUEST_RUNNING) /* the server ends */
        inference_forget(request->rest->server->inference, &request->exchange.call);
    request_end(request);
}
