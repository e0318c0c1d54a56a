#include "rpc/http2_internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

#define UNFINISHED_MORE 4

/* What one connection may bring in a round before others have their turn. Of small messages, no
 * more than stays in a near cache along with all that is made of it: 64 calls of 3 KiB at a time
 * cost a tenth less so than in one round. */
#define ROUND_BYTES       ((size_t)8 << 20)
#define SMALL_ROUND_BYTES ((size_t)96 << 10)
#define SMALL_MAX         ((size_t)16 << 10)

/* Beyond so many times the limit, each header counts as a frame that serves no call: a byte may
 * name one of 4 KiB. */
#define METADATA_ABUSE 8

/* Where messages are large the next is only looked at, so that it is read to its place. */
#define LARGE_MIN    (READING_BYTES / 2)
#define GLANCE_BYTES ((size_t)4 << 10)

/* Lets the peer send more, unless methods hold too much of what it has sent: on_eased comes then.
 */
void http2_consume(struct http2 *http2)
{
    if (http2->over || blocks_watch(http2->blocks, http2->options.limits->held_max))
        return;
    nghttp2_session_consume_connection(http2->session, http2->unconsumed);
    http2->unconsumed = 0;
}

static void count_consumed(struct http2 *http2, int32_t id, size_t size)
{
    struct http2_stream *stream = http2_find(http2, id);

    http2->unconsumed += size;
    if (http2->unconsumed > http2->options.limits->held_max / 8)
        http2_consume(http2);
    if (stream == NULL)
        return;
    stream->unconsumed += size;
    if (stream->unconsumed > INT32_MAX / 8) {
        nghttp2_session_consume_stream(http2->session, id, stream->unconsumed);
        stream->unconsumed = 0;
    }
}

static void fail_stream(struct http2_stream *stream, struct status status)
{
    stream->deaf = true;
    stream->http2->unfinished -= incoming_unfinished(&stream->incoming);
    incoming_finish(&stream->incoming);
    stream->http2->options.side->failed(stream, status);
}

/* Half messages may take as much as whole ones, and a few more: a fair sender has many under way.
 */
static bool too_much_unfinished(const struct http2 *http2)
{
    const struct http2_limits *limits = http2->options.limits;

    return http2->unfinished > limits->held_max + UNFINISHED_MORE * limits->message_max;
}

/* Bytes of a stream's messages. */
static void feed_stream(struct http2_stream *stream, const char *data, size_t size)
{
    struct http2 *http2 = stream->http2;
    struct incoming *incoming = &stream->incoming;

    stream->moved_ns = loop_now_ns(http2->options.loop);
    incoming->reading = http2->reading;
    while (size > 0 && !stream->deaf && stream->http2 != NULL) {
        size_t used, before = incoming_unfinished(incoming);
        bool complete;
        struct status status = incoming_feed(incoming, data, size, &used, &complete);
        http2->unfinished += incoming_unfinished(incoming) - before;
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
        http2->unfinished -= incoming_unfinished(incoming);
        http2->last_size = incoming->size;
        struct message message = incoming_take(incoming);
        http2->options.side->message(stream, &message);
    }
}

/* ---- nghttp2's callbacks. ---- */

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *context)
{
    struct http2 *http2 = context;
    bool costs = false;
    (void)session;

    switch (hd->type) {
    case NGHTTP2_DATA:
        http2->data_stream = http2_find(http2, hd->stream_id);
        http2->data_left = hd->flags & NGHTTP2_FLAG_PADDED ? 0 : hd->length;
        costs = hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
        break;
    case NGHTTP2_HEADERS:
    case NGHTTP2_WINDOW_UPDATE: /* one for each reply that is read: common, and cheap */
    case NGHTTP2_GOAWAY:
        break;
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PING:
        costs = !(hd->flags & NGHTTP2_FLAG_ACK);
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
    /* No memory, mostly: gRPC's clients take this for RESOURCE_EXHAUSTED. */
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                     NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Memory that a side keeps of a header. */
static bool pay_for_header(struct http2_stream *stream, size_t size)
{
    if (stream->poor || !http2_hold(stream->http2, size)) {
        stream->poor = true;
        return false;
    }
    stream->held += size;
    return true;
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
    size_t header_size = name_size + value_size + 32; /* as HTTP/2 counts */
    stream->metadata_size += header_size;
    if (stream->metadata_size / METADATA_ABUSE > max && !http2_guard_frame(http2))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (!stream->deaf && stream->metadata_size <= max && pay_for_header(stream, header_size))
        http2->options.side->header(stream, (struct bytes){ (const char *)name, name_size },
                                    (struct bytes){ (const char *)value, value_size });
    return 0;
}

static void headers_received(struct http2_stream *stream)
{
    struct http2 *http2 = stream->http2;
    size_t max = http2->options.limits->metadata_max;

    if (stream->deaf)
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
    if (stream->deaf && !stream->awaited)
        return;
    if (!stream->deaf && (stream->incoming.block != NULL || stream->incoming.prefix_size > 0))
        fail_stream(stream, status_error(STATUS_INTERNAL, "the stream ended within a message"));
    else
        stream->http2->options.side->ended(stream);
}

static void ping_answered(struct http2 *http2)
{
    if (!http2->ping_waits)
        return;
    http2->ping_waits = false;
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
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK) && !http2->ready) {
            http2->ready = true;
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
    if (stream != NULL && !stream->deaf)
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

/* ---- The socket. ---- */

void http2_receive(struct http2 *http2, const char *data, size_t size)
{
    ssize_t used = nghttp2_session_mem_recv(http2->session, (const uint8_t *)data, size);

    if (http2->first_byte < 0)
        http2->first_byte = (unsigned char)*data;
    http2->received_ns = loop_now_ns(http2->options.loop);
    if (used >= 0 || http2->over)
        return;
    if (used == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
        http2_fail(http2, status_error(STATUS_INTERNAL, "the peer does not speak HTTP/2"));
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
    return http2->last_size > SMALL_MAX ? READING_BYTES : SMALL_ROUND_BYTES;
}

/* Where the next bytes go: first those of a message under way, straight to their place. */
static int aim(struct http2 *http2, struct reading_piece *piece, struct iovec to[2])
{
    struct http2_stream *stream = http2->data_stream;
    size_t room;
    int count = 0;

    if (stream != NULL && http2->data_left > 0 && !stream->deaf) {
        char *at = incoming_room(&stream->incoming, &room);
        if (at != NULL) {
            if (room > http2->data_left)
                room = http2->data_left;
            to[count++] = (struct iovec){ at, room };
        }
    }
    to[count++] = (struct iovec){ reading_data(piece), piece_bytes(http2) };
    return count;
}

void http2_read(struct http2 *http2)
{
    struct iovec to[2];
    size_t total = 0;

    while (total < round_bytes(http2) && !http2->over) {
        struct reading_piece *piece = reading_next(http2->options.reading);
        int count = aim(http2, piece, to);
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
        http2->reading = piece;
        http2_receive(http2, to[0].iov_base, part);
        if (rest > part && !http2->over)
            http2_receive(http2, to[1].iov_base, rest - part);
        http2->reading = NULL;
        if (rest < asked && !http2->transport->type->pending(http2->transport))
            break;
    }
    if (http2->over)
        return;
    /* What the transport has taken from the descriptor, the descriptor does not show again. */
    if (http2->transport->type->pending(http2->transport))
        loop_set_timer(http2->options.loop, &http2->rest, loop_now_ns(http2->options.loop));
    if (http2->data_left > 0)
        loop_expect(http2->options.loop);
}
