/*
 * remote_internal: the types and functions that the files of remote share. remote.c is the channel,
 * remote_connect.c gets it a connection, remote_call.c and remote_reply.c run the calls.
 */
#ifndef RPC_REMOTE_INTERNAL_H
#define RPC_REMOTE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/states.h"
#include "rpc/http2.h"
#include "rpc/metadata.h"
#include "rpc/remote.h"
#include "rpc/resolver.h"

/* The life of a channel's connection, drawn in remote_connect.c. */
enum remote_phase {
    REMOTE_IDLE,
    REMOTE_RESOLVING,
    REMOTE_CONNECTING,
    REMOTE_GREETING,
    REMOTE_READY,
    REMOTE_PAUSING
};

/* The connection in use, or an old one that finishes its calls. */
struct remote_connection {
    struct remote_connection *next;
    struct remote *remote;
    struct http2 *http2;
    char away_text[128]; /* the error of the server's GOAWAY, and its words; "": none came */
};

struct remote {
    struct channel channel; /* first */
    struct remote_options options;
    struct http2_limits limits;
    struct shared_loop *own_loop; /* NULL: the loop is that of the options */
    struct loop *loop;
    struct mailbox *mailbox;
    struct address address;
    char *text, *authority, *tls_name, *user_agent;
    char *authorization; /* with the token; NULL: none */
    struct socket_buffers *socket_buffers;
    struct session_memory *memory;
    bool closing;

    /* The connection: */
    enum remote_phase phase;
    struct resolver *resolver;
    struct resolved_host resolved;
    int next_address;
    int fd; /* while it connects; -1: none */
    struct loop_watch *watch;
    struct loop_timer timer; /* of the current phase */
    int pause_ms;            /* before the next attempt */
    struct remote_connection *connection, *old;

    struct remote_call *waiting, **waiting_end; /* for a connection */
    struct list_link *calls; /* struct remote_call: all that have begun and not finished */

    pthread_mutex_t lock; /* guards `state` */
    struct remote_state state;
};

/* The life of a call, drawn in remote_call.c. In the order of a call that succeeds. */
enum remote_call_state {
    REMOTE_CALL_NEW,
    REMOTE_CALL_WAITING,
    REMOTE_CALL_SUBMITTED,
    REMOTE_CALL_ANSWERED,
    REMOTE_CALL_REPLIED,
    REMOTE_CALL_FINISHED,
};

struct remote_call {
    struct http2_stream stream; /* first */
    struct client_call client;
    enum remote_call_state state; /* in the loop's thread */
    struct remote *remote;
    _Atomic int references; /* the handle's, the loop's, the stream's, each posted task's */
    struct list_link link;  /* in remote->calls */
    struct remote_call *next_waiting;
    char *path;
    int64_t deadline_ns;
    struct metadata_list sent_metadata, metadata;
    reply_function *done;
    message_function *received;
    void *context;
    struct loop_timer timer;
    struct loop_task start, cancel;
    _Atomic bool cancel_posted;
    struct grpc_frame *request;
    struct message reply;
    bool is_grpc;    /* by the content-type of the answer */
    bool has_code;   /* grpc-status came */
    int http_status; /* 0: no headers came */
    int attempts;
    enum status_code code;
    struct buffer text;
};

/* remote_connect.c; in the loop's thread */
void remote_want(struct remote *remote); /* connects, unless it is connecting or pausing */
void remote_connection_ready(struct remote_connection *connection);
void remote_connection_away(struct remote_connection *connection);
void remote_connection_lost(struct remote_connection *connection, struct status why);
void remote_disconnect(struct remote *remote);
/* The failure of a call that has no connection; `doing` begins the text. */
struct status remote_unavailable(struct remote *remote, enum status_code code, const char *doing);

/* remote_call.c; in the loop's thread */
struct client_call *remote_begin(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context);
void remote_cancel(struct client_call *client);
void remote_release(struct client_call *client);
const char *remote_metadata(const struct client_call *client, const char *name);
void remote_submit_waiting(struct remote *remote);
void remote_fail_waiting(struct remote *remote); /* unless they wait until their deadline */
void remote_fail_all(struct remote *remote, struct status why);
extern const unsigned remote_call_allowed[];
static inline void remote_call_enter(struct remote_call *call, enum remote_call_state state)
{
    call->state = state_next(remote_call_allowed, call->state, state);
}
void remote_call_acquire(struct remote_call *call);
void remote_call_drop(struct remote_call *call); /* drops a reference */
void remote_call_wait(struct remote_call *call); /* for a connection */
/* Ends the call, once: `done` is called. Takes *reply; NULL: none. */
void remote_call_finish(struct remote_call *call, struct status status, struct message *reply);

/* remote_reply.c */
extern const struct http2_side remote_side;

#endif
