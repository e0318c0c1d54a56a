/*
 * remote: the channel to a gRPC server behind a socket. It connects at the first call, and again
 * after the connection is lost.
 *
 *     TRY(remote_open("ps0.example:2222", &(struct remote_options){ .loop = loop }, &channel));
 *     TRY(channel_call(channel, PATH, &request, deadline_ns, &reply));
 *     … remote_state(channel, &state): "waiting for ps 0 (10.0.0.1:2222): connection refused"
 *     channel_close(channel);
 *
 * The thread that waits for a call turns the loop itself (call_group_wait). All channels of a task
 * share one loop.
 */
#ifndef RPC_REMOTE_H
#define RPC_REMOTE_H

#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/shared_loop.h"
#include "rpc/transport.h"

/* 0 in any field: the default in its comment. */
struct remote_options {
    struct shared_loop *loop; /* NULL: one of its own */
    size_t message_max_bytes; /* 2 GiB - 1; a larger reply is RESOURCE_EXHAUSTED */
    bool payload;             /* a reply's field 15 is split off as pieces (message.h) */
    bool wait_for_ready;    /* calls wait for a connection until their deadline; otherwise they fail
                               with UNAVAILABLE when an attempt fails */
    int connect_timeout_ms; /* 5000: for the socket to connect, and again for TLS and the first
                               SETTINGS */
    int reconnect_min_ms;   /* 100: the pause after a failed attempt, multiplied by 1.5 after
                             * each */
    int reconnect_max_ms;   /* 2000: the longest pause */
    int keepalive_ms; /* 20000: of silence before a PING, while calls are in flight; negative: never
                       */
    int keepalive_timeout_ms;    /* 10000 */
    struct transport_maker *tls; /* NULL: plain. Borrowed; outlives the channel */
    /* the :authority, and the name that TLS verifies; NULL: the address's */
    const char *server_name;
    const char *user_agent; /* "slipway" */
    const char *token;      /* a secret that the server shares; NULL: none */
};

/* Errors  INVALID_ARGUMENT the address is malformed. It does not connect yet. */
struct status remote_open(const char *address, const struct remote_options *options,
                          struct channel **out);

/* The reason why there is no connection. */
enum remote_trouble {
    REMOTE_FINE,        /* there is a connection, or none was needed yet */
    REMOTE_UNRESOLVED,  /* no such host, or no resolver */
    REMOTE_REFUSED,     /* nothing listens at the address */
    REMOTE_UNREACHABLE, /* no route, or the socket did not connect in time (a dead host, a firewall)
                         */
    REMOTE_SILENT,      /* it accepted the connection, and then said nothing */
    REMOTE_FOREIGN,     /* it does not speak HTTP/2 */
    REMOTE_TLS,         /* the handshake failed */
    REMOTE_LOST,        /* the connection was closed or went silent */
};

struct remote_state {
    bool connected;
    enum remote_trouble trouble;    /* of the last finished attempt */
    char text[256];                 /* one line: "connection refused"; "" when fine */
    char address[ADDRESS_TEXT_MAX]; /* the last one tried, resolved; "" before that */
    int attempts;                   /* since the last connection */
    int64_t round_trip_ns;          /* of the connection's first PING; 0: not known */
};

/* Any thread. */
void remote_state(struct channel *channel, struct remote_state *out);

#endif
