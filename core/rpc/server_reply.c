#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "rpc/grpc.h"
#include "rpc/inflate.h"
#include "rpc/server_internal.h"

/* More than this of call_send on its way: the client is slower than the method. */
#define SENT_HIGH ((size_t)1 << 20)

static struct server_call *of_call(const struct call *call)
{
    return (struct server_call *)((char *)(uintptr_t)call - offsetof(struct server_call, call));
}

/* ---- Headers and trailers. ---- */

static const struct http2_header ok_headers[] = {
    HTTP2_CONSTANT(":status", "200"),
    HTTP2_CONSTANT("content-type", "application/grpc"),
    HTTP2_CONSTANT("grpc-accept-encoding", INFLATE_ENCODINGS),
};

static const struct http2_header ok_trailers[] = { HTTP2_CONSTANT("grpc-status", "0") };

/* grpc-status, grpc-message and the method's metadata behind `first` others. */
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

/* An answer without a message is headers only. */
static void answer_failure(struct server_call *call, struct status status)
{
    int count = make_end(call, status, COUNT(ok_headers));

    memcpy(call->end, ok_headers, sizeof ok_headers);
    http2_answer(&call->stream, call->end, count, true);
}

/* Not gRPC at all, perhaps a browser: the answer is HTTP's. */
void server_call_refuse(struct server_call *call)
{
    const struct http2_header headers[] = {
        HTTP2_HEADER(":status", bytes_of(call->post ? "415" : "405")),
        HTTP2_HEADER("content-type", HTTP2_TEXT("text/plain")),
    };
    struct outgoing *text =
        outgoing_create_text("This is gRPC: it wants POST with content-type application/grpc.\n");

    call->answered = true;
    http2_answer(&call->stream, headers, COUNT(headers), false);
    http2_send(&call->stream, text);
    outgoing_release(text);
    http2_end(&call->stream, NULL, 0);
}

static void begin(struct server_call *call)
{
    if (call->begun)
        return;
    call->begun = true;
    http2_answer(&call->stream, ok_headers, COUNT(ok_headers), false);
}

static void sending_gone(struct outgoing *sending)
{
    server_call_release(
        (struct server_call *)((char *)sending - offsetof(struct server_call, sending)));
}

static void send_message(struct server_call *call, struct message *message)
{
    struct outgoing *outgoing = &call->sending;

    begin(call);
    if (outgoing->references == 0) {
        call->references++; /* until it is on its way */
        outgoing_init(outgoing, message, sending_gone);
    } else {
        outgoing = outgoing_create(message);
    }
    http2_send(&call->stream, outgoing);
    outgoing_release(outgoing);
}

static struct status check_size(const struct message *reply)
{
    size_t size = reply == NULL ? 0 : outgoing_message_size(reply);

    if (size <= UINT32_MAX)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED, "a reply of %zu bytes, and 4 GiB is the most",
                        size);
}

/* The call's one end on the wire. */
void server_call_end(struct server_call *call, struct status status, struct message *reply)
{
    assert(!call->answered);
    call->answered = true;
    loop_clear_timer(call->connection->server->loop, &call->deadline);
    if (status_is_ok(status))
        status = check_size(reply);
    if (!status_is_ok(status) && !call->begun) {
        answer_failure(call, status);
        return;
    }
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

/* ---- What the method says. ---- */

/* In the loop's thread: the method's reference ends here. */
static void finish_here(struct server_call *call, struct status status, struct message *reply)
{
    if (!call->answered && call->stream.http2 != NULL)
        server_call_end(call, status, reply);
    if (reply != NULL)
        message_release(reply);
    /* No other thread has anything to say of it any more. */
    call->when_left = NULL;
    call->left = true;
    call->over = call->when_ready == NULL;
    server_call_release(call);
}

static void finish_posted(struct loop_task *task)
{
    struct server_call *call =
        (struct server_call *)((char *)task - offsetof(struct server_call, finish));
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

static void when_left(struct call *of, void (*left)(void *, struct call *), void *context)
{
    struct server_call *call = of_call(of);

    pthread_mutex_lock(&call->lock);
    bool gone = call->left;
    call->when_left = gone ? NULL : left;
    call->left_context = context;
    pthread_mutex_unlock(&call->lock);
    if (gone)
        left(context, of);
}

/* ---- Several replies. ---- */

struct sending {
    struct loop_task task;
    struct server_call *call;
    struct message message;
};

static void send_here(struct server_call *call, struct message *message)
{
    if (call->stream.http2 != NULL && !call->answered && status_is_ok(check_size(message)))
        send_message(call, message);
    else
        server_call_sent(call);
    message_release(message);
}

/* The call is there: its end is posted after this. */
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
    call->unsent += outgoing_message_size(reply);
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

/* All that was sent is on its way, or nobody wants it any more. */
void server_call_sent(struct server_call *call)
{
    if (call->over)
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
    bool now = call->left || call->unsent == 0;
    call->when_ready = now ? NULL : ready;
    call->ready_context = context;
    pthread_mutex_unlock(&call->lock);
    if (now)
        ready(context, of);
}

/* ---- The rest. ---- */

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

static const char *peer(const struct call *of)
{
    const struct server_call *call = of_call(of);

    return call->connection == NULL ? "" : call->connection->peer;
}

const struct call_type server_call_type = {
    .finish = finish,
    .when_left = when_left,
    .send = send_reply,
    .when_ready = when_ready,
    .receive = receive,
    .metadata = metadata,
    .add_metadata = add_metadata,
    .peer = peer,
};
