#include "rpc/http2_internal.h"

#include <assert.h>
#include <errno.h>

#include "base/arena.h"

/* nghttp2 is asked for no more output while this much waits to be written; the minimum room for
 * a frame. */
#define WRITE_QUEUE_HIGH ((size_t)1 << 20)
#define FRAME_ROOM       ((16 << 10) + 64)

/* ---- what is sent on a stream ---- */

static void take_from_queue(struct http2_stream *stream, size_t size)
{
    assert(size <= stream->unsent && stream->unsent <= stream->http2->unsent);
    stream->unsent -= size;
    stream->http2->unsent -= size;
    while (stream->queue != NULL && stream->queue->left == 0) {
        struct grpc_frame *first = stream->queue;
        stream->queue = first->next;
        first->next = NULL;
        grpc_frame_release(first);
    }
    if (stream->queue == NULL)
        stream->queue_last = NULL;
}

void http2_drop_queue(struct http2_stream *stream)
{
    stream->http2->unsent -= stream->unsent;
    stream->unsent = 0;
    while (stream->queue != NULL) {
        struct grpc_frame *first = stream->queue;
        stream->queue = first->next;
        first->next = NULL;
        grpc_frame_release(first);
    }
    stream->queue_last = NULL;
}

/* The headers in nghttp2's form, in memory that the connection reuses. */
static nghttp2_nv *to_nvs(struct http2 *http2, const struct http2_header *headers, int count)
{
    if (count > http2->nvs_capacity) {
        http2->nvs_capacity = count;
        http2->nvs = xrealloc(http2->nvs, (size_t)count * sizeof *http2->nvs);
    }
    for (int i = 0; i < count; i++) {
        const struct http2_header *header = &headers[i];
        int copy = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
        http2->nvs[i] =
            (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)header->name.data,
                          .namelen = header->name.size,
                          .value = (uint8_t *)(uintptr_t)header->value.data,
                          .valuelen = header->value.size,
                          .flags = (uint8_t)((header->constant ? copy : 0) |
                                             (header->passing ? NGHTTP2_NV_FLAG_NO_INDEX : 0)) };
    }
    return http2->nvs;
}

static int submit_trailers(struct http2_stream *stream)
{
    struct http2 *http2 = stream->http2;
    nghttp2_nv *nvs = to_nvs(http2, stream->trailers, stream->trailers_count);

    return nghttp2_submit_trailer(http2->session, stream->id, nvs, (size_t)stream->trailers_count);
}

