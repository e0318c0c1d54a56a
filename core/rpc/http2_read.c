#include "rpc/http2_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"

#define UNFINISHED_MORE 4

/* The most that one connection may read in a round before the others have their turn. Small
 * messages have a lower limit, so that they and their replies stay in L2: 64 calls of 3 KiB cost
 * 10 % less in several rounds than in one. */
#define ROUND_BYTES       ((size_t)8 << 20)
#define SMALL_ROUND_BYTES ((size_t)96 << 10)
#define SMALL_MAX         ((size_t)16 << 10)

/* Beyond this multiple of the limit, each header counts as a frame that serves no call, because one
 * byte can name a header of 4 KiB. */
#define METADATA_ABUSE 8

/* After a large message, a read only peeks at the next one, so that its bytes can be read to
 * their destination. */
#define LARGE_MIN    (SOCKET_BUFFER_BYTES / 2)
#define GLANCE_BYTES ((size_t)4 << 10)

/* Lets the peer send more, unless methods hold too much; on_eased is called when they no longer do.
 */
void http2_consume(struct http2 *http2)
{
    if (http2_is_over(http2) ||
        message_buffers_watch(http2->buffers, http2->options.limits->held_max))
        return;
    nghttp2_session_consume_connection(http2->session, http2->unconsumed);
    http2->unconsumed = 0;
}

static void count_consumed(struct http2 *http2, int32_t id, size_t size)
{
    struct http2_stream *stream = http2_find(http2, id);
    size_t held_max = http2->options.limits->held_max;
    size_t window = held_max < INT32_MAX ? held_max : INT32_MAX;

    http2->unconsumed += size;
    if (http2->unconsumed > window / 8)
        http2_consume(http2);
    if (stream == NULL)
        return;
    stream->unconsumed += size;
    if (stream->unconsumed > INT32_MAX / 8) {
        nghttp2_session_consume_stream(http2->session, id, stream->unconsumed);
        stream->unconsumed = 0;
    }
}

void http2_stop_listening(struct http2_stream *stream)
{
    stream->wants = HTTP2_WANTS_NOTHING;
    stream->http2->unfinished -= grpc_frame_reader_unfinished(&stream->reader);
    grpc_frame_reader_finish(&stream->reader);
}

static void fail_stream(struct http2_stream *stream, struct status status)
{
    http2_stop_listening(stream);
    stream->http2->options.side->failed(stream, status);
}

/* Incomplete messages may take as much as complete ones plus a few: an honest sender has many in
 * flight. */
static bool too_much_unfinished(const struct http2 *http2)
{
    const struct http2_limits *limits = http2->options.limits;

    return http2->unfinished > limits->held_max + UNFINISHED_MORE * limits->message_max;
}

/* Passes bytes of a stream's messages to its reader. */
static void feed_stream(struct http2_stream *stream, const char *data, size_t size)
{
    struct http2 *http2 = stream->http2;
    struct grpc_frame_reader *reader = &stream->reader;

    stream->moved_ns = loop_now_ns(http2->options.loop);
    reader->source = http2->read_into;
    while (size > 0 && stream->wants == HTTP2_WANTS_MESSAGES && stream->http2 != NULL) {
        size_t used, before = grpc_frame_reader_unfinished(reader);
        bool complete;
        struct status status = grpc_frame_reader_feed(reader, data, size, &used, &complete);
        http2->unfinished += grpc_frame_reader_unfinished(reader) - before;
        if (status_is_ok(status) && too_much_unfinished(http2))
            status = status_error(STATUS_RESOURCE_EXHAUSTED,
                                  "the connection holds %zu bytes of unfinished messages",
                                  http2->unfinished);
        if (!status_is_ok(status)) {
            fail_stream(stream, status);
            return;
        }
        data += used;
        size -= used;
        if (!complete)
            continue;
        assert(http2->unfinished >= grpc_frame_reader_unfinished(reader));
        http2->unfinished -= grpc_frame_reader_unfinished(reader);
        http2->last_size = reader->size;
        struct message message = grpc_frame_reader_take(reader);
        http2->options.side->message(stream, &message);
    }
}

