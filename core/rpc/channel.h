/*
 * channel: calls to one peer. The peer may be in this process (loopback.h) or behind a socket; both
 * sides of a call see the same either way. Bytes are all that is known here: no tensor, no graph.
 *
 *     client    channel_start(channel, "/service/Method", &request, deadline_ns, done, context)
 *               … done(context, status, &reply) exactly once, in any thread, perhaps before start
 * returns server    handle(instance, call, &request)  …  call_reply(call, &reply) or
 * call_fail(call, status), exactly once, now or later, from any thread
 *
 * calls.h waits for several of them at once.
 */
#ifndef RPC_CHANNEL_H
#define RPC_CHANNEL_H

#include "base/clock.h"
#include "rpc/message.h"

struct call;
struct client_call;
struct channel;

/* Runs in the thread that received the request. Takes the request: message_release, before or after
 * the reply. */
typedef void method_function(void *instance, struct call *call, struct message *request);

struct method {
    const char *path; /* "/slipway.training.ParameterServer/Push" */
    method_function *handle;
};

struct service {
    const struct method *methods;
    int methods_count;
};

/* The status' text is only valid during the call. Takes what it wants of *reply (message_move); the
 * rest is released. */
typedef void reply_function(void *context, struct status status, struct message *reply);

/* ---- What a server does with a call. ---- */

void call_reply(struct call *call,
                struct message *reply); /* takes *reply; forgotten if the client has left */
void call_fail(struct call *call, struct status status);
int64_t call_deadline_ns(const struct call *call); /* of the channel's clock; CLOCK_NEVER: none */

/**
 * Asks to be told when the client has left (cancelled, past its deadline, gone) before it got a
 * reply, so that nothing is kept for it. `left` runs at most once, in any thread, without locks of
 * the channel; the call still wants its reply.
 */
void call_when_left(struct call *call, void (*left)(void *context, struct call *call),
                    void *context);

/* ---- What a client does. ---- */

/**
 * Starts a call. Takes *request. The handle is for client_call_cancel; client_call_release gives it
 * up, which does not cancel.
 *
 * Errors  by way of done: DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE the peer is gone, UNIMPLEMENTED
 * no such method, and what the method says
 */
struct client_call *channel_start(struct channel *channel, const char *path,
                                  struct message *request, int64_t deadline_ns,
                                  reply_function *done, void *context);
void client_call_cancel(
    struct client_call *call); /* done gets CANCELLED unless it was called already */
void client_call_release(struct client_call *call); /* accepts NULL */

struct clock *channel_clock(const struct channel *channel);
void channel_close(struct channel *channel); /* after the last client_call_release; accepts NULL */

/* ---- What a kind of channel is made of. Embed these first. ---- */

struct channel_type {
    struct client_call *(*start)(struct channel *channel, const char *path, struct message *request,
                                 int64_t deadline_ns, reply_function *done, void *context);
    void (*cancel)(struct client_call *call);
    void (*release)(struct client_call *call);
    void (*close)(struct channel *channel);
};

struct channel {
    const struct channel_type *type;
    struct clock *clock;
};

struct client_call {
    struct channel *channel;
};

struct call_type {
    void (*finish)(struct call *call, struct status status, struct message *reply);
    void (*when_left)(struct call *call, void (*left)(void *, struct call *), void *context);
};

struct call {
    const struct call_type *type;
    int64_t deadline_ns;
};

#endif
