/*
 * A connection and its streams: how they begin, and how they end. The life of a connection:
 *
 *     HANDSHAKE ---> GREETING ---> READY
 *         |             |            |
 *         +-------------+------------+
 *                       v
 *                    FAILED ---> CLOSED
 *
 *     HANDSHAKE   the transport's own: TLS's, or none
 *     GREETING    bytes are exchanged, the peer's SETTINGS are not here
 *     READY
 *     FAILED      nothing is read or written any more; the side learns it at the end of the round
 *     CLOSED      the streams are closed, the side has been told
 */
#include "rpc/http2_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/states.h"
#include "rpc/session_memory.h"

#define WINDOW_MAX INT32_MAX

static const unsigned allowed[] = {
    [HTTP2_HANDSHAKE] = STATE(HTTP2_GREETING) | STATE(HTTP2_FAILED),
    [HTTP2_GREETING] = STATE(HTTP2_READY) | STATE(HTTP2_FAILED),
    [HTTP2_READY] = STATE(HTTP2_FAILED),
    [HTTP2_FAILED] = STATE(HTTP2_CLOSED),
    [HTTP2_CLOSED] = 0,
};

void http2_enter(struct http2 *http2, enum http2_state state)
{
    http2->state = state_next(allowed, http2->state, state);
}

/* ---- memory of a connection, its streams and their headers ---- */

#define CONNECTION_BYTES ((size_t)32 << 10) /* the session, its header tables, small output */
#define STREAM_BYTES     ((size_t)2 << 10)  /* nghttp2's stream and the side's call */
/* charged to the budget in steps, so that a call touches no shared counter */
#define STEP_BYTES       ((size_t)64 << 10)

/* Counts memory other than messages that the peer makes us use. Returns false if the budget is
 * exhausted. */
