/* Handles the stream of a call: its reply, its end, and the loss of its connection. */
#include <stdio.h>
#include <stdlib.h>

#include "rpc/grpc_headers.h"
#include "rpc/remote_internal.h"

#define ATTEMPTS_MAX  5
#define ERROR_REFUSED 0x7 /* HTTP/2's REFUSED_STREAM: the server has not processed it */

static struct remote_call *of_stream(struct http2_stream *stream)
{
    return (struct remote_call *)stream;
}

/* ---- the end ---- */

/* The status in the trailers, or the lack of one. */
static struct status outcome(const struct remote_call *call)
{
    if (call->has_code)
        return (struct status){ call->code, call->text.data == NULL ? "" : call->text.data };
    if (call->http_status != 200)
        return status_error(grpc_status_of_http(call->http_status),
                            "HTTP status %d without grpc-status", call->http_status);
    if (!call->is_grpc)
        return status_error(STATUS_UNKNOWN, "the answer is not application/grpc");
    return status_error(STATUS_INTERNAL, "the stream ended without grpc-status");
}

static void ended(struct http2_stream *stream)
{
    struct remote_call *call = of_stream(stream);
    struct status status = outcome(call);

    if (status_is_ok(status) && call->state != REMOTE_CALL_REPLIED && call->received == NULL)
        status = status_error(STATUS_INTERNAL, "no message in the reply of %s", call->path);
    struct message reply = message_move(&call->reply);
    if (!status_is_ok(status))
        message_release(&reply);
    remote_call_finish(call, status, &reply);
}

static void failed(struct http2_stream *stream, struct status status)
{
    remote_call_finish(of_stream(stream), status, NULL);
}

static const char *reset_text(uint32_t error)
{
    static const char *const names[] = {
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    };

    return error < COUNT(names) ? names[error] : "an unknown error";
}

/* nghttp2 also resets the streams that a GOAWAY leaves out, whatever its error. */
static struct status why_reset(struct http2 *http2, uint32_t error)
{
    const struct remote_connection *connection = http2_context(http2);
    enum status_code code = grpc_status_of_reset(error);

    if (error == ERROR_REFUSED && connection->away_text[0] != '\0')
        return status_error(code, "the server ended the connection: %s", connection->away_text);
    return status_error(code, "the server reset the stream: %s", reset_text(error));
}

static void closed(struct http2_stream *stream, uint32_t error)
{
    struct remote_call *call = of_stream(stream);
    struct http2 *http2 = stream->http2;

    if (call->request != NULL && call->request->references > 1)
        http2_detach_frame(http2, call->request);
    stream->http2 = NULL;
    if (call->state == REMOTE_CALL_FINISHED) {
        remote_call_drop(call); /* the stream's */
        return;
    }
    remote_call_acquire(call);
    remote_call_drop(call);
    if (error == ERROR_REFUSED && call->state == REMOTE_CALL_SUBMITTED &&
        call->attempts < ATTEMPTS_MAX && !call->remote->closing) {
        grpc_frame_rewind(call->request);
        remote_call_wait(call);
        remote_submit_waiting(call->remote);
    } else if (error == HTTP2_LOST) {
        struct status why = http2_failure(http2);
        remote_call_finish(
            call, status_error(STATUS_UNAVAILABLE, "%s: %s", call->remote->text, why.message),
            NULL);
    } else {
        remote_call_finish(call, why_reset(http2, error), NULL);
    }
    remote_call_drop(call);
}

/* ---- the reply ---- */

static bool is(struct bytes name, const char *text)
{
    return bytes_equal(name, bytes_of(text));
}

static void header(struct http2_stream *stream, struct bytes name, struct bytes value)
{
    struct remote_call *call = of_stream(stream);

    if (is(name, ":status")) {
        call->http_status = is(value, "200") ? 200 : (int)strtol(value.data, NULL, 10);
    } else if (is(name, "content-type")) {
        call->is_grpc = is_grpc_content_type(value);
    } else if (is(name, "grpc-status")) {
        call->has_code = true;
        call->code = grpc_status_parse(value);
    } else if (is(name, "grpc-message")) {
        call->text.size = 0;
        grpc_message_decode(value, &call->text);
        buffer_append_char(&call->text, 0);
    } else {
        metadata_add(&call->metadata, name.data, value.data);
    }
}

static void headers(struct http2_stream *stream)
{
    struct remote_call *call = of_stream(stream);

    if (call->state != REMOTE_CALL_SUBMITTED || call->http_status < 200)
        return; /* trailers, or an interim answer */
    remote_call_enter(call, REMOTE_CALL_ANSWERED);
    if (call->http_status != 200 || !call->is_grpc)
        stream->wants = HTTP2_WANTS_END; /* its body holds no message */
}

static void on_message(struct http2_stream *stream, struct message *message)
{
    struct remote_call *call = of_stream(stream);

    if (call->received != NULL) {
        remote_call_acquire(call);
        call->received(call->context, message);
        message_release(message);
        remote_call_drop(call);
    } else if (call->state == REMOTE_CALL_ANSWERED) {
        remote_call_enter(call, REMOTE_CALL_REPLIED);
        call->reply = message_move(message);
    } else {
        message_release(message);
        remote_call_finish(
            call,
            status_error(STATUS_INTERNAL, "more than one message in the reply of %s", call->path),
            NULL);
    }
}

static void ready(struct http2 *http2)
{
    remote_connection_ready(http2_context(http2));
}

static void pinged(struct http2 *http2)
{
    struct remote *remote = ((struct remote_connection *)http2_context(http2))->remote;

    pthread_mutex_lock(&remote->lock);
    if (remote->state.round_trip_ns == 0)
        remote->state.round_trip_ns = http2_round_trip_ns(http2);
    pthread_mutex_unlock(&remote->lock);
}

static void away(struct http2 *http2, const char *why)
{
    struct remote_connection *connection = http2_context(http2);

    snprintf(connection->away_text, sizeof connection->away_text, "%s", why);
    remote_connection_away(connection);
}

static void lost(struct http2 *http2, struct status why)
{
    remote_connection_lost(http2_context(http2), why);
}

const struct http2_side remote_side = {
    .server = false,
    .header = header,
    .headers = headers,
    .message = on_message,
    .failed = failed,
    .ended = ended,
    .closed = closed,
    .ready = ready,
    .pinged = pinged,
    .away = away,
    .lost = lost,
};
