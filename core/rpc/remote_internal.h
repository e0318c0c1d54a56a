/*
 * remote_internal: what the files of remote share: remote.c is the channel, remote_connect.c gets
 * it a connection, remote_call.c runs the calls.
 */
#ifndef RPC_REMOTE_INTERNAL_H
#define RPC_REMOTE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "rpc/http2.h"
#include "rpc/metadata.h"
#include "rpc/remote.h"
#include "rpc/resolver.h"

enum remote_phase {
    REMOTE_IDLE,
    REMOTE_RESOLVING,
    REMOTE_CONNECTING,
    REMOTE_GREETING,
    REMOTE_READY,
    REMOTE_PAUSING
};

/* A connection, the one that is used or one that finishes what it has begun. */
struct remote_connection {
    struct remote_connection *next;
    struct remote *remote;
    struct http2 *http2;
};

struct remote {
    struct channel channel; /* first: the handle */
    struct remote_options options;
    struct http2_limits limits;
    struct shared_loop *own_loop; /* NULL: the options' */
    struct loop *loop;
    struct mailbox *mailbox;
    struct address address;
    char *text, *authority, *tls_name, *user_agent;
    struct reading *reading;
    struct session_memory *memory;
    bool closing;

    /* Connecting. */
    enum remote_phase phase;
    struct resolver *resolver;
    struct resolved resolved;
    int next_address;
    int fd; /* being connected; -1: none */
    struct loop_watch *watch;
    struct loop_timer timer; /* of the phase */
    int pause_ms;            /* before the next attempt */
    struct remote_connection *connection, *old;
    struct loop_task connect; /* remote_connect from another thread */
    _Atomic bool connect_posted;

    struct remote_call *waiting, **waiting_end; /* for a connection */
    struct remote_call *calls;                  /* all that are not finished */

    pthread_mutex_t lock; /* guards state */
    struct remote_state state;
};

struct remote_call {
    struct http2_stream stream; /* first */
    struct client_call client;
    struct remote *remote;
    _Atomic int references; /* the handle's, the loop's, each posted task's */
    struct remote_call *next, *previous, *next_waiting;
    char *path;
    int64_t deadline_ns;
    struct metadata_list sent_metadata, metadata;
    reply_function *done;
    message_function *received;
    void *context;
    struct loop_timer timer;
    struct loop_task start, cancel;
    _Atomic bool cancel_posted;
    struct outgoing *request;
    struct message reply;
    bool begun, replied, waits, finished, answered; /* answered: its headers came */
    bool content_type, has_code;
    int http, attempts;
    enum status_code code;
    struct buffer text;
};

/* remote_connect.c; in the loop. */
void remote_want(struct remote *remote); /* connects unless it does or pauses */
void remote_connection_ready(struct remote_connection *connection);
void remote_connection_away(struct remote_connection *connection);
void remote_connection_lost(struct remote_connection *connection, struct status why);
void remote_disconnect(struct remote *remote);
/* Why a call cannot have a connection now; `doing`: what it is about. */
struct status remote_unavailable(struct remote *remote, enum status_code code, const char *doing);

/* remote_call.c; in the loop. */
struct client_call *remote_begin(struct channel *channel, const char *path, struct message *request,
                                 const struct call_options *options, reply_function *done,
                                 void *context);
void remote_cancel(struct client_call *client);
void remote_release(struct client_call *client);
const char *remote_metadata(const struct client_call *client, const char *name);
void remote_submit_waiting(struct remote *remote);
void remote_fail_waiting(struct remote *remote); /* those that do not wait for a connection */
void remote_fail_all(struct remote *remote, struct status why);
void remote_call_acquire(struct remote_call *call);
void remote_call_drop(struct remote_call *call); /* a reference */
void remote_call_wait(struct remote_call *call); /* for a connection */
/* Its one end: `done` is called. Takes the reply; NULL: none. */
void remote_call_finish(struct remote_call *call, struct status status, struct message *reply);

/* remote_reply.c */
extern const struct http2_side remote_side;

#endif
