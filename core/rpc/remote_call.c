/*
 * A call at its client: the start, the wait for a connection, the one end. The life of a call:
 *
 *     NEW               its start is on the way to the loop
 *      |  |
 *      |  v
 *      | WAITING        for a connection  <-+
 *      |  |                                 | the server has refused the stream unseen
 *      v  v                                 |
 *     SUBMITTED         it has a stream  ---+
 *      |
 *      v
 *     ANSWERED          the answer's headers are here: it cannot be sent again
 *      |  |
 *      |  v
 *      | REPLIED        the one message is here
 *      v  v
 *     FINISHED          `done` is called: from any state, by what comes first
 */
#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "rpc/grpc_headers.h"
#include "rpc/remote_internal.h"

#define ERROR_CANCEL  0x8
#define HEADERS_FIXED 9

static struct remote_call *of_client(const struct client_call *client)
{
    return CONTAINER_OF(client, struct remote_call, client);
}

const unsigned remote_call_allowed[] = {
    [REMOTE_CALL_NEW] =
        STATE(REMOTE_CALL_WAITING) | STATE(REMOTE_CALL_SUBMITTED) | STATE(REMOTE_CALL_FINISHED),
    [REMOTE_CALL_WAITING] = STATE(REMOTE_CALL_SUBMITTED) | STATE(REMOTE_CALL_FINISHED),
    [REMOTE_CALL_SUBMITTED] =
        STATE(REMOTE_CALL_WAITING) | STATE(REMOTE_CALL_ANSWERED) | STATE(REMOTE_CALL_FINISHED),
    [REMOTE_CALL_ANSWERED] = STATE(REMOTE_CALL_REPLIED) | STATE(REMOTE_CALL_FINISHED),
    [REMOTE_CALL_REPLIED] = STATE(REMOTE_CALL_FINISHED),
    [REMOTE_CALL_FINISHED] = 0,
};

void remote_call_drop(struct remote_call *call)
{
    if (atomic_fetch_sub_explicit(&call->references, 1, memory_order_acq_rel) != 1)
        return;
    assert(call->state == REMOTE_CALL_FINISHED && call->stream.http2 == NULL);
    message_release(&call->reply);
    metadata_finish(&call->metadata);
    metadata_finish(&call->sent_metadata);
    buffer_finish(&call->text);
    free(call->path);
    free(call);
}

void remote_call_acquire(struct remote_call *call)
{
    atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
}

/* ---- lists ---- */

static void add_call(struct remote *remote, struct remote_call *call)
{
    list_push(&remote->calls, &call->link);
    shared_loop_count(remote->channel.loop, 1);
}

static void remove_call(struct remote *remote, struct remote_call *call)
{
    list_remove(&call->link);
    shared_loop_count(remote->channel.loop, -1);
}

static void stop_waiting(struct remote_call *call)
{
    struct remote *remote = call->remote;
    struct remote_call **at = &remote->waiting;

    assert(call->state == REMOTE_CALL_WAITING);
    while (*at != call)
        at = &(*at)->next_waiting;
    *at = call->next_waiting;
    if (*at == NULL)
        remote->waiting_end = at;
}

void remote_call_wait(struct remote_call *call)
{
    struct remote *remote = call->remote;

    remote_call_enter(call, REMOTE_CALL_WAITING);
    call->next_waiting = NULL;
    *remote->waiting_end = call;
    remote->waiting_end = &call->next_waiting;
    remote_want(remote);
}

/* ---- the end ---- */

/* The caller gets the memory of the request back before `done` is called. */
static void release_request(struct remote_call *call)
{
    struct grpc_frame *request = call->request;

    call->request = NULL;
    if (request != NULL && request->references > 1 && call->stream.http2 != NULL)
        http2_detach_frame(call->stream.http2, request);
    grpc_frame_release(request);
}

