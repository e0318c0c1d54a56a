/*
 * The request's side of a call: headers, messages, the start of the method. The life of a call:
 *
 *     AWAITS_HEADERS          the request's headers are not complete
 *       |        |
 *       v        | a METHOD_STREAM runs from its headers on, and gets the messages one by one
 *     AWAITS_MESSAGE
 *       |        |
 *       v        |
 *     AWAITS_END |            the one message is here, the end of the stream is not
 *       |    |   |
 *       |    v   |
 *       |  PARKED|            the peer must first read the replies to its earlier calls
 *       |    |   |
 *       v    v   v
 *     RUNNING                 the method has the call
 *       |    |
 *       |    v
 *       |  REPLYING           the reply's headers are sent, messages may follow
 *       |    |
 *       v    v
 *     DETACHED                answered or closed, but the method still has the call
 *       |
 *       v
 *     ENDED                   the method has finished, or was never run
 *
 * A call that fails or closes before its method runs goes straight to ENDED.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "rpc/grpc_headers.h"
#include "rpc/message_inflate.h"
#include "rpc/server_internal.h"

/* A METHOD_STREAM gets no further message while this much of its replies is not taken. */
#define UNSENT_HIGH ((size_t)1 << 20)

/* The messages that may wait meanwhile. Empty ones take none of the memory that limits how much a
 * client may send. */
#define WAITING_MAX 1000

#define IDLE_MAX 256

const unsigned server_call_allowed[] = {
    [CALL_AWAITS_HEADERS] = STATE(CALL_AWAITS_MESSAGE) | STATE(CALL_RUNNING) | STATE(CALL_ENDED),
    [CALL_AWAITS_MESSAGE] = STATE(CALL_AWAITS_END) | STATE(CALL_ENDED),
    [CALL_AWAITS_END] = STATE(CALL_PARKED) | STATE(CALL_RUNNING) | STATE(CALL_ENDED),
    [CALL_PARKED] = STATE(CALL_RUNNING) | STATE(CALL_ENDED),
    [CALL_RUNNING] = STATE(CALL_REPLYING) | STATE(CALL_DETACHED),
    [CALL_REPLYING] = STATE(CALL_DETACHED),
    [CALL_DETACHED] = STATE(CALL_ENDED),
    [CALL_ENDED] = 0,
};

static struct server_call *of_stream(struct http2_stream *stream)
{
    return (struct server_call *)stream;
}

void server_call_free(struct server_call *call)
{
    mailbox_release(call->mailbox);
    pthread_mutex_destroy(&call->lock);
    free(call);
}

/* Keeps the struct for another call. If the server is gone, this may be another thread: frees it.
 */
static void keep(struct server_call *call)
{
    struct rpc_server *server = call->server;

    if (!mailbox_is_mine(call->mailbox) || server->idle_count == IDLE_MAX) {
        server_call_free(call);
        return;
    }
    call->next_idle = server->idle;
    server->idle = call;
    server->idle_count++;
}

void server_call_release(struct server_call *call)
{
    assert(call->references > 0);
    if (--call->references > 0)
        return;
    assert(call->state == CALL_ENDED && call->stream.http2 == NULL);
    message_release(&call->request);
    while (call->waiting != NULL) {
        struct waiting_message *next = call->waiting->next;
        message_release(&call->waiting->message);
        free(call->waiting);
        call->waiting = next;
    }
    metadata_finish(&call->metadata);
    metadata_finish(&call->trailers);
    buffer_finish(&call->text);
    free(call->path);
    free(call->authorization);
    free(call->end);
    keep(call);
}

/* Tells the method that the call is cancelled. */
static void tell_cancelled(struct server_call *call)
{
    assert(!server_call_is_open(call));
    if (server_call_is_over(call))
        return;
    pthread_mutex_lock(&call->lock);
    call->ended = true;
    void (*cancelled)(void *, struct call *) = call->when_cancelled;
    call->when_cancelled = NULL;
    pthread_mutex_unlock(&call->lock);
    if (cancelled != NULL)
        cancelled(call->cancelled_context, &call->call);
    server_call_sent(call);
}

/* ---- running the method ---- */