static bool hold(struct http2 *http2, size_t bytes)
{
    struct budget *budget = http2->options.limits->budget;

    if (budget != NULL && http2->held + bytes > http2->paid) {
        size_t more =
            (http2->held + bytes - http2->paid + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
        if (!status_is_ok(budget_take_reserved(budget, (int64_t)more)))
            return false;
        http2->paid += more;
    }
    http2->held += bytes;
    return true;
}

static void let_go(struct http2 *http2, size_t bytes)
{
    struct budget *budget = http2->options.limits->budget;

    assert(http2->held >= bytes);
    http2->held -= bytes;
    if (budget == NULL || http2->paid - http2->held < 4 * STEP_BYTES)
        return;
    size_t less = (http2->paid - http2->held) / STEP_BYTES * STEP_BYTES - STEP_BYTES;
    budget_give(budget, (int64_t)less);
    http2->paid -= less;
}

bool http2_hold_for(struct http2_stream *stream, size_t bytes)
{
    if (!hold(stream->http2, bytes))
        return false;
    stream->held += bytes;
    return true;
}

void http2_let_go_for(struct http2_stream *stream, size_t bytes)
{
    assert(stream->held >= bytes);
    stream->held -= bytes;
    let_go(stream->http2, bytes);
}

/* ---- life and end ---- */

void http2_defer(struct http2 *http2)
{
    if (http2->flush_deferred)
        return;
    http2->flush_deferred = true;
    loop_defer(http2->options.loop, &http2->flush);
}

void http2_fail(struct http2 *http2, struct status why)
{
    if (http2_is_over(http2))
        return;
    http2->failed_state = http2->state;
    http2_enter(http2, HTTP2_FAILED);
    http2->why_code = why.code;
    http2->why = xstrdup(why.message);
    http2_defer(http2);
}

void http2_io_failed(struct http2 *http2, const char *what)
{
    const struct transport *transport = http2->transport;
    int error = errno;

    /* Under TLS 1.3 a server that refuses our certificate reports it after our side of the
     * handshake is done, as its first message. */
    if (error == EPROTO && transport->type->trouble != NULL)
        http2_fail(http2, status_error(http2->state == HTTP2_READY ? STATUS_UNAVAILABLE
                                                                   : STATUS_UNAUTHENTICATED,
                                       "connection lost: %s", transport->type->trouble(transport)));
    else
        http2_fail(http2, status_in(status_errno(error, "%s", what), "connection lost"));
}

struct status http2_failure(const struct http2 *http2)
{
    return (struct status){ http2->why_code, http2->why == NULL ? "" : http2->why };
}

void http2_drop_stream(struct http2_stream *stream, uint32_t error)
{
    struct http2 *http2 = stream->http2;

    list_remove(&stream->link);
    if (--http2->streams_count == 0)
        http2->idle_since_ns = loop_now_ns(http2->options.loop);
    if (http2->data_stream == stream)
        http2->data_stream = NULL;
    if (http2->recent == stream)
        http2->recent = NULL;
    assert(http2->unfinished >= grpc_frame_reader_unfinished(&stream->reader));
    http2->unfinished -= grpc_frame_reader_unfinished(&stream->reader);
    grpc_frame_reader_finish(&stream->reader);
    http2_drop_queue(stream);
    let_go(http2, stream->held);
    assert(http2->streams_count > 0 || (http2->unfinished == 0 && http2->unsent == 0));
    http2->options.side->closed(stream, error);
}

/* Neither side reads or writes them any more. */
static void drop_streams(struct http2 *http2)
{
    while (http2->streams != NULL) {
        struct http2_stream *stream = CONTAINER_OF(http2->streams, struct http2_stream, link);
        if (http2->session != NULL)
            nghttp2_session_set_stream_user_data(http2->session, stream->id, NULL);
        http2_drop_stream(stream, HTTP2_LOST);
    }
}

static void end_of_round(struct loop_task *task)
{
    struct http2 *http2 = CONTAINER_OF(task, struct http2, flush);

    http2->flush_deferred = false;
    if (!http2_is_over(http2))
        http2_flush(http2);
    if (http2->state != HTTP2_FAILED)
        return;
    http2_enter(http2, HTTP2_CLOSED);
    loop_unwatch(http2->options.loop, http2->watch);
    http2->watch = NULL;
    loop_clear_timer(http2->options.loop, &http2->timer);
    loop_clear_timer(http2->options.loop, &http2->rest);
    drop_streams(http2);
    http2->options.side->lost(http2, http2_failure(http2));
}

void http2_destroy(struct http2 *http2)
{
    if (http2 == NULL)
        return;
    struct loop *loop = http2->options.loop;
    http2_fail(http2, status_error(STATUS_UNAVAILABLE, "the connection was closed"));
    if (http2->state == HTTP2_FAILED)
        http2_enter(http2, HTTP2_CLOSED);
    drop_streams(http2);
    loop_undefer(loop, &http2->flush);
    loop_clear_timer(loop, &http2->timer);
    loop_clear_timer(loop, &http2->rest);
    loop_unwatch(loop, http2->watch);
    nghttp2_session_del(http2->session);
    write_queue_finish(&http2->write_queue);
    if (http2->transport != NULL)
        http2->transport->type->close(http2->transport);
    if (http2->buffers != NULL)
        message_buffers_close(http2->buffers);
    if (http2->paid > 0)
        budget_give(http2->options.limits->budget, (int64_t)http2->paid);
    free(http2->nvs);
    free(http2->why);
    free(http2);
}

/* ---- the beginning ---- */

static void advance_handshake(struct http2 *http2)
{
    enum transport_wants wants;
    struct status status = http2->transport->type->handshake(http2->transport, &wants);

    if (!status_is_ok(status)) {
        http2_fail(http2, status);
        return;
    }
    if (wants == TRANSPORT_DONE) { /* a server next reads the client's preface */
        http2_enter(http2, HTTP2_GREETING);
        http2_read_rest_soon(http2); /* it may have come with the end of the handshake */
    }
    uint32_t events = wants == TRANSPORT_WANTS_WRITE ? EPOLLOUT : EPOLLIN;
    if (events != http2->watched) {
        http2->watched = events;
        status = loop_rewatch(http2->options.loop, http2->watch, events);
        if (!status_is_ok(status))
            http2_fail(http2, status);
    }
}

static void on_ready(void *context, uint32_t events)
{
    struct http2 *http2 = context;

    if (http2_is_over(http2))
        return;
    if (http2->state == HTTP2_HANDSHAKE)
        advance_handshake(http2);
    if (http2->state != HTTP2_HANDSHAKE && !http2_is_over(http2) &&
        (events & ~(uint32_t)EPOLLOUT) != 0)
        http2_read(http2);
    http2_defer(http2);
}

static void read_rest(void *context)
{
    struct http2 *http2 = context;

    if (!http2_is_over(http2))
        http2_read(http2);
    http2_defer(http2);
}

static void on_eased(void *context)
{
    struct http2 *http2 = context;

    http2_consume(http2);
    http2_defer(http2);
}

static struct status session_error(int error, const char *what)
{
    return status_error(STATUS_INTERNAL, "%s: %s", what, nghttp2_strerror(error));
}

static struct status submit_settings(struct http2 *http2)
{
    const struct http2_limits *limits = http2->options.limits;
    bool server = http2->options.side->server;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW_MAX },
        { NGHTTP2_SETTINGS_MAX_FRAME_SIZE, (uint32_t)limits->frame_max },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->metadata_max },
        { server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
          server ? (uint32_t)limits->streams_max : 0 },
    };
    int error = nghttp2_submit_settings(http2->session, 0, settings, COUNT(settings));
    size_t window = limits->held_max < WINDOW_MAX ? limits->held_max : WINDOW_MAX;

    if (error == 0)
        error = nghttp2_session_set_local_window_size(http2->session, 0, 0, (int32_t)window);
    return error == 0 ? status_ok() : session_error(error, "nghttp2 settings");
}