void remote_call_finish(struct remote_call *call, struct status status, struct message *reply)
{
    struct message nothing = { 0 };

    if (call->state == REMOTE_CALL_FINISHED)
        return;
    remote_call_acquire(call);
    if (call->state == REMOTE_CALL_WAITING)
        stop_waiting(call);
    if (call->state != REMOTE_CALL_NEW)
        remove_call(call->remote, call);
    remote_call_enter(call, REMOTE_CALL_FINISHED);
    loop_clear_timer(call->remote->loop, &call->timer);
    release_request(call);
    if (call->stream.http2 != NULL && (!call->stream.ended || call->stream.unsent > 0))
        http2_reset(&call->stream, ERROR_CANCEL);
    call->done(call->context, status, reply == NULL ? &nothing : reply);
    if (reply != NULL)
        message_release(reply);
    remote_call_drop(call); /* this function's */
    remote_call_drop(call); /* the loop's */
}

static void on_deadline(void *context)
{
    struct remote_call *call = context;

    if (call->state == REMOTE_CALL_WAITING)
        remote_call_finish(call,
                           remote_unavailable(call->remote, STATUS_DEADLINE_EXCEEDED,
                                              "deadline exceeded, no connection to "),
                           NULL);
    else
        remote_call_finish(call,
                           status_error(STATUS_DEADLINE_EXCEEDED,
                                        "%s is connected, but has not answered in time",
                                        call->remote->text),
                           NULL);
}

/* ---- the request ---- */

static int fill_headers(const struct remote_call *call, char timeout[GRPC_TIMEOUT_MAX],
                        struct http2_header *out)
{
    const struct remote *remote = call->remote;
    const char *scheme = remote->options.tls != NULL ? "https" : "http";
    const struct http2_header fixed[] = {
        HTTP2_CONSTANT(":method", "POST"),
        HTTP2_HEADER(":scheme", bytes_of(scheme)),
        HTTP2_HEADER(":path", bytes_of(call->path)),
        HTTP2_HEADER(":authority", bytes_of(remote->authority)),
        HTTP2_CONSTANT("te", "trailers"),
        HTTP2_CONSTANT("content-type", "application/grpc"),
        HTTP2_HEADER("user-agent", bytes_of(remote->user_agent)),
    };
    int count = COUNT(fixed);

    memcpy(out, fixed, sizeof fixed);
    if (remote->authorization != NULL) /* passing: never stored in a header table, because it is
                                        * a secret */
        out[count++] = (struct http2_header){ .name = HTTP2_TEXT("authorization"),
                                              .value = bytes_of(remote->authorization),
                                              .passing = true };
    if (call->deadline_ns != CLOCK_NEVER) {
        int64_t left_ns = call->deadline_ns - clock_now_ns(clock_monotonic());
        size_t size = grpc_timeout_print(left_ns, timeout);
        out[count++] = (struct http2_header){ .name = HTTP2_TEXT("grpc-timeout"),
                                              .value = { timeout, size },
                                              .passing = true };
    }
    for (int i = 0; i < call->sent_metadata.count; i++) {
        const struct metadata *item = &call->sent_metadata.items[i];
        out[count++] =
            (struct http2_header){ .name = bytes_of(item->name), .value = bytes_of(item->value) };
    }
    return count;
}

static void submit(struct remote_call *call)
{
    assert(call->remote->phase == REMOTE_READY && call->remote->connection != NULL);
    struct http2 *http2 = call->remote->connection->http2;
    struct http2_header *headers =
        xrealloc(NULL, (size_t)(HEADERS_FIXED + call->sent_metadata.count) * sizeof *headers);
    char timeout[GRPC_TIMEOUT_MAX];
    int count = fill_headers(call, timeout, headers);

    remote_call_enter(call, REMOTE_CALL_SUBMITTED);
    call->attempts++;
    call->stream = (struct http2_stream){ 0 };
    struct status status = http2_submit(http2, &call->stream, headers, count);
    free(headers);
    if (!status_is_ok(status)) {
        remote_call_finish(call, status, NULL);
        return;
    }
    remote_call_acquire(call); /* the stream's */
    http2_send(&call->stream, call->request);
    http2_end(&call->stream, NULL, 0);
}

void remote_submit_waiting(struct remote *remote)
{
    while (remote->waiting != NULL && remote->phase == REMOTE_READY) {
        struct remote_call *call = remote->waiting;
        stop_waiting(call);
        submit(call);
    }
}

