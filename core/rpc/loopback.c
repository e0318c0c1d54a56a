#include "rpc/loopback.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "base/list.h"
#include "rpc/metadata.h"

struct loopback {
    struct channel channel; /* first: the handle */
    const struct service *service;
    void *instance;
    pthread_mutex_t lock;        /* guards the fields below, and those of the calls */
    struct list_link *in_flight; /* each a loopback_call whose method returned without a reply */
    bool broken;
    pthread_t timer; /* ends calls at their deadlines; started by the first call that may need it */
    bool timer_runs, closing;
    pthread_cond_t timer_wake;
};

/* One call, for both sides, which hold one reference each. */
struct loopback_call {
    struct client_call client; /* first: the client's handle */
    struct call call;          /* the server's */
    struct loopback *loopback;
    _Atomic int references;
    reply_function *done;
    message_function *received; /* the client's, for a METHOD_REPLIES */
    void *context;
    bool finished;             /* `done` was called, or is about to be */
    bool delivering;           /* `received` runs: an end that comes meanwhile waits in */
    enum status_code end_code; /* this; end_text NULL: none came */
    char *end_text;
    struct message reply;  /* call_send's first, for a client that takes one */
    struct list_link link; /* in in_flight */
    void (*cancelled)(void *context, struct call *call);
    void *cancelled_context;
    const struct call_options *options; /* while the method runs */
    received_function *receive;         /* the server's, for a METHOD_STREAM */
    void *receive_context;
    struct metadata_list trailers;
};

static struct loopback_call *of_call(struct call *call)
{
    return CONTAINER_OF(call, struct loopback_call, call);
}

static void drop(struct loopback_call *call)
{
    if (atomic_fetch_sub_explicit(&call->references, 1, memory_order_acq_rel) != 1)
        return;
    message_release(&call->reply);
    metadata_finish(&call->trailers);
    free(call->end_text);
    free(call);
}

/* Answers the client unless it was answered already; true: this was the answer. */
static bool answer(struct loopback_call *call, struct status status, struct message *reply)
{
    pthread_mutex_lock(&call->loopback->lock);
    bool first = !call->finished, later = first && call->delivering;
    call->finished = true;
    if (first && list_holds(&call->link))
        list_remove(&call->link);
    if (later) {
        call->end_code = status.code;
        call->end_text = xstrdup(status.message);
    }
    pthread_mutex_unlock(&call->loopback->lock);
    if (first && !later)
        call->done(call->context, status, reply);
    return first;
}

/* Passes one of several replies to the client; false: it has cancelled. */
static bool deliver(struct loopback_call *call, struct message *reply)
{
    pthread_mutex_lock(&call->loopback->lock);
    bool here = !call->finished;
    call->delivering = here;
    pthread_mutex_unlock(&call->loopback->lock);
    if (!here)
        return false;
    call->received(call->context, reply);
    pthread_mutex_lock(&call->loopback->lock);
    call->delivering = false;
    bool ended = call->end_text != NULL;
    pthread_mutex_unlock(&call->loopback->lock);
    if (ended) {
        struct message nothing = { 0 };
        struct status why = { call->end_code, call->end_text };
        call->done(call->context, why, &nothing);
    }
    return !ended;
}

static bool send_reply(struct call *server, struct message *reply)
{
    struct loopback_call *call = of_call(server);

    if (call->received != NULL)
        deliver(call, reply);
    else if (call->reply.release == NULL && call->reply.header.data == NULL)
        call->reply = message_move(reply);
    message_release(reply);
    return true;
}

/* The server's end of the call, which drops its reference. The channel may be gone once the client
 * is answered. */
static void finish(struct call *server, struct status status, struct message *reply)
{
    struct loopback_call *call = of_call(server);
    struct message nothing = { 0 };

    pthread_mutex_lock(&call->loopback->lock);
    call->cancelled = NULL; /* from now on the method need not be told of a cancellation */
    pthread_mutex_unlock(&call->loopback->lock);
    if (call->received != NULL && reply != NULL)
        deliver(call, reply);
    else if (reply == NULL && status_is_ok(status))
        nothing = message_move(&call->reply);
    answer(call, status, call->received == NULL && reply != NULL ? reply : &nothing);
    message_release(&nothing);
    if (reply != NULL)
        message_release(reply);
    drop(call);
}