static void on_deadline(void *context)
{
    struct server_call *call = context;

    call->references++; /* its stream may close within this call */
    server_call_end(call, status_error(STATUS_DEADLINE_EXCEEDED, "deadline exceeded"), NULL);
    tell_cancelled(call);
    server_call_release(call);
}

static void run(struct server_call *call)
{
    struct message request = message_move(&call->request);

    server_call_enter(call, CALL_RUNNING);
    call->references++; /* the method's, until it finishes */
    call->entry->method->handle(call->entry->instance, &call->call, &request);
}

/* Queues the call if its peer does not read the replies it asked for; false: it does. */
static bool park(struct server_call *call)
{
    struct server_connection *connection = call->connection;

    if (!http2_is_congested(connection->http2))
        return false;
    server_call_enter(call, CALL_PARKED);
    call->next_parked = NULL;
    *connection->parked_end = call;
    connection->parked_end = &call->next_parked;
    return true;
}

static void unpark(struct server_call *call)
{
    struct server_connection *connection = call->connection;
    struct server_call **at = &connection->parked;

    assert(call->state == CALL_PARKED);
    while (*at != call)
        at = &(*at)->next_parked;
    *at = call->next_parked;
    if (*at == NULL)
        connection->parked_end = at;
}

static void eased(struct http2 *http2)
{
    struct server_connection *connection = http2_context(http2);

    while (connection->parked != NULL && !http2_is_congested(http2)) {
        struct server_call *call = connection->parked;
        unpark(call);
        run(call);
    }
}

void server_call_detach(struct server_call *call)
{
    if (call->state == CALL_PARKED)
        unpark(call);
    server_call_enter(call, call->state < CALL_RUNNING ? CALL_ENDED : CALL_DETACHED);
}

static bool is_stream(const struct server_call *call)
{
    return call->entry != NULL && call->entry->method->kind == METHOD_STREAM;
}

/* ---- the request's headers ---- */

static struct server_call *take(struct rpc_server *server)
{
    struct server_call *call = server->idle;

    if (call != NULL) {
        server->idle = call->next_idle;
        server->idle_count--;
        memset(call, 0, offsetof(struct server_call, mailbox));
        return call;
    }
    call = zalloc(sizeof *call);
    call->server = server;
    call->mailbox = mailbox_acquire(server->mailbox);
    pthread_mutex_init(&call->lock, NULL);
    return call;
}

static struct http2_stream *opened(struct http2 *http2)
{
    struct server_connection *connection = http2_context(http2);
    struct server_call *call = take(connection->server);

    call->connection = connection;
    call->references = 1;
    call->call = (struct call){ .type = &server_call_type, .deadline_ns = CLOCK_NEVER };
    call->timeout_ns = -1;
    call->deadline = (struct loop_timer){ .expired = on_deadline, .context = call };
    return &call->stream;
}

static bool is(struct bytes name, const char *text)
{
    return bytes_equal(name, bytes_of(text));
}

static void wrong(struct server_call *call, enum status_code code, const char *what)
{
    if (call->wrong != NULL)
        return;
    call->wrong_code = code;
    call->wrong = what;
}

static const struct method_entry *find_method(struct rpc_server *server, struct bytes path)
{
    if (server->last == NULL || !is(path, server->last->method->path))
        server->last = map_get(&server->methods, path);
    return server->last;
}

/* Takes the same time whatever differs, so that a secret cannot be guessed byte by byte. */
static bool is_secret(struct bytes value, const char *token)
{
    size_t scheme = strlen(RPC_TOKEN_SCHEME), size = strlen(token);
    unsigned different = 0;

    if (value.size != scheme + size || memcmp(value.data, RPC_TOKEN_SCHEME, scheme) != 0)
        return false;
    for (size_t i = 0; i < size; i++)
        different |= (unsigned)(unsigned char)value.data[scheme + i] ^ (unsigned char)token[i];
    return different == 0;
}

