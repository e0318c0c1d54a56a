/*
 * channel: calls to one peer. The peer may be in this process (loopback.h) or behind a socket
 * (remote.h here, server.h there); both sides of a call see the same either way. Bytes are all that
 * is known here: no tensor, no graph.
 *
 *     client    channel_start(channel, "/service/Method", &request, deadline_ns, done, context)
 *               … done(context, status, &reply) exactly once, in any thread, perhaps before start
 *               returns
 *     server    handle(instance, call, &request)
 *               … call_reply(call, &reply) or call_fail(call, status), exactly once, now or later,
 *               from any thread; a streaming method may call_send before that
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
struct shared_loop;

/* ---- What a service is. ---- */

/* Runs in the thread that received the request. Takes the request: message_release, before or after
 * the reply. */
typedef void method_function(void *instance, struct call *call, struct message *request);

enum method_kind {
    METHOD_UNARY,   /* one request, one reply */
    METHOD_REPLIES, /* one request, any number of replies (call_send), then call_end */
    METHOD_PACKED,  /* as METHOD_UNARY, but a compressed request comes as it is (inflate.h):
                       inflating may take long, so the method does it in the thread it likes */
    METHOD_STREAM,  /* messages both ways: handle gets an empty request and says call_receive */
};

struct method {
    const char *path; /* "/slipway.training.ParameterServer/Push" */
    method_function *handle;
    enum method_kind kind;
    bool payload; /* a request's field 15 comes as pieces (message.h); else all of it is header */
};

struct service {
    const struct method *methods;
    int methods_count;
};

/* What HTTP calls headers: beside the messages, small, text. Names in lower case; a "-bin" value is
 * base64 on the wire and here. */
struct metadata {
    const char *name, *value;
};

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

/* One reply of several: takes *reply. After the last, call_end (or call_fail). False: the client
 * reads more slowly than this; who can wait, waits (call_when_ready). */
bool call_send(struct call *call, struct message *reply);
void call_end(struct call *call); /* OK, and nothing more to say */

/* Tells once when what was sent is on its way, or forgotten since the client has left. In any
 * thread, perhaps at once. */
void call_when_ready(struct call *call, void (*ready)(void *context, struct call *call),
                     void *context);

/* METHOD_STREAM: each message of the client, one after the other, in the thread that received it;
 * NULL when the client has no more. Takes the message. Set in `handle`; none come after the end of
 * the call. */
typedef void received_function(void *context, struct call *call, struct message *message);
void call_receive(struct call *call, received_function *received, void *context);

/* What the client sent beside the request, while `handle` runs; NULL: nothing of this name. */
const char *call_metadata(const struct call *call, const char *name);
/* Sent beside the end of the call, as trailers. Copied. Before the reply. */
void call_add_metadata(struct call *call, const char *name, const char *value);
const char *call_peer(const struct call *call); /* "10.0.0.7:51234"; while `handle` runs */

/* ---- What a client does. ---- */

/* The status' text is only valid during the call. Takes what it wants of *reply (message_move); the
 * rest is released. */
typedef void reply_function(void *context, struct status status, struct message *reply);
/* One reply of several. As above; before the last, which is `done`'s. */
typedef void message_function(void *context, struct message *reply);

struct call_options {
    int64_t deadline_ns; /* CLOCK_NEVER: none (0 is long past) */
    const struct metadata *metadata;
    int metadata_count;
    message_function *received; /* for a METHOD_REPLIES; then `done` gets no reply */
};

/**
 * Starts a call. Takes *request. The handle is for client_call_cancel; client_call_release gives it
 * up, which does not cancel.
 *
 * Errors  by way of done: DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE the peer is gone, UNIMPLEMENTED
 * no such method, and what the method says
 */
struct client_call *channel_begin(struct channel *channel, const char *path,
                                  struct message *request, const struct call_options *options,
                                  reply_function *done, void *context);
/* The same with nothing but a deadline. */
struct client_call *channel_start(struct channel *channel, const char *path,
                                  struct message *request, int64_t deadline_ns,
                                  reply_function *done, void *context);
void client_call_cancel(
    struct client_call *call); /* done gets CANCELLED unless it was called already */
void client_call_release(struct client_call *call); /* accepts NULL */

/* What the server sent beside its reply or failure, within `done`; NULL: nothing of this name. */
const char *client_call_metadata(const struct client_call *call, const char *name);

struct clock *channel_clock(const struct channel *channel);
void channel_close(struct channel *channel); /* after the last client_call_release; accepts NULL */

/* ---- What a kind of channel is made of. Embed these first. ---- */

struct channel_type {
    struct client_call *(*begin)(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context);
    void (*cancel)(struct client_call *call);
    void (*release)(struct client_call *call);
    void (*close)(struct channel *channel);
    const char *(*metadata)(const struct client_call *call, const char *name);
};

struct channel {
    const struct channel_type *type;
    struct clock *clock;
    struct shared_loop *loop; /* who waits for a reply turns it; NULL: replies come by themselves */
};

struct client_call {
    struct channel *channel;
};

struct call_type {
    /* The end, with a reply unless it is NULL. */
    void (*finish)(struct call *call, struct status status, struct message *reply);
    void (*when_left)(struct call *call, void (*left)(void *, struct call *), void *context);
    bool (*send)(struct call *call, struct message *reply);
    void (*when_ready)(struct call *call, void (*ready)(void *, struct call *), void *context);
    void (*receive)(struct call *call, received_function *received, void *context);
    const char *(*metadata)(const struct call *call, const char *name);
    void (*add_metadata)(struct call *call, const char *name, const char *value);
    const char *(*peer)(const struct call *call);
};

struct call {
    const struct call_type *type;
    int64_t deadline_ns;
};

/* The method of this path; NULL: none. */
const struct method *service_find(const struct service *service, const char *path);

#endif
