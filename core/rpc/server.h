/*
 * server: serves services by gRPC, in an event loop.
 *
 *     TRY(rpc_server_create(loop, &(struct rpc_server_options){ 0 }, &server));
 *     rpc_server_add(server, &ps_service, ps);
 *     TRY(rpc_server_listen(server, "0.0.0.0:2222", &port));
 *     loop_run(loop);
 *
 * A method runs in the loop's thread, as soon as its request is there; its reply may come from any
 * thread. A connection whose requests are not given back, or whose replies are not read, is read no
 * further (HTTP/2 flow control): what it can hold of our memory is bounded, and its peer is slowed.
 *
 * Threads: everything belongs to the loop's thread (or to the one that has the loop before it
 * runs), but for what channel.h says of a call.
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
    size_t message_max_bytes;    /* 4 MiB; a larger request is RESOURCE_EXHAUSTED */
    size_t held_max_bytes;       /* 256 MiB: requests of a connection that methods have not given
                                    back; at least message_max_bytes */
    size_t unsent_max_bytes;     /* 64 MiB: replies that its peer has not taken */
    int connections_max;         /* 10000; one more is closed as soon as it comes */
    int streams_max;             /* 1000 calls at a time on a connection */
    size_t metadata_max_bytes;   /* 16 KiB of a call's headers */
    int frame_max_bytes;         /* 16 MiB - 1, also the most: what a client sends at a time */
    int handshake_timeout_ms;    /* 20000: from accept to the peer's SETTINGS */
    int idle_timeout_ms;         /* never: a connection without calls is sent away */
    int age_max_ms;              /* never: older connections are sent away (GOAWAY), */
    int age_grace_ms;            /* never: and closed with what is in flight after so long */
    int stall_timeout_ms;        /* 60000: half a request, or a reply that is not read, and no byte
                                    moves */
    int keepalive_ms;            /* 60000: silence until a PING asks whether the peer is there;
                                    negative: never */
    int keepalive_timeout_ms;    /* 20000: until it must have answered */
    struct transport_maker *tls; /* NULL: plain. Borrowed; outlives the server */
    struct budget *budget;       /* NULL: none. Requests of all connections take from it; over it
                                    RESOURCE_EXHAUSTED. Outlives what methods hold of them */
};

struct status rpc_server_create(struct loop *loop, const struct rpc_server_options *options,
                                struct rpc_server **out);

/* Borrowed, service and instance; they outlive the server. */
void rpc_server_add(struct rpc_server *server, const struct service *service, void *instance);

/* Listens, also at several addresses. *port (may be NULL) is the port, chosen where the address
 * says 0. A Unix socket's file is replaced if nobody listens there, and removed at the end. */
struct status rpc_server_listen(struct rpc_server *server, const char *address, int *port);

/**
 * Serves a connection that somebody else has accepted: takes the descriptor, in whichever mode, and
 * copies `peeked`, what was read from it already (empty if it was only looked at).
 */
void rpc_server_accept(struct rpc_server *server, int fd, struct bytes peeked);

int rpc_server_connections(const struct rpc_server *server);

/* Listens no more; tells the clients to go (GOAWAY) and lets what is in flight finish. `drained` is
 * called once when no connection is left; those left at the deadline are closed. */
void rpc_server_drain(struct rpc_server *server, int64_t deadline_ns,
                      void (*drained)(void *context), void *context);

/* Closes what is left; calls in flight are left by their clients (call_when_left) and still want
 * their reply. Accepts NULL. */
void rpc_server_destroy(struct rpc_server *server);

#endif