/* Ends a call from the client's side: answers the client, tells the server. The caller holds a
 * reference, because both sides may drop theirs as soon as the client is answered. */
static void cancel_with(struct loopback_call *call, struct status status)
{
    struct message nothing = { 0 };

    if (!answer(call, status, &nothing))
        return;
    pthread_mutex_lock(&call->loopback->lock);
    void (*cancelled)(void *, struct call *) = call->cancelled;
    call->cancelled = NULL;
    pthread_mutex_unlock(&call->loopback->lock);
    if (cancelled != NULL)
        cancelled(call->cancelled_context, &call->call);
}

static void when_cancelled(struct call *server, void (*cancelled)(void *, struct call *),
                           void *context)
{
    struct loopback_call *call = of_call(server);

    pthread_mutex_lock(&call->loopback->lock);
    bool gone = call->finished;
    call->cancelled = gone ? NULL : cancelled;
    call->cancelled_context = context;
    pthread_mutex_unlock(&call->loopback->lock);
    if (gone)
        cancelled(context, server);
}

/* call_send returns after the client has taken the reply. */
static void when_ready(struct call *server, void (*ready)(void *, struct call *), void *context)
{
    ready(context, server);
}

static void receive(struct call *server, received_function *received, void *context)
{
    struct loopback_call *call = of_call(server);

    call->receive = received;
    call->receive_context = context;
}

static const char *request_metadata(const struct call *server, const char *name)
{
    const struct loopback_call *call = of_call((struct call *)(uintptr_t)server);

    return call->options == NULL
               ? NULL
               : metadata_find(call->options->metadata, call->options->metadata_count, name);
}

static void add_metadata(struct call *server, const char *name, const char *value)
{
    metadata_add(&of_call(server)->trailers, name, value);
}

static const struct call_type server_side = {
    .finish = finish,
    .when_cancelled = when_cancelled,
    .send = send_reply,
    .when_ready = when_ready,
    .receive = receive,
    .metadata = request_metadata,
    .add_metadata = add_metadata,
};

/* The call in flight whose deadline is the earliest; NULL: none. */
static struct loopback_call *earliest(struct loopback *loopback)
{
    struct loopback_call *first = NULL;

    for (struct list_link *at = loopback->in_flight; at != NULL; at = at->next) {
        struct loopback_call *call = CONTAINER_OF(at, struct loopback_call, link);
        if (first == NULL || call->call.deadline_ns < first->call.deadline_ns)
            first = call;
    }
    return first;
}

static void *timer_run(void *context)
{
    struct loopback *loopback = context;
    struct clock *clock = loopback->channel.clock;

    pthread_mutex_lock(&loopback->lock);
    while (!loopback->closing) {
        struct loopback_call *call = earliest(loopback);
        int64_t deadline_ns = call != NULL ? call->call.deadline_ns : CLOCK_NEVER;
        if (clock_now_ns(clock) < deadline_ns) {
            clock_wait(clock, &loopback->timer_wake, &loopback->lock, deadline_ns);
            continue;
        }
        atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
        pthread_mutex_unlock(&loopback->lock);
        cancel_with(call, status_error(STATUS_DEADLINE_EXCEEDED, "deadline exceeded"));
        drop(call);
        pthread_mutex_lock(&loopback->lock);
    }
    pthread_mutex_unlock(&loopback->lock);
    return NULL;
}

/* The method has returned without a reply: from now on others may end the call. */
static void keep_in_flight(struct loopback *loopback, struct loopback_call *call)
{
    bool broken;

    pthread_mutex_lock(&loopback->lock);
    broken = loopback->broken;
    if (!call->finished && !broken) {
        list_push(&loopback->in_flight, &call->link);
        if (call->call.deadline_ns != CLOCK_NEVER && !loopback->timer_runs)
            loopback->timer_runs = pthread_create(&loopback->timer, NULL, timer_run, loopback) == 0;
        pthread_cond_signal(&loopback->timer_wake);
    }
    pthread_mutex_unlock(&loopback->lock);
    if (broken)
        cancel_with(call, status_error(STATUS_UNAVAILABLE, "the peer is gone"));
}