static void header(struct http2_stream *stream, struct bytes name, struct bytes value)
{
    struct server_call *call = of_stream(stream);

    if (call->state != CALL_AWAITS_HEADERS)
        return; /* trailers, which gRPC clients do not send */
    if (is(name, ":path")) {
        call->entry = find_method(call->connection->server, value);
        if (call->entry == NULL)
            call->path = xstrdup(value.data);
    } else if (is(name, ":method")) {
        call->is_post = is(value, "POST");
        call->is_head = is(value, "HEAD");
    } else if (is(name, "content-type")) {
        call->is_grpc = is_grpc_content_type(value);
    } else if (is(name, "grpc-timeout")) {
        if (!grpc_timeout_parse(value, &call->timeout_ns))
            wrong(call, STATUS_INVALID_ARGUMENT, "malformed grpc-timeout");
    } else if (is(name, "grpc-encoding")) {
        call->is_encoded = !is(value, "identity");
        if (!message_inflate_knows(value))
            wrong(call, STATUS_UNIMPLEMENTED, "grpc-encoding is none of " MESSAGE_ENCODINGS);
    } else if (is(name, "authorization") && call->connection->server->options.token != NULL) {
        call->has_token = true;
        call->is_trusted = is_secret(value, call->connection->server->options.token);
    } else if (is(name, "authorization") && call->connection->server->options.authorize != NULL) {
        free(call->authorization);
        call->authorization = xstrdup(value.data);
    } else if (name.data[0] != ':' && !is(name, "te")) {
        metadata_add(&call->metadata, name.data, value.data);
    }
}

static struct status authorize(const struct server_call *call)
{
    const struct rpc_server_options *options = &call->connection->server->options;
    const char *path = call->entry != NULL ? call->entry->method->path : call->path;
    if (options->authorize == NULL)
        return status_ok();
    return options->authorize(options->authorize_context, path != NULL ? path : "",
                              call->authorization);
}

/* Checks the request's headers. */
static struct status check_headers(struct server_call *call)
{
    TRY(authorize(call));
    if (call->connection->server->options.token != NULL && !call->is_trusted)
        return status_error(STATUS_UNAUTHENTICATED,
                            call->has_token ? "the caller has another token than this server"
                                            : "the caller has no token, and this server wants one");
    if (call->entry == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "unknown method %s", call->path);
    if (call->wrong != NULL)
        return status_error(call->wrong_code, "%s", call->wrong);
    return status_ok();
}

static void headers(struct http2_stream *stream)
{
    struct server_call *call = of_stream(stream);
    struct rpc_server *server = call->connection->server;

    if (call->state != CALL_AWAITS_HEADERS)
        return;
    if (!call->is_post || !call->is_grpc) {
        stream->wants = HTTP2_WANTS_END; /* which refuses it */
        return;
    }
    struct status status = check_headers(call);
    if (!status_is_ok(status)) {
        stream->wants = HTTP2_WANTS_NOTHING;
        server_call_end(call, status, NULL);
        return;
    }
    stream->reader.payload = call->entry->method->payload;
    stream->reader.encoded = call->is_encoded;
    stream->reader.packed = call->entry->method->kind == METHOD_PACKED;
    stream->reader.may_stay = !is_stream(call);
    stream->patient = is_stream(call);
    if (call->timeout_ns >= 0) {
        int64_t now_ns = clock_now_ns(clock_monotonic());
        call->call.deadline_ns =
            call->timeout_ns > CLOCK_NEVER - now_ns ? CLOCK_NEVER : now_ns + call->timeout_ns;
        loop_set_timer(server->loop, &call->deadline, call->call.deadline_ns);
    }
    if (is_stream(call))
        run(call);
    else
        server_call_enter(call, CALL_AWAITS_MESSAGE);
}

/* ---- its messages ---- */

static bool has_room(struct server_call *call)
{
    return call->stream.unsent <= UNSENT_HIGH && !http2_is_congested(call->connection->http2);
}

static void hand_over(struct server_call *call, struct message *message)
{
    if (!server_call_is_open(call) || call->receive == NULL)
        return;
    call->receive(call->receive_context, &call->call, message);
}

/* Passes waiting messages on while there is room. */
static void deliver_waiting(struct server_call *call)
{
    call->references++;
    while (call->waiting != NULL && call->stream.http2 != NULL && has_room(call)) {
        struct waiting_message *first = call->waiting;
        call->waiting = first->next;
        call->waiting_count--;
        http2_let_go_for(&call->stream, sizeof *first);
        hand_over(call, &first->message);
        message_release(&first->message);
        free(first);
    }
    if (call->waiting == NULL && call->stream.http2 != NULL && call->stream.ended &&
        !call->end_delivered) {
        call->end_delivered = true;
        hand_over(call, NULL);
    }
    server_call_release(call);
}

