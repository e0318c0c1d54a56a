/*
 * channel: calls to one peer, in this process (loopback.h) or behind a socket (remote.h; server.h
 * is the other side). Both sides of a call see the same in either case. This layer carries bytes:
 * it knows no tensor and no graph.
 *
 *     client    channel_start(channel, "/service/Method", &request, deadline_ns, done, context)
 *               … done(context, status, &reply) exactly once, in any thread, possibly before
 *               channel_start returns
 *     server    handle(instance, call, &request)
 *               … call_reply(call, &reply) or call_fail(call, status) exactly once, now or later,
 *               from any thread; a streaming method may call_send first
 *
 * call_group.h waits for several calls together.
 */
#ifndef RPC_CHANNEL_H
#define RPC_CHANNEL_H

#include "base/clock.h"
#include "rpc/message.h"

struct call;
struct client_call;
struct channel;
struct shared_loop;

/* ---- the definition of a service ---- */

/* Runs in the thread that received the request. Takes the request, and releases it
 * (message_release) before or after the reply. */
typedef void method_function(void *instance, struct call *call, struct message *request);

enum method_kind {
    METHOD_UNARY,   /* one request, one reply */
    METHOD_REPLIES, /* one request, any number of replies (call_send), then call_end */
    METHOD_PACKED,  /* as METHOD_UNARY, but a compressed request is passed on as it is
                       (message_inflate.h): unpacking can take long, and the method chooses the
                       thread */
    METHOD_STREAM,  /* messages in both directions: `handle` gets an empty request, and calls
                       call_receive */
};

struct method {
    const char *path; /* "/slipway.training.ParameterServer/Push" */
    method_function *handle;
    enum method_kind kind;
    bool payload; /* a request's field 15 is split off as pieces (message.h); otherwise all of it is
                     header */
};

struct service {
    const struct method *methods;
    int methods_count;
};

/* HTTP headers: short texts beside the messages. Names are in lower case; a "-bin" value is base64,
 * on the wire and here. */
struct metadata {
    const char *name, *value;
};

/* The prefix of a shared secret in the header `authorization`. */
#define RPC_TOKEN_SCHEME "Bearer "

/* ---- the server's side of a call ---- */

/* takes *reply; drops it if the call was cancelled */
void call_reply(struct call *call, struct message *reply);
void call_fail(struct call *call, struct status status);
int64_t call_deadline_ns(const struct call *call); /* by the channel's clock; CLOCK_NEVER: none */

/**
 * Registers a callback that frees resources when the call is cancelled. As in gRPC, a call is
 * cancelled when its client cancels, passes its deadline or disconnects before it has the reply.
 * `cancelled` runs at most once, in any thread, and without the channel's locks. The call still
 * needs its reply or failure.
 *
 * A call is valid until its method returns, even if it is answered before. A method may thus first
 * let other threads answer, and then call this: if the call has ended, `cancelled` runs at once; if
 * the answer is only on its way, `cancelled` never runs.
 */
void call_when_cancelled(struct call *call, void (*cancelled)(void *context, struct call *call),
                         void *context);

/* Sends one reply of several and takes it. After the last one, use call_end or call_fail. False:
 * the client reads more slowly than the method sends; a method that can wait uses
 * call_when_ready. */
bool call_send(struct call *call, struct message *reply);
void call_end(struct call *call); /* ends the replies with OK */

/* Calls `ready` once, when everything sent is on its way, or dropped because the call was
 * cancelled. In any thread, possibly at once. */
void call_when_ready(struct call *call, void (*ready)(void *context, struct call *call),
                     void *context);

/* For a METHOD_STREAM, within `handle`: `received` gets the client's messages one after the other,
 * in the thread that received them, then NULL. It takes each message. None comes after the end of
 * the call. */
typedef void received_function(void *context, struct call *call, struct message *message);
void call_receive(struct call *call, received_function *received, void *context);

/* The client's metadata, while `handle` runs; NULL: nothing of this name. */
const char *call_metadata(const struct call *call, const char *name);
/* Sent with the end of the call, as a trailer. Copied. Before the reply. */
void call_add_metadata(struct call *call, const char *name, const char *value);

/* ---- the client's side of a call ---- */

/* The status' text is valid during the call only. The function moves the parts that it keeps out of
 * *reply (message_move); the rest is released. */
typedef void reply_function(void *context, struct status status, struct message *reply);
/* One reply of several, by the same rules; the last one goes to `done`. */
typedef void message_function(void *context, struct message *reply);

struct call_options {
    int64_t deadline_ns; /* CLOCK_NEVER: none (0 has passed long ago) */
    const struct metadata *metadata;
    int metadata_count;
    message_function *received; /* for a METHOD_REPLIES; `done` then gets no reply */
};

/**
 * Starts a call. Takes *request. The handle is for client_call_cancel; client_call_release gives
 * the handle up without cancelling.
 *
 * Errors  passed to `done`: DEADLINE_EXCEEDED; CANCELLED; UNAVAILABLE the peer is gone;
 *         UNIMPLEMENTED no such method; and the method's own
 */
struct client_call *channel_begin(struct channel *channel, const char *path,
                                  struct message *request, const struct call_options *options,
                                  reply_function *done, void *context);
/* The same with only a deadline. */
struct client_call *channel_start(struct channel *channel, const char *path,
                                  struct message *request, int64_t deadline_ns,
                                  reply_function *done, void *context);
/* `done` gets CANCELLED unless it was called already */
void client_call_cancel(struct client_call *call);
void client_call_release(struct client_call *call); /* accepts NULL */

/* The server's trailers, within `done`; NULL: nothing of this name. */
const char *client_call_metadata(const struct client_call *call, const char *name);

struct clock *channel_clock(const struct channel *channel);
/* Call it after the last client_call_release; accepts NULL. */
void channel_close(struct channel *channel);

/* ---- the implementation of a kind of channel ---- */

/* A kind of channel embeds these structs as the first members of its own. */

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
    /* run by the thread that waits for a reply; NULL: replies need no loop */
    struct shared_loop *loop;
};

struct client_call {
    struct channel *channel;
};

struct call_type {
    /* Ends the call, with *reply unless it is NULL. */
    void (*finish)(struct call *call, struct status status, struct message *reply);
    void (*when_cancelled)(struct call *call, void (*cancelled)(void *, struct call *),
                           void *context);
    bool (*send)(struct call *call, struct message *reply);
    void (*when_ready)(struct call *call, void (*ready)(void *, struct call *), void *context);
    void (*receive)(struct call *call, received_function *received, void *context);
    const char *(*metadata)(const struct call *call, const char *name);
    void (*add_metadata)(struct call *call, const char *name, const char *value);
};

struct call {
    const struct call_type *type;
    int64_t deadline_ns;
};

/* The method of this path; NULL: none. */
const struct method *service_find(const struct service *service, const char *path);

#endif