/* Tells nghttp2 how much of the queue goes into the next DATA frame. */
static ssize_t read_queue(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t size,
                          uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct http2_stream *stream = http2_find(context, id);
    (void)session;
    (void)buffer;
    (void)source;

    if (stream == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (stream->unsent == 0 && !stream->ending) {
        stream->asleep = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    size_t part = stream->unsent < size ? stream->unsent : size;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (part == stream->unsent && stream->ending) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (stream->trailers_count > 0) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            if (submit_trailers(stream) != 0)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return (ssize_t)part;
}

static ssize_t frame_size(nghttp2_session *session, uint8_t type, int32_t id,
                          int32_t session_window, int32_t stream_window, uint32_t frame_max,
                          void *context)
{
    struct http2_stream *stream = http2_find(context, id);
    (void)session;
    (void)type;
    (void)session_window;
    (void)stream_window;

    if (stream == NULL || stream->unsent == 0)
        return 1; /* a size of 0 is not allowed; nothing is sent */
    return stream->unsent < frame_max ? (ssize_t)stream->unsent : (ssize_t)frame_max;
}

/* Writes a DATA frame: its head, then `size` bytes of the queue from where they are. */
static int send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                     size_t size, nghttp2_data_source *source, void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream = http2_find(http2, frame->hd.stream_id);
    (void)session;
    (void)source;

    if (stream == NULL || stream->unsent < size)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (http2->write_queue.bytes > WRITE_QUEUE_HIGH ||
        write_queue_copy_room(&http2->write_queue) < FRAME_ROOM)
        return NGHTTP2_ERR_WOULDBLOCK;
    write_queue_copy(&http2->write_queue, head, 9);
    for (size_t left = size; left > 0;) {
        struct iovec run = grpc_frame_next_run(stream->queue, left);
        write_queue_add(&http2->write_queue, stream->queue, run);
        left -= run.iov_len;
        take_from_queue(stream, run.iov_len);
    }
    stream->moved_ns = loop_now_ns(http2->options.loop);
    if (size > 0 && stream->unsent == 0 && http2->options.side->sent != NULL)
        http2->options.side->sent(stream);
    return 0;
}

/* If the answer is complete and the request is not, the rest of the request is not wanted.
 * http2_guard.c resets the stream if the peer goes on. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct http2 *http2 = context;
    struct http2_stream *stream;

    if (frame->hd.type == NGHTTP2_GOAWAY)
        http2->peer_error = frame->goaway.error_code;
    if (!http2->options.side->server || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) != 0)
        return 0;
    stream = http2_find(http2, frame->hd.stream_id);
    if (stream != NULL) {
        http2_stop_listening(stream);
        stream->answered_ns = loop_now_ns(http2->options.loop);
    }
    return 0;
}

void http2_set_write_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, frame_size);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
}

static const nghttp2_data_provider queue_provider = { .read_callback = read_queue };

struct status http2_submit(struct http2 *http2, struct http2_stream *stream,
                           const struct http2_header *headers, int count)
{
    nghttp2_nv *nvs = to_nvs(http2, headers, count);

    stream->id =
        nghttp2_submit_request(http2->session, NULL, nvs, (size_t)count, &queue_provider, stream);
    if (stream->id < 0)
        return status_error(STATUS_UNAVAILABLE, "begin a stream: %s", nghttp2_strerror(stream->id));
    http2_add_stream(http2, stream);
    stream->reader.payload = http2->options.payload;
    http2_defer(http2);
    return status_ok();
}

void http2_answer(struct http2_stream *stream, const struct http2_header *headers, int count,
                  bool last)
{
    struct http2 *http2 = stream->http2;
    nghttp2_nv *nvs = to_nvs(http2, headers, count);

    if (nghttp2_submit_response(http2->session, stream->id, nvs, (size_t)count,
                                last ? NULL : &queue_provider) != 0)
        nghttp2_submit_rst_stream(http2->session, 0, stream->id, NGHTTP2_INTERNAL_ERROR);
    http2_defer(http2);
}

static void wake(struct http2_stream *stream)
{
    if (stream->asleep) {
        stream->asleep = false;
        nghttp2_session_resume_data(stream->http2->session, stream->id);
    }
    http2_defer(stream->http2);
}

void http2_send(struct http2_stream *stream, struct grpc_frame *message)
{
    assert(!stream->ending);
    grpc_frame_acquire(message);
    message->next = NULL;
    if (stream->queue_last != NULL)
        stream->queue_last->next = message;
    else
        stream->queue = message;
    stream->queue_last = message;
    stream->unsent += message->left;
    stream->http2->unsent += message->left;
    stream->moved_ns = loop_now_ns(stream->http2->options.loop);
    wake(stream);
}

void http2_end(struct http2_stream *stream, const struct http2_header *trailers, int count)
{
    assert(!stream->ending);
    stream->ending = true;
    stream->trailers = trailers;
    stream->trailers_count = count;
    wake(stream);
}

void http2_reset(struct http2_stream *stream, uint32_t error)
{
    struct http2 *http2 = stream->http2;

    nghttp2_submit_rst_stream(http2->session, 0, stream->id, error);
    nghttp2_session_set_stream_user_data(http2->session, stream->id, NULL);
    http2_defer(http2);
    http2_drop_stream(stream, error);
}

void http2_detach_frame(struct http2 *http2, struct grpc_frame *message)
{
    write_queue_detach(&http2->write_queue, message);
}

/* ---- the socket ---- */

static void fill(struct http2 *http2)
{
    const uint8_t *data;

    while (http2->write_queue.bytes <= WRITE_QUEUE_HIGH &&
           write_queue_copy_room(&http2->write_queue) >= FRAME_ROOM) {
        ssize_t size = nghttp2_session_mem_send(http2->session, &data);
        if (size < 0)
            http2_fail(http2,
                       status_error(STATUS_INTERNAL, "HTTP/2: %s", nghttp2_strerror((int)size)));
        if (size <= 0)
            return;
        write_queue_copy(&http2->write_queue, data, (size_t)size);
    }
}

static void watch_for(struct http2 *http2, uint32_t events)
{
    if (events == http2->watched)
        return;
    http2->watched = events;
    struct status status = loop_rewatch(http2->options.loop, http2->watch, events);
    if (!status_is_ok(status))
        http2_fail(http2, status);
}

bool http2_has_room(const struct http2 *http2)
{
    return http2->unsent + http2->write_queue.bytes <= http2->options.limits->unsent_max;
}

bool http2_is_congested(struct http2 *http2)
{
    http2->congested = !http2_has_room(http2);
    return http2->congested;
}

/* Notifies a side that was told of congestion when it ends. */
static void check_congestion(struct http2 *http2)
{
    if (!http2->congested || !http2_has_room(http2))
        return;
    http2->congested = false;
    if (http2->options.side->eased != NULL)
        http2->options.side->eased(http2);
}

static void write_all(struct http2 *http2)
{
    if (http2->write_queue.bytes == 0)
        http2->written_ns = loop_now_ns(http2->options.loop);
    for (;;) {
        fill(http2);
        if (http2_is_over(http2) || http2->write_queue.bytes == 0)
            return;
        if (write_queue_flush(&http2->write_queue, http2->transport) >= 0)
            http2->written_ns = loop_now_ns(http2->options.loop);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        else if (errno != EINTR)
            http2_io_failed(http2, "write");
    }
}

/* A server is silent until it has received the client's preface, which a client sends first. Thus a
 * client of HTTP/1 gets an answer instead of frames. */
void http2_flush(struct http2 *http2)
{
    if (http2_is_over(http2) || http2->state == HTTP2_HANDSHAKE || http2->preface_left > 0)
        return;
    write_all(http2);
    if (http2_is_over(http2))
        return;
    check_congestion(http2);
    watch_for(http2, http2->write_queue.bytes > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    if (http2->write_queue.bytes > 0 || nghttp2_session_want_read(http2->session) ||
        nghttp2_session_want_write(http2->session))
        return;
    http2_fail(http2, http2->peer_error == NGHTTP2_NO_ERROR
                          ? status_error(STATUS_UNAVAILABLE, "the connection has ended")
                          : status_error(STATUS_UNAVAILABLE, "the peer's frames are wrong: %s",
                                         nghttp2_http2_strerror(http2->peer_error)));
}