static struct status queue_message(struct server_call *call, struct message *message)
{
    if (call->waiting_count == WAITING_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "%d messages wait until the client reads the replies to earlier ones",
                            WAITING_MAX);
    if (!http2_hold_for(&call->stream, sizeof(struct waiting_message)))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for another message");
    struct waiting_message *waiting = zalloc(sizeof *waiting);
    waiting->message = message_move(message);
    if (call->waiting == NULL)
        call->waiting = waiting;
    else
        call->waiting_last->next = waiting;
    call->waiting_last = waiting;
    call->waiting_count++;
    return status_ok();
}

static void failed(struct http2_stream *stream, struct status status)
{
    struct server_call *call = of_stream(stream);

    call->references++;
    if (server_call_is_open(call))
        server_call_end(call, status, NULL);
    tell_cancelled(call);
    server_call_release(call);
}

static void on_message(struct http2_stream *stream, struct message *message)
{
    struct server_call *call = of_stream(stream);
    struct status status;

    switch (call->state) {
    case CALL_AWAITS_MESSAGE:
        server_call_enter(call, CALL_AWAITS_END);
        call->request = message_move(message);
        return;
    case CALL_RUNNING:
    case CALL_REPLYING:
        status = queue_message(call, message);
        if (status_is_ok(status)) {
            deliver_waiting(call);
            return;
        }
        stream->wants = HTTP2_WANTS_NOTHING;
        failed(stream, status);
        break;
    case CALL_AWAITS_END:
        message_release(&call->request);
        stream->wants = HTTP2_WANTS_NOTHING;
        server_call_end(call,
                        status_error(STATUS_INTERNAL, "more than one message for %s",
                                     call->entry->method->path),
                        NULL);
        break;
    default: /* answered, perhaps at its deadline, before all messages came */
        break;
    }
    message_release(message);
}

static void ended(struct http2_stream *stream)
{
    struct server_call *call = of_stream(stream);

    switch (call->state) {
    case CALL_AWAITS_HEADERS:
        server_call_refuse(call);
        break;
    case CALL_AWAITS_MESSAGE:
        server_call_end(
            call, status_error(STATUS_INTERNAL, "no message for %s", call->entry->method->path),
            NULL);
        break;
    case CALL_AWAITS_END:
        if (!park(call))
            run(call);
        break;
    case CALL_RUNNING:
    case CALL_REPLYING:
        deliver_waiting(call);
        break;
    default: /* already answered */
        break;
    }
}

static void closed(struct http2_stream *stream, uint32_t error)
{
    struct server_call *call = of_stream(stream);
    (void)error;

    loop_clear_timer(call->connection->server->loop, &call->deadline);
    if (server_call_is_open(call))
        server_call_detach(call);
    stream->http2 = NULL;
    tell_cancelled(call);
    call->connection = NULL;
    server_call_release(call);
}

static void sent(struct http2_stream *stream)
{
    struct server_call *call = of_stream(stream);

    server_call_sent(call);
    if (call->waiting != NULL && stream->http2 != NULL)
        deliver_waiting(call);
}

static void foreign(struct http2 *http2, struct buffer *answer)
{
    const struct server_connection *connection = http2_context(http2);
    const char *hint = connection->server->options.http1_hint;
    bool has_hint = hint != NULL && hint[0] != '\0';
    struct buffer text = { 0 };

    buffer_printf(&text, "This port serves gRPC, over HTTP/2.%s%s\n", has_hint ? " " : "",
                  has_hint ? hint : "");
    buffer_printf(answer,
                  "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                  text.size);
    buffer_append(answer, text.data, text.size);
    buffer_finish(&text);
}

static void lost(struct http2 *http2, struct status why)
{
    (void)why;
    server_connection_lost(http2_context(http2));
}

const struct http2_side server_side = {
    .server = true,
    .opened = opened,
    .header = header,
    .headers = headers,
    .message = on_message,
    .failed = failed,
    .ended = ended,
    .sent = sent,
    .closed = closed,
    .foreign = foreign,
    .eased = eased,
    .lost = lost,
};