/* ---- nghttp2's callbacks ---- */

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream;
    bool costs = false;
    (void)session;

    switch (hd->type) {
    case NGHTTP2_DATA:
        http2->data_stream = http2_find(http2, hd->stream_id);
        http2->data_left = hd->flags & NGHTTP2_FLAG_PADDED ? 0 : hd->length;
        costs = hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
        break;
    case NGHTTP2_HEADERS:
    case NGHTTP2_WINDOW_UPDATE: /* one for each reply that the peer reads: common and cheap */
    case NGHTTP2_GOAWAY:
        break;
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PING:
        costs = !(hd->flags & NGHTTP2_FLAG_ACK);
        break;
    case NGHTTP2_RST_STREAM: /* clients of gRPC stop a request that was answered before its end */
        stream = http2_find(http2, hd->stream_id);
        costs = stream == NULL || stream->answered_ns == 0;
        break;
    default:
        costs = true;
    }
    return costs && !http2_guard_frame(http2) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *http2 = context;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (http2_opened(http2, frame->hd.stream_id) != NULL)
        return 0;
    /* Usually no memory. gRPC clients take ENHANCE_YOUR_CALM for RESOURCE_EXHAUSTED. */
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                     NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Charges the memory that a side keeps of a header. */
static bool pay_for_header(struct http2_stream *stream, size_t size)
{
    stream->poor = stream->poor || !http2_hold_for(stream, size);
    return !stream->poor;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream = http2_find(http2, frame->hd.stream_id);
    (void)session;
    (void)flags;

    if (stream == NULL)
        return 0;
    size_t max = http2->options.limits->metadata_max;
    size_t header_size = name_size + value_size + 32; /* as HTTP/2 counts it */
    stream->metadata_size += header_size;
    if (stream->metadata_size / METADATA_ABUSE > max && !http2_guard_frame(http2))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (stream->wants == HTTP2_WANTS_MESSAGES && stream->metadata_size <= max &&
        pay_for_header(stream, header_size))
        http2->options.side->header(stream, (struct bytes){ (const char *)name, name_size },
                                    (struct bytes){ (const char *)value, value_size });
    return 0;
}

static void headers_received(struct http2_stream *stream)
{
    struct http2 *http2 = stream->http2;
    size_t max = http2->options.limits->metadata_max;

    if (stream->wants != HTTP2_WANTS_MESSAGES)
        return;
    if (stream->metadata_size > max)
        fail_stream(stream, status_error(STATUS_RESOURCE_EXHAUSTED,
                                         "metadata larger than max (%zu vs. %zu)",
                                         stream->metadata_size, max));
    else if (stream->poor)
        fail_stream(stream, status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for the headers"));
    else
        http2->options.side->headers(stream);
}

static void stream_ended(struct http2_stream *stream)
{
    stream->ended = true;
    if (stream->wants == HTTP2_WANTS_NOTHING)
        return;
    if (stream->wants == HTTP2_WANTS_MESSAGES &&
        (stream->reader.buffer != NULL || stream->reader.prefix_size > 0))
        fail_stream(stream, status_error(STATUS_INTERNAL, "the stream ended within a message"));
    else
        stream->http2->options.side->ended(stream);
}

static void ping_answered(struct http2 *http2)
{
    if (!http2->ping_sent)
        return;
    http2->ping_sent = false;
    http2->round_trip_ns = clock_now_ns(clock_monotonic()) - http2->pinged_ns;
    if (http2->options.side->pinged != NULL)
        http2->options.side->pinged(http2);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream;
    char why[128];
    (void)session;

    switch (frame->hd.type) {
    case NGHTTP2_DATA:
    case NGHTTP2_HEADERS:
        stream = http2_find(http2, frame->hd.stream_id);
        if (stream != NULL && frame->hd.type == NGHTTP2_HEADERS)
            headers_received(stream);
        stream = http2_find(http2, frame->hd.stream_id);
        if (stream != NULL && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
            stream_ended(stream);
        break;
    case NGHTTP2_SETTINGS:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK) && http2->state == HTTP2_GREETING) {
            http2_enter(http2, HTTP2_READY);
            if (http2->options.side->ready != NULL)
                http2->options.side->ready(http2);
        }
        break;
    case NGHTTP2_PING:
        if (frame->hd.flags & NGHTTP2_FLAG_ACK)
            ping_answered(http2);
        break;
    case NGHTTP2_GOAWAY:
        if (http2->options.side->away == NULL)
            break;
        snprintf(why, sizeof why, "%s%s%.*s", nghttp2_http2_strerror(frame->goaway.error_code),
                 frame->goaway.opaque_data_len > 0 ? ": " : "",
                 frame->goaway.opaque_data_len < 64 ? (int)frame->goaway.opaque_data_len : 64,
                 (const char *)frame->goaway.opaque_data);
        http2->options.side->away(http2, why);
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t size, void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream = http2_find(http2, id);
    (void)session;
    (void)flags;

    http2->data_left -= size < http2->data_left ? size : http2->data_left;
    if (stream != NULL && stream->wants == HTTP2_WANTS_MESSAGES)
        feed_stream(stream, (const char *)data, size);
    count_consumed(http2, id, size);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *context)
{
    struct http2_stream *stream = http2_find(context, id);
    (void)session;

    if (stream != NULL)
        http2_drop_stream(stream, error);
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *context)
{
    (void)session;
    (void)frame;
    (void)error;
    return http2_guard_frame(context) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

void http2_set_read_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
}

/* ---- the socket ---- */

/* Looks for the version of HTTP/1 in the first line, of which a client may send a few bytes at a
 * time. The line may have any length: the time for the handshake limits how long it takes. */
static void read_first_line(struct http2 *http2, const char *data, size_t size)
{
    static const char version[] = " HTTP/1.";

    for (size_t i = 0; i < size && http2->first_line == LINE_UNFINISHED; i++) {
        bool matches = data[i] == version[http2->version_matched];
        http2->version_matched = matches ? http2->version_matched + 1 : data[i] == ' ';
        if (http2->version_matched == (int)sizeof version - 1)
            http2->first_line = LINE_HTTP1;
        else if ((unsigned char)data[i] < ' ')
            http2->first_line = LINE_OTHER;
    }
}

/* Answers a client of HTTP/1 and closes our side. The rest of the connection stays until the client
 * closes it, or until the time for the handshake is over: closing it before a body has been read
 * would reset it, perhaps before the client sees the answer. One write is enough, because nothing
 * else was written. */
static bool answer_foreign(struct http2 *http2)
{
    struct buffer answer = { 0 };

    if (http2->options.side->foreign == NULL)
        return false;
    http2->options.side->foreign(http2, &answer);
    struct iovec run = { answer.data, answer.size };
    ssize_t written = http2->transport->type->write(http2->transport, &run, 1);
    http2->is_foreign = written == (ssize_t)answer.size;
    buffer_finish(&answer);
    if (http2->is_foreign)
        shutdown(http2->transport->fd, SHUT_WR);
    return http2->is_foreign;
}

/* The peer did not send HTTP/2's preface. */
static void refuse_foreign(struct http2 *http2)
{
    if (http2->first_line == LINE_UNFINISHED ||
        (http2->first_line == LINE_HTTP1 && answer_foreign(http2)))
        return;
    http2->preface_left = 0;
    http2_flush(http2); /* from our SETTINGS, a client of TLS learns that we do not encrypt */
    http2_fail(http2, status_error(STATUS_INTERNAL, "the peer does not speak HTTP/2"));
}

void http2_receive(struct http2 *http2, const char *data, size_t size)
{
    if (http2->is_foreign)
        return;
    if (http2->preface_left > 0)
        read_first_line(http2, data, size);
    ssize_t used = http2->lacks_preface
                       ? NGHTTP2_ERR_BAD_CLIENT_MAGIC
                       : nghttp2_session_mem_recv(http2->session, (const uint8_t *)data, size);
    if (http2->first_byte < 0)
        http2->first_byte = (unsigned char)*data;
    http2->received_ns = loop_now_ns(http2->options.loop);
    if (used >= 0)
        http2->preface_left -= size < http2->preface_left ? size : http2->preface_left;
    if (used >= 0 || http2_is_over(http2))
        return;
    http2->lacks_preface = used == NGHTTP2_ERR_BAD_CLIENT_MAGIC;
    if (http2->lacks_preface)
        refuse_foreign(http2);
    else
        http2_fail(http2, status_error(STATUS_INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)used)));
}