void remote_fail_waiting(struct remote *remote)
{
    if (remote->options.wait_for_ready)
        return;
    while (remote->waiting != NULL)
        remote_call_finish(remote->waiting, remote_unavailable(remote, STATUS_UNAVAILABLE, ""),
                           NULL);
}

void remote_fail_all(struct remote *remote, struct status why)
{
    while (remote->calls != NULL)
        remote_call_finish(CONTAINER_OF(remote->calls, struct remote_call, link), why, NULL);
}

static void start_here(struct remote_call *call)
{
    struct remote *remote = call->remote;

    if (call->state == REMOTE_CALL_FINISHED)
        return; /* cancelled on its way to the loop */
    if (remote->closing) {
        remote_call_finish(call, status_error(STATUS_CANCELLED, "the channel was closed"), NULL);
        return;
    }
    if (call->deadline_ns != CLOCK_NEVER && clock_now_ns(clock_monotonic()) >= call->deadline_ns) {
        remote_call_finish(call,
                           status_error(STATUS_DEADLINE_EXCEEDED,
                                        "the deadline had passed before the call to %s began",
                                        remote->text),
                           NULL);
        return;
    }
    if (remote->phase == REMOTE_PAUSING && !remote->options.wait_for_ready) {
        remote_call_finish(call, remote_unavailable(remote, STATUS_UNAVAILABLE, ""), NULL);
        return;
    }
    add_call(remote, call);
    if (call->deadline_ns != CLOCK_NEVER)
        loop_set_timer(remote->loop, &call->timer, call->deadline_ns);
    if (remote->phase == REMOTE_READY)
        submit(call);
    else
        remote_call_wait(call);
}

static void start_posted(struct loop_task *task)
{
    struct remote_call *call = CONTAINER_OF(task, struct remote_call, start);

    start_here(call);
    remote_call_drop(call);
}

static void cancel_here(struct remote_call *call)
{
    remote_call_finish(call, status_error(STATUS_CANCELLED, "cancelled"), NULL);
}

static void cancel_posted(struct loop_task *task)
{
    struct remote_call *call = CONTAINER_OF(task, struct remote_call, cancel);

    cancel_here(call);
    remote_call_drop(call);
}

/* ---- from any thread ---- */

struct client_call *remote_begin(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context)
{
    struct remote *remote = (struct remote *)channel;
    struct remote_call *call = zalloc(sizeof *call);

    call->client.channel = channel;
    call->remote = remote;
    atomic_init(&call->references, 2); /* the handle's, the loop's */
    call->path = xstrdup(path);
    call->deadline_ns = options->deadline_ns;
    call->done = done;
    call->received = options->received;
    call->context = context;
    call->timer = (struct loop_timer){ .expired = on_deadline, .context = call };
    call->start.work = start_posted;
    call->cancel.work = cancel_posted;
    for (int i = 0; i < options->metadata_count; i++)
        metadata_add(&call->sent_metadata, options->metadata[i].name, options->metadata[i].value);
    call->request = grpc_frame_create(request);
    bool within = loop_is_mine(remote->loop);
    if (shared_loop_enter(channel->loop)) {
        start_here(call);
        if (!within && remote->connection != NULL)
            http2_flush(remote->connection->http2);
        shared_loop_leave(channel->loop);
    } else {
        remote_call_acquire(call);
        mailbox_post(remote->mailbox, &call->start);
    }
    return &call->client;
}

void remote_cancel(struct client_call *client)
{
    struct remote_call *call = of_client(client);
    struct shared_loop *loop = client->channel->loop;

    if (shared_loop_enter(loop)) {
        cancel_here(call);
        shared_loop_leave(loop);
    } else if (!atomic_exchange(&call->cancel_posted, true)) {
        remote_call_acquire(call);
        mailbox_post(call->remote->mailbox, &call->cancel);
    }
}

void remote_release(struct client_call *client)
{
    remote_call_drop(of_client(client));
}

const char *remote_metadata(const struct client_call *client, const char *name)
{
    const struct remote_call *call = of_client(client);

    return metadata_find(call->metadata.items, call->metadata.count, name);
}
