/*
 * server: serves gRPC methods in an event loop.
 *
 *     TRY(rpc_server_create(loop, &(struct rpc_server_options){ 0 }, &server));
 *     rpc_server_add(server, &ps_service, ps);
 *     TRY(rpc_server_listen(server, "0.0.0.0:2222", &port));
 *     loop_run(loop);
 *
 * A method runs in the loop's thread as soon as its request is complete; its reply may come from
 * any thread. Back-pressure: a connection is not read while its requests are not released, or its
 * replies not read (HTTP/2 flow control), which bounds the memory that a peer can hold.
 *
 * Threads: everything belongs to the loop's thread (or, before the loop runs, to the thread that
 * has it), except what channel.h says about a call.
 */
#ifndef RPC_SERVER_H
#define RPC_SERVER_H

#include "base/budget.h"
#include "base/loop.h"
#include "rpc/channel.h"
#include "rpc/transport.h"

struct rpc_server;

/* 0 in any field: the default in its comment. */
struct rpc_server_options {
    size_t message_max_bytes; /* 4 MiB; a larger request is RESOURCE_EXHAUSTED */
    size_t held_max_bytes; /* 256 MiB: requests of a connection that its methods have not released;
                              at least message_max_bytes */
    size_t unsent_max_bytes;   /* 64 MiB: replies that the peer has not taken */
    int connections_max;       /* 10000; further ones are closed at once */
    int streams_max;           /* 1000 concurrent calls on a connection */
    size_t metadata_max_bytes; /* 16 KiB: the headers of a call */
    int frame_max_bytes; /* 16 MiB - 1, the most there is: the largest DATA frame that a client may
                            send */
    int handshake_timeout_ms; /* 20000: from accept to the peer's SETTINGS */
    int idle_timeout_ms;      /* never: a connection without calls is sent GOAWAY */
    int age_max_ms;           /* never: an older connection is sent GOAWAY */
    int age_grace_ms;         /* never: from that GOAWAY until it is closed, with its calls */
    int stall_timeout_ms; /* 60000: without a byte of an incomplete request, or of a reply that is
                             not read */
    int keepalive_ms;     /* 60000: of silence before a PING; negative: never */
    int keepalive_timeout_ms;    /* 20000: to answer the PING */
    struct transport_maker *tls; /* NULL: plain. Borrowed; outlives the server */
    /* Calls without this secret are UNAUTHENTICATED; NULL: none is needed. Borrowed; outlives the
     * server */
    const char *token;
    /* Called when the headers of a call have arrived, with its path and its header
     * `authorization` (NULL: none). A failure ends the call. NULL: every call is allowed. In the
     * loop's thread */
    struct status (*authorize)(void *context, const char *path, const char *authorization);
    void *authorize_context;
    /* Gets each accepted connection before anything is read. It passes the descriptor to
     * rpc_server_accept of this or another server, possibly in another loop. NULL: this server
     * takes all. */
    void (*accepted)(void *context, int fd);
    void *accepted_context;
    /* A sentence that a client of HTTP/1 is told as well, such as where HTTP/1 is served; NULL:
     * none. Borrowed; outlives the server */
    const char *http1_hint;
    struct budget *budget; /* NULL: none. Charged for the requests of all connections;
                            * RESOURCE_EXHAUSTED without room. Outlives what methods hold of them */
};

struct status rpc_server_create(struct loop *loop, const struct rpc_server_options *options,
                                struct rpc_server **out);

/* Borrows the service and its instance, which outlive the server. */
void rpc_server_add(struct rpc_server *server, const struct service *service, void *instance);

/* Listens; may be called for several addresses. *port (may be NULL): the port, which the system
 * chooses if the address has port 0. Replaces the file of a Unix socket on which nobody listens,
 * and removes it at the end. */
struct status rpc_server_listen(struct rpc_server *server, const char *address, int *port);

/**
 * Serves a connection that was accepted elsewhere. Takes the descriptor, blocking or not, and
 * copies `peeked`: the bytes already read from it (empty if they were only peeked at).
 */
void rpc_server_accept(struct rpc_server *server, int fd, struct bytes peeked);

/* Serves a connection whose transport was made elsewhere. Takes it. */
void rpc_server_take(struct rpc_server *server, struct transport *transport);

int rpc_server_connections(const struct rpc_server *server);

/* Stops listening, sends GOAWAY to the clients, and lets the calls in flight finish. `drained`
 * is called once, when no connection is left; the deadline closes the last ones. */
void rpc_server_drain(struct rpc_server *server, int64_t deadline_ns,
                      void (*drained)(void *context), void *context);

/* Closes all connections. Their calls are cancelled (call_when_cancelled), and still need their
 * reply. Accepts NULL. */
void rpc_server_destroy(struct rpc_server *server);

#endif
