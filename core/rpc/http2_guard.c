#include "rpc/http2_internal.h"

#include "base/clock.h"
#include "base/container.h"

/* Frames that do nothing for a call: the burst, and the rate per second, that a peer may send. A
 * busy gRPC peer sends a few a second. */
#define CONTROL_BURST 2000
#define CONTROL_RATE  200

#define PERIOD_MAX_MS 10000

/* A client that was answered before it has sent its whole request usually stops by itself. A reset
 * at once would overtake the answer: HAProxy 2.6 drops what it has not forwarded yet, and tells its
 * client that the call was cancelled. The reset comes with the first tick after this time, which is
 * up to 5 s later. */
#define ANSWERED_MS 1000

bool http2_guard_frame(struct http2 *http2)
{
    struct bucket *bucket = &http2->control;
    int64_t now_ns = loop_now_ns(http2->options.loop);

    bucket->tokens += (double)(now_ns - bucket->at_ns) / NS_PER_S * CONTROL_RATE;
    bucket->at_ns = now_ns;
    if (bucket->tokens > CONTROL_BURST)
        bucket->tokens = CONTROL_BURST;
    bucket->tokens -= 1;
    if (bucket->tokens >= 0)
        return true;
    nghttp2_submit_goaway(http2->session, 0,
                          nghttp2_session_get_last_proc_stream_id(http2->session),
                          NGHTTP2_ENHANCE_YOUR_CALM, NULL, 0);
    http2_flush(http2);
    http2_fail(http2, status_error(STATUS_RESOURCE_EXHAUSTED,
                                   "the peer sends too many frames that serve no call"));
    return false;
}

static bool passed(int64_t since_ns, int timeout_ms, int64_t now_ns)
{
    return timeout_ms > 0 && now_ns - since_ns >= (int64_t)timeout_ms * NS_PER_MS;
}

/* Resets streams whose request stops arriving, or whose answer is not read. */
static void reset_stalled(struct http2 *http2, int64_t now_ns)
{
    for (struct list_link *at = http2->streams, *next; at != NULL; at = next) {
        struct http2_stream *stream = CONTAINER_OF(at, struct http2_stream, link);
        next = at->next;
        bool waits = stream->unsent > 0 || (!stream->ended && !stream->patient);
        if (waits && passed(stream->moved_ns, http2->options.limits->stall_ms, now_ns))
            http2_reset(stream, NGHTTP2_CANCEL);
    }
}

/* Ends requests that go on after their answer. */
static void reset_answered(struct http2 *http2, int64_t now_ns)
{
    for (struct list_link *at = http2->streams, *next; at != NULL; at = next) {
        struct http2_stream *stream = CONTAINER_OF(at, struct http2_stream, link);
        next = at->next;
        if (stream->answered_ns != 0 && passed(stream->answered_ns, ANSWERED_MS, now_ns))
            http2_reset(stream, NGHTTP2_NO_ERROR);
    }
}

static void keep_alive(struct http2 *http2, int64_t now_ns)
{
    const struct http2_limits *limits = http2->options.limits;

    if (http2->ping_sent && passed(http2->pinged_ns, limits->keepalive_timeout_ms, now_ns) &&
        passed(http2->received_ns, limits->keepalive_timeout_ms, now_ns))
        http2_fail(http2, status_error(STATUS_UNAVAILABLE,
                                       "the peer is silent: no answer to a PING in %d ms",
                                       limits->keepalive_timeout_ms));
    else if ((http2->streams_count > 0 || limits->keepalive_idle) &&
             passed(http2->received_ns, limits->keepalive_ms, now_ns))
        http2_ping(http2);
}

/* Sends GOAWAY on an old connection, so that its client reconnects, perhaps to another server
 * behind the same name. Streams in flight continue. */
static void retire(struct http2 *http2, int64_t now_ns)
{
    const struct http2_limits *limits = http2->options.limits;

    if (http2->retired_ns == 0 && passed(http2->created_ns, limits->age_ms, now_ns)) {
        http2->retired_ns = now_ns;
        http2_go_away(http2, false);
    } else if (http2->retired_ns != 0 && passed(http2->retired_ns, limits->age_grace_ms, now_ns)) {
        http2_fail(http2, status_error(STATUS_UNAVAILABLE, "the connection is too old"));
    } else if (http2->retired_ns != 0 && !http2->refuses) {
        http2->refuses = true;
        http2_go_away(http2, true);
    }
}

static void check(struct http2 *http2, int64_t now_ns)
{
    const struct http2_limits *limits = http2->options.limits;

    if (http2->state < HTTP2_READY) {
        if (passed(http2->created_ns, limits->handshake_ms, now_ns))
            http2_fail(http2, status_error(STATUS_DEADLINE_EXCEEDED,
                                           "the peer is silent: no HTTP/2 SETTINGS in %d ms",
                                           limits->handshake_ms));
        return;
    }
    if (http2->write_queue.bytes > 0 && passed(http2->written_ns, limits->stall_ms, now_ns)) {
        http2_fail(http2, status_error(STATUS_UNAVAILABLE, "the peer has read nothing for %d ms",
                                       limits->stall_ms));
        return;
    }
    reset_answered(http2, now_ns);
    if (limits->stall_ms > 0)
        reset_stalled(http2, now_ns);
    keep_alive(http2, now_ns);
    retire(http2, now_ns);
    if (http2->streams_count > 0)
        return;
    if (passed(http2->idle_since_ns, limits->idle_ms, now_ns))
        http2_go_away(http2, true);
    if (passed(http2->idle_since_ns, PERIOD_MAX_MS, now_ns)) {
        message_buffers_trim(http2->buffers);
        write_queue_trim(&http2->write_queue);
    }
}

/* Half of the shortest limit, so that none is late by more than half of its length. */
static int64_t period_ns(const struct http2_limits *limits)
{
    const int all[] = {
        limits->handshake_ms,         limits->idle_ms, limits->stall_ms,    limits->keepalive_ms,
        limits->keepalive_timeout_ms, limits->age_ms,  limits->age_grace_ms
    };
    int shortest = PERIOD_MAX_MS;

    for (size_t i = 0; i < COUNT(all); i++)
        if (all[i] > 0 && all[i] < shortest)
            shortest = all[i];
    return (int64_t)(shortest + 1) / 2 * NS_PER_MS;
}

static void tick(void *context)
{
    struct http2 *http2 = context;
    /* The time at which the round began. Streams that moved in this round carry the same time,
     * however long the round has taken. */
    int64_t now_ns = loop_now_ns(http2->options.loop);

    if (!http2_is_over(http2))
        check(http2, now_ns);
    loop_set_timer(http2->options.loop, &http2->timer, now_ns + period_ns(http2->options.limits));
}

void http2_guard_start(struct http2 *http2)
{
    http2->control = (struct bucket){ CONTROL_BURST, http2->created_ns };
    http2->timer = (struct loop_timer){ .expired = tick, .context = http2 };
    loop_set_timer(http2->options.loop, &http2->timer,
                   http2->created_ns + period_ns(http2->options.limits));
}
