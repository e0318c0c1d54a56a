#include "rpc/loopback.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"

struct loopback {
    struct channel channel; /* first: the handle */
    const struct service *service;
    void *instance;
    pthread_mutex_t lock;            /* guards all below and the calls' own fields */
    struct loopback_call *in_flight; /* whose method returned without a reply */
    bool broken;
    pthread_t timer; /* ends calls at their deadlines; started with the first that may need it */
    bool timer_runs, closing;
    pthread_cond_t timer_wake;
};

/* One call, for both sides; each holds one reference. */
struct loopback_call {
    struct client_call client; /* first: the client's handle */
    struct call call;          /* the server's */
    struct loopback *loopback;
    _Atomic int references;
    reply_function *done;
    void *context;
    bool finished, linked; /* finished: done was or is being called */
    struct loopback_call *next, *previous;
    void (*left)(void *context, struct call *call);
    void *left_context;
};

static struct loopback_call *of_call(struct call *call)
{
    return (struct loopback_call *)((char *)call - offsetof(struct loopback_call, call));
}

static void drop(struct loopback_call *call)
{
    if (atomic_fetch_sub_explicit(&call->references, 1, memory_order_acq_rel) == 1)
        free(call);
}

static void unlink_call(struct loopback_call *call)
{
    if (!call->linked)
        return;
    call->linked = false;
    if (call->next != NULL)
        call->next->previous = call->previous;
    if (call->previous != NULL)
        call->previous->next = call->next;
    else
        call->loopback->in_flight = call->next;
}

/* Gives the client its answer, if nobody has yet; true: it was this one. */
static bool answer(struct loopback_call *call, struct status status, struct message *reply)
{
    pthread_mutex_lock(&call->loopback->lock);
    bool first = !call->finished;
    call->finished = true;
    if (first)
        unlink_call(call);
    pthread_mutex_unlock(&call->loopback->lock);
    if (first)
        call->done(call->context, status, reply);
    return first;
}

/* The server's one reply: its reference ends here. */
static void finish(struct call *server, struct status status, struct message *reply)
{
    struct loopback_call *call = of_call(server);

    answer(call, status, reply);
    message_release(reply);
    drop(call);
}

/* Ends a call from the client's side: the client is answered, the server is told. */
static void leave(struct loopback_call *call, struct status status)
{
    struct message nothing = { 0 };

    if (!answer(call, status, &nothing))
        return;
    pthread_mutex_lock(&call->loopback->lock);
    void (*left)(void *, struct call *) = call->left;
    call->left = NULL;
    pthread_mutex_unlock(&call->loopback->lock);
    if (left != NULL)
        left(call->left_context, &call->call);
}

static void when_left(struct call *server, void (*left)(void *, struct call *), void *context)
{
    struct loopback_call *call = of_call(server);

    pthread_mutex_lock(&call->loopback->lock);
    bool gone = call->finished;
    call->left = gone ? NULL : left;
    call->left_context = context;
    pthread_mutex_unlock(&call->loopback->lock);
    if (gone)
        left(context, server);
}

static const struct call_type server_side = { finish, when_left };

/* The earliest deadline of what is in flight, and the call it belongs to. */
static struct loopback_call *earliest(struct loopback *loopback)
{
    struct loopback_call *first = NULL;

    for (struct loopback_call *call = loopback->in_flight; call != NULL; call = call->next)
        if (first == NULL || call->call.deadline_ns < first->call.deadline_ns)
            first = call;
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
        leave(call, status_error(STATUS_DEADLINE_EXCEEDED, "deadline exceeded"));
        drop(call);
        pthread_mutex_lock(&loopback->lock);
    }
    pthread_mutex_unlock(&loopback->lock);
    return NULL;
}

/* The method returned and has not replied: from now on others may end the call. */
static void keep_in_flight(struct loopback *loopback, struct loopback_call *call)
{
    bool broken;

    pthread_mutex_lock(&loopback->lock);
    broken = loopback->broken;
    if (!call->finished && !broken) {
        call->linked = true;
        call->next = loopback->in_flight;
        if (call->next != NULL)
            call->next->previous = call;
        loopback->in_flight = call;
        if (call->call.deadline_ns != CLOCK_NEVER && !loopback->timer_runs)
            loopback->timer_runs = pthread_create(&loopback->timer, NULL, timer_run, loopback) == 0;
        pthread_cond_signal(&loopback->timer_wake);
    }
    pthread_mutex_unlock(&loopback->lock);
    if (broken)
        leave(call, status_error(STATUS_UNAVAILABLE, "the peer is gone"));
}

static const struct method *find_method(const struct service *service, const char *path)
{
    for (int i = 0; i < service->methods_count; i++)
        if (service->methods[i].path == path || strcmp(service->methods[i].path, path) == 0)
            return &service->methods[i];
    return NULL;
}

/* Why a call cannot even begin. */
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

static struct client_call *start(struct channel *channel, const char *path, struct message *request,
                                 int64_t deadline_ns, reply_function *done, void *context)
{
    struct loopback *loopback = (struct loopback *)channel;
    struct loopback_call *call = zalloc(sizeof *call);
    const struct method *method = find_method(loopback->service, path);
    struct message taken = message_move(request);

    call->client.channel = channel;
    call->call = (struct call){ &server_side, deadline_ns };
    call->loopback = loopback;
    call->done = done;
    call->context = context;
    atomic_init(&call->references, 3); /* the client, the server, this function */
    struct status status = refuse(loopback, method, path, deadline_ns);
    if (status_is_ok(status)) {
        method->handle(loopback->instance, &call->call, &taken);
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
    leave((struct loopback_call *)client, status_error(STATUS_CANCELLED, "cancelled"));
}

static void release(struct client_call *client)
{
    drop((struct loopback_call *)client);
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

static const struct channel_type loopback_type = { start, cancel, release, close_loopback };

struct channel *loopback_open(const struct service *service, void *instance, struct clock *clock)
{
    struct loopback *loopback = zalloc(sizeof *loopback);

    loopback->channel = (struct channel){ &loopback_type, clock };
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
        struct loopback_call *call = loopback->in_flight;
        atomic_fetch_add_explicit(&call->references, 1, memory_order_relaxed);
        pthread_mutex_unlock(&loopback->lock);
        leave(call, status_error(STATUS_UNAVAILABLE, "the peer is gone"));
        drop(call);
        pthread_mutex_lock(&loopback->lock);
    }
    pthread_mutex_unlock(&loopback->lock);
}
