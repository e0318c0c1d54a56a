#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/container.h"
#include "rpc/grpc_headers.h"
#include "rpc/message_inflate.h"
#include "rpc/server_internal.h"

/* With more than this from call_send in flight, the client is slower than the method. */
#define SENT_HIGH ((size_t)1 << 20)

static struct server_call *of_call(const struct call *call)
{
    return CONTAINER_OF(call, struct server_call, call);
}

/* ---- headers and trailers ---- */

static const struct http2_header ok_headers[] = {
    HTTP2_CONSTANT(":status", "200"),
    HTTP2_CONSTANT("content-type", "application/grpc"),
    HTTP2_CONSTANT("grpc-accept-encoding", MESSAGE_ENCODINGS),
};

static const struct http2_header ok_trailers[] = { HTTP2_CONSTANT("grpc-status", "0") };

/* Fills call->end: `first` headers for the caller, then grpc-status, grpc-message and the method's
 * metadata. Returns the count of all. */
static int make_end(struct server_call *call, struct status status, int first)
{
    int count = first;

    call->end = zalloc((size_t)(first + 3 + call->trailers.count) * sizeof *call->end);
    snprintf(call->code, sizeof call->code, "%d", status.code);
    call->end[count++] = (struct http2_header)HTTP2_HEADER("grpc-status", bytes_of(call->code));
    if (*status.message != 0) {
        grpc_message_encode(status.message, &call->text);
        call->end[count++] = (struct http2_header){ .name = HTTP2_TEXT("grpc-message"),
                                                    .value = { call->text.data, call->text.size },
                                                    .passing = true };
    }
    for (int i = 0; i < call->trailers.count; i++) {
        const struct metadata *item = &call->trailers.items[i];
        call->end[count++] = (struct http2_header){ .name = bytes_of(item->name),
                                                    .value = bytes_of(item->value),
                                                    .passing = true };
    }
    return count;
}

/* A failure before the first message: headers only. */
static void answer_failure(struct server_call *call, struct status status)
{
    int count = make_end(call, status, COUNT(ok_headers));

    memcpy(call->end, ok_headers, sizeof ok_headers);
    http2_answer(&call->stream, call->end, count, true);
}

/* The request is not gRPC but perhaps a browser's: answers in HTTP. */
void server_call_refuse(struct server_call *call)
{
    const struct http2_header headers[] = {
        HTTP2_HEADER(":status", bytes_of(call->is_post ? "415" : "405")),
        HTTP2_HEADER("content-type", HTTP2_TEXT("text/plain")),
    };
    struct grpc_frame *text;

    server_call_detach(call);
    http2_answer(&call->stream, headers, COUNT(headers), call->is_head);
    if (call->is_head)
        return;
    text = grpc_frame_create_unframed(
        "This port serves gRPC: use POST with content-type application/grpc.\n");
    http2_send(&call->stream, text);
    grpc_frame_release(text);
    http2_end(&call->stream, NULL, 0);
}

static void begin(struct server_call *call)
{
    if (call->state == CALL_REPLYING)
        return;
    server_call_enter(call, CALL_REPLYING);
    http2_answer(&call->stream, ok_headers, COUNT(ok_headers), false);
}

static void sending_gone(struct grpc_frame *sending)
{
    server_call_release(CONTAINER_OF(sending, struct server_call, sending));
}

static void send_message(struct server_call *call, struct message *message)
{
    struct grpc_frame *frame = &call->sending;

    begin(call);
    if (frame->references == 0) {
        call->references++; /* until it is written */
        grpc_frame_init(frame, message, sending_gone);
    } else {
        frame = grpc_frame_create(message);
    }
    http2_send(&call->stream, frame);
    grpc_frame_release(frame);
}

static struct status check_size(const struct message *reply)
{
    size_t size = reply == NULL ? 0 : grpc_frame_message_size(reply);

    if (size <= UINT32_MAX)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "a reply of %zu bytes is over the limit of 4 GiB", size);
}

static void finish_reply(struct server_call *call, struct status status, struct message *reply)
{
    if (status_is_ok(status) && reply != NULL)
        send_message(call, reply);
    begin(call);
    if (status_is_ok(status) && call->trailers.count == 0) {
        http2_end(&call->stream, ok_trailers, COUNT(ok_trailers));
    } else {
        int count = make_end(call, status, 0);
        http2_end(&call->stream, call->end, count);
    }
}

/* Ends the call on the wire, once. */
void server_call_end(struct server_call *call, struct status status, struct message *reply)
{
    assert(server_call_is_open(call));
    loop_clear_timer(call->connection->server->loop, &call->deadline);
    if (status_is_ok(status))
        status = check_size(reply);
    if (!status_is_ok(status) && call->state != CALL_REPLYING)
        answer_failure(call, status);
    else
        finish_reply(call, status, reply);
    server_call_detach(call);
}