/* Checks whether a call can begin. */
static struct status refuse(struct loopback *loopback, const struct method *method,
                            const char *path, int64_t deadline_ns)
{
    pthread_mutex_lock(&loopback->lock);
    bool broken = loopback->broken;
    pthread_mutex_unlock(&loopback->lock);
    if (broken)
        return status_error(STATUS_UNAVAILABLE, "the peer is gone");
    if (method == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "unknown method %s", path);
    if (deadline_ns != CLOCK_NEVER && clock_now_ns(loopback->channel.clock) >= deadline_ns)
        return status_error(STATUS_DEADLINE_EXCEEDED, "deadline exceeded");
    return status_ok();
}

static bool is_finished(struct loopback_call *call)
{
    pthread_mutex_lock(&call->loopback->lock);
    bool finished = call->finished;
    pthread_mutex_unlock(&call->loopback->lock);
    return finished;
}

/* Passes a client's one message and its end to a METHOD_STREAM. */
static void run_stream(struct loopback_call *call, const struct method *method,
                       struct message *request)
{
    struct message nothing = { 0 };

    method->handle(call->loopback->instance, &call->call, &nothing);
    if (call->receive != NULL && !is_finished(call))
        call->receive(call->receive_context, &call->call, request);
    if (call->receive != NULL && !is_finished(call))
        call->receive(call->receive_context, &call->call, NULL);
    message_release(request);
}

static struct client_call *begin(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context)
{
    struct loopback *loopback = (struct loopback *)channel;
    struct loopback_call *call = zalloc(sizeof *call);
    const struct method *method = service_find(loopback->service, path);
    struct message taken = message_move(request);

    call->client.channel = channel;
    call->call = (struct call){ &server_side, options->deadline_ns };
    call->loopback = loopback;
    call->done = done;
    call->received = options->received;
    call->context = context;
    call->options = options;
    atomic_init(&call->references, 3); /* the client, the server, this function */
    struct status status = refuse(loopback, method, path, options->deadline_ns);
    if (status_is_ok(status)) {
        if (method->kind == METHOD_STREAM)
            run_stream(call, method, &taken);
        else
            method->handle(loopback->instance, &call->call, &taken);
        call->options = NULL;
        keep_in_flight(loopback, call);
    } else {
        message_release(&taken);
        call_fail(&call->call, status);
    }
    drop(call);
    return &call->client;
}

static void cancel(struct client_call *client)
{
    struct loopback_call *call = (struct loopback_call *)client;

    atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
    cancel_with(call, status_error(STATUS_CANCELLED, "cancelled"));
    drop(call);
}

static void release(struct client_call *client)
{
    drop((struct loopback_call *)client);
}

static const char *reply_metadata(const struct client_call *client, const char *name)
{
    const struct loopback_call *call = (const struct loopback_call *)client;

    return metadata_find(call->trailers.items, call->trailers.count, name);
}

static void close_loopback(struct channel *channel)
{
    struct loopback *loopback = (struct loopback *)channel;

    pthread_mutex_lock(&loopback->lock);
    assert(loopback->in_flight == NULL);
    loopback->closing = true;
    pthread_cond_signal(&loopback->timer_wake);
    pthread_mutex_unlock(&loopback->lock);
    if (loopback->timer_runs)
        pthread_join(loopback->timer, NULL);
    pthread_cond_destroy(&loopback->timer_wake);
    pthread_mutex_destroy(&loopback->lock);
    free(loopback);
}

static const struct channel_type loopback_type = {
    .begin = begin,
    .cancel = cancel,
    .release = release,
    .close = close_loopback,
    .metadata = reply_metadata,
};

struct channel *loopback_open(const struct service *service, void *instance, struct clock *clock)
{
    struct loopback *loopback = zalloc(sizeof *loopback);

    loopback->channel = (struct channel){ .type = &loopback_type, .clock = clock };
    loopback->service = service;
    loopback->instance = instance;
    pthread_mutex_init(&loopback->lock, NULL);
    clock_cond_init(&loopback->timer_wake);
    return &loopback->channel;
}

void loopback_break(struct channel *channel)
{
    struct loopback *loopback = (struct loopback *)channel;

    pthread_mutex_lock(&loopback->lock);
    loopback->broken = true;
    while (loopback->in_flight != NULL) {
        struct loopback_call *call = CONTAINER_OF(loopback->in_flight, struct loopback_call, link);
        atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
        pthread_mutex_unlock(&loopback->lock);
        cancel_with(call, status_error(STATUS_UNAVAILABLE, "the peer is gone"));
        drop(call);
        pthread_mutex_lock(&loopback->lock);
    }
    pthread_mutex_unlock(&loopback->lock);
}
