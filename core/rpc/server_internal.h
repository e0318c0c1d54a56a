/*
 * server_internal: what the files of the server share: server.c has the connections,
 * server_listen.c the sockets they come from, server_call.c the calls.
 */
#ifndef RPC_SERVER_INTERNAL_H
#define RPC_SERVER_INTERNAL_H

#include <stdatomic.h>

#include "base/map.h"
#include "rpc/address.h"
#include "rpc/http2.h"
#include "rpc/metadata.h"
#include "rpc/server.h"

struct served {
    const struct method *method;
    void *instance;
};

struct server_listener {
    struct server_listener *next;
    struct rpc_server *server;
    struct loop_watch *watch;
    struct loop_timer pause; /* while there are no descriptors for new connections */
    int fd;
    char *path; /* of a Unix socket: removed at the end */
};

struct server_connection {
    struct server_connection *next, *previous;
    struct rpc_server *server;
    struct http2 *http2;
    struct server_call *parked, **parked_end; /* wait until the peer reads its replies */
    char peer[ADDRESS_TEXT_MAX];
};

struct rpc_server {
    struct loop *loop;
    struct mailbox *mailbox;
    struct rpc_server_options options;
    struct http2_limits limits;
    struct reading *reading;
    struct session_memory *memory;
    struct map methods;        /* path → struct served */
    const struct served *last; /* the last that was asked for: the next is mostly the same */
    struct server_listener *listeners;
    struct server_connection *connections;
    int connections_count;
    struct loop_timer going, gone; /* of a drain: new streams are refused; the end */
    struct server_call *idle;      /* for the next calls: these come and go all the time */
    int idle_count;
    void (*drained)(void *context);
    void *drained_context;
    bool draining;
};

/* A message of a METHOD_STREAM that waits until replies are read. */
struct waiting_message {
    struct waiting_message *next;
    struct message message;
};

struct server_call {
    struct http2_stream stream; /* first */
    struct call call;
    struct server_connection *connection; /* while there is a stream */
    const struct served *served;          /* NULL: no such method */
    int references;                       /* the stream's, the method's; in the loop's thread */
    struct message request;
    struct waiting_message *waiting, *waiting_last;
    struct metadata_list metadata, trailers;
    struct loop_timer deadline;
    int64_t timeout_ns; /* of the request; negative: none */
    char *path;         /* of a method that there is not */
    const char *wrong;  /* with the request's headers; NULL: nothing */
    enum status_code wrong_code;
    bool post, content_type, encoded, requested, running, told_end, begun, answered;
    bool over; /* the method has ended it, and wants to hear nothing more */
    struct server_call *next_parked, *next_idle;
    struct outgoing sending; /* the reply; of several, the one that finds it free */

    struct http2_header *end; /* the trailers on the wire; of end_texts */
    struct buffer text;
    char code[4];

    /* With the lock. */
    bool left; /* nobody waits for a reply any more */
    void (*when_left)(void *context, struct call *call);
    void *left_context;
    void (*when_ready)(void *context, struct call *call);
    void *ready_context;
    size_t unsent; /* of call_send */
    received_function *receive;
    void *receive_context;

    /* The method's end, from another thread. */
    struct loop_task finish;
    enum status_code finish_code;
    char *finish_text;
    struct message reply;
    bool has_reply;

    /* What stays when another call takes its place: zeroed is all before. */
    struct mailbox *mailbox;
    struct rpc_server *server; /* while the mailbox is open */
    pthread_mutex_t lock;
};

extern const struct http2_side server_side;

/* server_call.c: the request. */
void server_call_release(struct server_call *call);
void server_call_leave(struct server_call *call);   /* the client has left: tells the method */
void server_call_deliver(struct server_call *call); /* waiting messages, while there is room */

/* server_reply.c: the answer. */
extern const struct call_type server_call_type;
void server_call_refuse(struct server_call *call);
void server_call_end(struct server_call *call, struct status status, struct message *reply);
void server_call_sent(struct server_call *call);
void server_call_free(struct server_call *call); /* an idle one */

/* server.c */
void server_take(struct rpc_server *server, int fd, struct bytes peeked, const char *peer);
void server_connection_lost(struct server_connection *connection);

/* server_listen.c */
void server_close_listeners(struct rpc_server *server);

#endif