static struct status create_session(struct http2 *http2)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int error = nghttp2_session_callbacks_new(&callbacks);

    if (error == 0)
        error = nghttp2_option_new(&option);
    if (error == 0) {
        http2_set_read_callbacks(callbacks);
        http2_set_write_callbacks(callbacks);
        /* nghttp2_option_set_no_closed_streams and NO_RFC7540_PRIORITIES are not used: both make
         * nghttp2 forget closed streams and ignore frames for them, where HTTP/2 (and h2spec) wants
         * STREAM_CLOSED. They would save 3 % of a call's instructions. */
        nghttp2_option_set_no_auto_window_update(option, 1);
        nghttp2_option_set_max_send_header_block_length(option, HTTP2_FRAME_MAX);
        nghttp2_option_set_peer_max_concurrent_streams(option, INT32_MAX);
        nghttp2_mem memory = session_memory_functions(http2->options.memory);
        error =
            http2->options.side->server
                ? nghttp2_session_server_new3(&http2->session, callbacks, http2, option, &memory)
                : nghttp2_session_client_new3(&http2->session, callbacks, http2, option, &memory);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return error == 0 ? submit_settings(http2) : session_error(error, "nghttp2 session");
}

struct status http2_create(const struct http2_options *options, struct transport *transport,
                           struct http2 **out)
{
    struct status status;
    struct http2 *http2 = zalloc(sizeof *http2);

    http2->options = *options;
    http2->transport = transport;
    http2->flush.work = end_of_round;
    http2->rest = (struct loop_timer){ .expired = read_rest, .context = http2 };
    http2->first_byte = -1;
    http2->preface_left = options->side->server ? NGHTTP2_CLIENT_MAGIC_LEN : 0;
    http2->created_ns = loop_now_ns(options->loop);
    http2->received_ns = http2->written_ns = http2->idle_since_ns = http2->created_ns;
    http2->buffers = message_buffers_create(options->mailbox, on_eased, http2);
    if (options->limits->budget != NULL)
        message_buffers_charge(http2->buffers, options->limits->budget);
    if (!hold(http2, CONNECTION_BYTES)) {
        status = status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for another connection");
        goto fail;
    }
    TRY_OR(fail, create_session(http2));
    http2->watched = EPOLLIN;
    TRY_OR(fail, loop_watch(options->loop, transport->fd, EPOLLIN, on_ready, http2, &http2->watch));
    advance_handshake(http2);
    http2_guard_start(http2);
    http2_defer(http2);
    *out = http2;
    return status_ok();

fail:
    http2_destroy(http2);
    return status;
}

void *http2_context(const struct http2 *http2)
{
    return http2->options.context;
}

bool http2_passed_handshake(const struct http2 *http2)
{
    return (http2_is_over(http2) ? http2->failed_state : http2->state) > HTTP2_HANDSHAKE;
}

int http2_first_byte(const struct http2 *http2)
{
    return http2->first_byte;
}

int64_t http2_round_trip_ns(const struct http2 *http2)
{
    return http2->round_trip_ns;
}

/* ---- streams ---- */

void http2_add_stream(struct http2 *http2, struct http2_stream *stream)
{
    stream->http2 = http2;
    stream->reader.buffers = http2->buffers;
    stream->reader.message_max = http2->options.limits->message_max;
    stream->moved_ns = loop_now_ns(http2->options.loop);
    list_push(&http2->streams, &stream->link);
    http2->streams_count++;
}

struct http2_stream *http2_find(struct http2 *http2, int32_t id)
{
    if (http2->recent == NULL || http2->recent->id != id)
        http2->recent = nghttp2_session_get_stream_user_data(http2->session, id);
    return http2->recent;
}

struct http2_stream *http2_opened(struct http2 *http2, int32_t id)
{
    const struct http2_side *side = http2->options.side;
    struct http2_stream *stream;

    if (side->opened == NULL || !hold(http2, STREAM_BYTES))
        return NULL;
    stream = side->opened(http2);
    stream->held = STREAM_BYTES;
    stream->id = id;
    http2_add_stream(http2, stream);
    nghttp2_session_set_stream_user_data(http2->session, id, stream);
    return stream;
}

void http2_go_away(struct http2 *http2, bool at_once)
{
    int32_t last = nghttp2_session_get_last_proc_stream_id(http2->session);

    if (at_once && http2->preface_left > 0) /* it has no streams, and nothing may be written */
        http2_fail(http2, status_error(STATUS_UNAVAILABLE, "the server is going down"));
    else if (at_once)
        nghttp2_submit_goaway(http2->session, 0, last, NGHTTP2_NO_ERROR, NULL, 0);
    else
        nghttp2_submit_shutdown_notice(http2->session);
    http2_defer(http2);
}

void http2_ping(struct http2 *http2)
{
    if (http2->ping_sent || nghttp2_submit_ping(http2->session, 0, NULL) != 0)
        return;
    http2->ping_sent = true;
    http2->pinged_ns = clock_now_ns(clock_monotonic());
    http2_defer(http2);
}

void http2_feed(struct http2 *http2, struct bytes bytes)
{
    if (bytes.size == 0 || http2_is_over(http2))
        return;
    assert(http2->state == HTTP2_GREETING); /* nobody can have read bytes that TLS encrypts */
    http2_receive(http2, bytes.data, bytes.size);
}