/* ---- replies of the method ---- */

/* In the loop's thread. Drops the method's reference. */
static void finish_here(struct server_call *call, struct status status, struct message *reply)
{
    if (server_call_is_open(call))
        server_call_end(call, status, reply);
    if (reply != NULL)
        message_release(reply);
    /* Without the lock: no other thread knows the call any more. */
    call->when_cancelled = NULL;
    call->ended = true;
    server_call_enter(call, CALL_ENDED);
    server_call_release(call);
}

static void finish_posted(struct loop_task *task)
{
    struct server_call *call = CONTAINER_OF(task, struct server_call, finish);
    struct message reply = message_move(&call->reply);
    struct status status = { call->finish_code,
                             call->finish_text == NULL ? "" : call->finish_text };
    char *text = call->finish_text;

    finish_here(call, status, call->has_reply ? &reply : NULL);
    free(text);
}

static void finish(struct call *of, struct status status, struct message *reply)
{
    struct server_call *call = of_call(of);

    if (mailbox_is_mine(call->mailbox)) {
        finish_here(call, status, reply);
        return;
    }
    call->finish_code = status.code;
    call->finish_text = *status.message == 0 ? NULL : xstrdup(status.message);
    call->has_reply = reply != NULL;
    if (reply != NULL)
        call->reply = message_move(reply);
    call->finish.work = finish_posted;
    if (!mailbox_post(call->mailbox, &call->finish))
        finish_posted(&call->finish); /* the server is gone, and the stream with it */
}

static void when_cancelled(struct call *of, void (*cancelled)(void *, struct call *), void *context)
{
    struct server_call *call = of_call(of);

    pthread_mutex_lock(&call->lock);
    bool gone = call->ended;
    call->when_cancelled = gone ? NULL : cancelled;
    call->cancelled_context = context;
    pthread_mutex_unlock(&call->lock);
    if (gone)
        cancelled(context, of);
}

/* ---- several replies ---- */

struct sending {
    struct loop_task task;
    struct server_call *call;
    struct message message;
};

static void send_here(struct server_call *call, struct message *message)
{
    if (server_call_is_open(call) && status_is_ok(check_size(message)))
        send_message(call, message);
    else
        server_call_sent(call);
    message_release(message);
}

/* The call still exists, because its end is posted after this. */
static void send_posted(struct loop_task *task)
{
    struct sending *sending = (struct sending *)task;

    send_here(sending->call, &sending->message);
    free(sending);
}

static bool send_reply(struct call *of, struct message *reply)
{
    struct server_call *call = of_call(of);

    pthread_mutex_lock(&call->lock);
    call->unsent += grpc_frame_message_size(reply);
    bool room = call->unsent <= SENT_HIGH;
    pthread_mutex_unlock(&call->lock);
    if (mailbox_is_mine(call->mailbox)) {
        send_here(call, reply);
        return room && (call->stream.http2 == NULL || http2_has_room(call->stream.http2));
    }
    struct sending *sending = zalloc(sizeof *sending);
    *sending = (struct sending){ { .work = send_posted }, call, message_move(reply) };
    if (!mailbox_post(call->mailbox, &sending->task))
        send_posted(&sending->task);
    return room;
}

/* Everything sent is on its way, or the call was cancelled. */
void server_call_sent(struct server_call *call)
{
    if (server_call_is_over(call))
        return;
    pthread_mutex_lock(&call->lock);
    call->unsent = 0;
    void (*ready)(void *, struct call *) = call->when_ready;
    call->when_ready = NULL;
    pthread_mutex_unlock(&call->lock);
    if (ready != NULL)
        ready(call->ready_context, &call->call);
}

static void when_ready(struct call *of, void (*ready)(void *, struct call *), void *context)
{
    struct server_call *call = of_call(of);

    pthread_mutex_lock(&call->lock);
    bool now = call->ended || call->unsent == 0;
    call->when_ready = now ? NULL : ready;
    call->ready_context = context;
    pthread_mutex_unlock(&call->lock);
    if (now)
        ready(context, of);
}

/* ---- the rest ---- */

static void receive(struct call *of, received_function *received, void *context)
{
    struct server_call *call = of_call(of);

    call->receive = received;
    call->receive_context = context;
}

static const char *metadata(const struct call *of, const char *name)
{
    const struct server_call *call = of_call(of);

    return metadata_find(call->metadata.items, call->metadata.count, name);
}

static void add_metadata(struct call *of, const char *name, const char *value)
{
    metadata_add(&of_call(of)->trailers, name, value);
}

const struct call_type server_call_type = {
    .finish = finish,
    .when_cancelled = when_cancelled,
    .send = send_reply,
    .when_ready = when_ready,
    .receive = receive,
    .metadata = metadata,
    .add_metadata = add_metadata,
};