static size_t round_bytes(const struct http2 *http2)
{
    return http2->last_size > SMALL_MAX ? ROUND_BYTES : SMALL_ROUND_BYTES;
}

static size_t piece_bytes(const struct http2 *http2)
{
    if (http2->last_size >= LARGE_MIN)
        return GLANCE_BYTES;
    return http2->last_size > SMALL_MAX ? SOCKET_BUFFER_BYTES : SMALL_ROUND_BYTES;
}

/* The buffers to read into: first the destination of the current message's next bytes, then the
 * socket buffer. */
static int aim(struct http2 *http2, struct socket_buffer *buffer, struct iovec to[2])
{
    struct http2_stream *stream = http2->data_stream;
    size_t room;
    int count = 0;

    if (stream != NULL && http2->data_left > 0 && stream->wants == HTTP2_WANTS_MESSAGES) {
        char *at = grpc_frame_reader_room(&stream->reader, &room);
        if (at != NULL) {
            if (room > http2->data_left)
                room = http2->data_left;
            to[count++] = (struct iovec){ at, room };
        }
    }
    to[count++] = (struct iovec){ socket_buffer_data(buffer), piece_bytes(http2) };
    return count;
}

void http2_read_rest_soon(struct http2 *http2)
{
    if (http2->transport->type->pending(http2->transport))
        loop_set_timer(http2->options.loop, &http2->rest, loop_now_ns(http2->options.loop));
}

void http2_read(struct http2 *http2)
{
    struct iovec to[2];
    size_t total = 0;

    while (total < round_bytes(http2) && !http2_is_over(http2)) {
        struct socket_buffer *buffer = socket_buffers_next(http2->options.socket_buffers);
        int count = aim(http2, buffer, to);
        size_t asked = to[0].iov_len + (count > 1 ? to[1].iov_len : 0);
        ssize_t size = http2->transport->type->read(http2->transport, to, count);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            http2_io_failed(http2, "read");
        if (size == 0)
            http2_fail(http2, status_error(STATUS_UNAVAILABLE, "the peer closed the connection"));
        if (size <= 0)
            break;
        size_t rest = (size_t)size, part = rest < to[0].iov_len ? rest : to[0].iov_len;
        total += rest;
        http2->read_into = buffer;
        http2_receive(http2, to[0].iov_base, part);
        if (rest > part && !http2_is_over(http2))
            http2_receive(http2, to[1].iov_base, rest - part);
        http2->read_into = NULL;
        if (rest < asked && !http2->transport->type->pending(http2->transport))
            break;
    }
    if (http2_is_over(http2))
        return;
    http2_read_rest_soon(http2);
    if (http2->data_left > 0)
        loop_expect(http2->options.loop);
}
