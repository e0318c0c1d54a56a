/*
 * server_internal: the types and functions that the files of the server share. server.c owns the
 * connections, server_listen.c accepts them, server_call.c and server_reply.c run the calls.
 */
#ifndef RPC_SERVER_INTERNAL_H
#define RPC_SERVER_INTERNAL_H

#include "base/map.h"
#include "base/states.h"
#include "rpc/address.h"
#include "rpc/http2.h"
#include "rpc/metadata.h"
#include "rpc/server.h"

struct method_entry {
    const struct method *method;
    void *instance;
};

struct server_listener {
    struct server_listener *next;
    struct rpc_server *server;
    struct loop_watch *watch;
    struct loop_timer pause; /* after descriptors ran out */
    int fd;
    char *path; /* of a Unix socket, to be removed; otherwise NULL */
};

struct server_connection {
    struct list_link link; /* in the server's list */
    struct rpc_server *server;
    struct http2 *http2;
    struct server_call *parked, **parked_end; /* calls that wait until the peer reads its replies */
};

struct rpc_server {
    struct loop *loop;
    struct mailbox *mailbox;
    struct rpc_server_options options;
    struct http2_limits limits;
    struct socket_buffers *socket_buffers;
    struct session_memory *memory;
    struct map methods;              /* path → struct method_entry */
    const struct method_entry *last; /* the last one found: the next call usually wants the same */
    struct server_listener *listeners;
    struct list_link *connections; /* of struct server_connection */
    int connections_count;
    struct loop_timer going, gone; /* while draining: time to refuse new streams; to close all */
    struct server_call *idle;      /* finished calls, kept for the next ones */
    int idle_count;
    void (*drained)(void *context);
    void *drained_context;
    bool draining;
};

/* A message for a METHOD_STREAM whose client must first read replies. */
struct waiting_message {
    struct waiting_message *next;
    struct message message;
};

/* The life of a call, drawn in server_call.c. In the order of a call that succeeds. */
enum server_call_state {
    CALL_AWAITS_HEADERS,
    CALL_AWAITS_MESSAGE,
    CALL_AWAITS_END,
    CALL_PARKED,
    CALL_RUNNING,
    CALL_REPLYING,
    CALL_DETACHED,
    CALL_ENDED,
};

struct server_call {
    struct http2_stream stream; /* first */
    struct call call;
    enum server_call_state state;
    struct server_connection *connection; /* NULL: its stream is gone */
    const struct method_entry *entry;     /* NULL: unknown */
    int references; /* the stream's, the method's, the first reply's; in the loop's thread */

    /* The request: */
    struct message request;
    struct waiting_message *waiting, *waiting_last; /* of a METHOD_STREAM */
    int waiting_count;
    bool end_delivered; /* a METHOD_STREAM knows that the client has no more messages */
    struct metadata_list metadata;
    int64_t timeout_ns; /* as the client sent it; negative: none */
    struct loop_timer deadline;
    char *path;                 /* of an unknown method */
    char *authorization;        /* if the server has a function that asks for it; NULL: none came */
    bool has_token, is_trusted; /* if the server has a token */
    bool is_post, is_head, is_grpc, is_encoded; /* as the request's headers say */
    const char *wrong;                          /* the fault of the request's headers; NULL: none */
    enum status_code wrong_code;

    struct server_call *next_parked, *next_idle;

    /* The replies: */
    struct grpc_frame sending; /* the frame of the reply; of several replies, the first, and later
                                  ones when it is free */
    struct metadata_list trailers;
    struct http2_header *end; /* of the status and `trailers`; they point into `text` and `code` */
    struct buffer text;
    char code[4];

    /* Under the lock: */
    bool ended; /* answered or cancelled: the client no longer waits for a reply */
    void (*when_cancelled)(void *context, struct call *call);
    void *cancelled_context;
    void (*when_ready)(void *context, struct call *call);
    void *ready_context;
    size_t unsent; /* bytes of call_send that are not on their way */
    received_function *receive;
    void *receive_context;

    /* The method's end, on the way from another thread: */
    struct loop_task finish;
    enum status_code finish_code;
    char *finish_text;
    struct message reply;
    bool has_reply;

    /* Fields from here on survive when the struct is reused; everything above is zeroed. */
    struct mailbox *mailbox;
    struct rpc_server *server; /* valid while the mailbox is open */
    pthread_mutex_t lock;
};

/* Can it still be answered? If so, it has a stream. */
static inline bool server_call_is_open(const struct server_call *call)
{
    return call->state < CALL_DETACHED;
}

/* Its method has finished and waits for nothing more. when_ready changes under the lock until the
 * call has ended, then only in the loop's thread. */
static inline bool server_call_is_over(const struct server_call *call)
{
    return call->state == CALL_ENDED && call->when_ready == NULL;
}

extern const struct http2_side server_side;

/* server_call.c */
extern const unsigned server_call_allowed[];
static inline void server_call_enter(struct server_call *call, enum server_call_state state)
{
    call->state = state_next(server_call_allowed, call->state, state);
}
/* Nothing more is sent: the call was answered, or its stream is gone. */
void server_call_detach(struct server_call *call);
void server_call_release(struct server_call *call);

/* server_reply.c */
extern const struct call_type server_call_type;
void server_call_refuse(struct server_call *call);
void server_call_end(struct server_call *call, struct status status, struct message *reply);
void server_call_sent(struct server_call *call);
void server_call_free(struct server_call *call); /* an idle one */

/* server.c */
void server_connection_lost(struct server_connection *connection);

/* server_listen.c */
void server_close_listeners(struct rpc_server *server);

#endif
