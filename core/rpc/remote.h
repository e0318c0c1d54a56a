/*
 * remote: the channel to a gRPC server behind a socket. Connects by itself with the first call, and
 * again whenever the connection is lost.
 *
 *     TRY(remote_open("ps0.example:2222", &(struct remote_options){ .loop = loop }, &channel));
 *     TRY(channel_call(channel, PATH, &request, deadline_ns, &reply));
 *     … remote_state(channel, &state): "waiting for ps 0 (10.0.0.1:2222): connection refused"
 *     channel_close(channel);
 *
 * Calls run in the thread that waits for them (calls_wait), which turns the loop itself; all
 * channels of one task share a loop.
 */
#ifndef RPC_REMOTE_H
#define RPC_REMOTE_H

#include "rpc/address.h"
#include "rpc/channel.h"
#include "rpc/shared_loop.h"
#include "rpc/transport.h"

/* 0 in any field: the default in its comment. */
struct remote_options {
    struct shared_loop *loop; /* one of its own */
    size_t message_max_bytes; /* 2 GiB - 1; a larger reply is RESOURCE_EXHAUSTED */
    bool payload;             /* a reply's field 15 comes as pieces (message.h) */
    bool wait_for_ready;      /* calls wait for a connection until their deadline, instead of
                                 failing with UNAVAILABLE when one cannot be made */
    int connect_timeout_ms;   /* 5000: for the socket; and again for TLS and the first SETTINGS */
    int reconnect_min_ms;     /* 100: after a failure; half as much again after each, */
    int reconnect_max_ms;     /* 2000: up to this */
    int keepalive_ms;         /* 20000: silence until a PING asks whether the peer is there, while
                                 calls are in flight; negative: never */
    int keepalive_timeout_ms; /* 10000 */
    struct transport_maker *tls; /* NULL: plain. Borrowed; outlives the channel */
    const char *server_name; /* the :authority, and the name that TLS checks: the address' own */
    const char *user_agent;  /* "slipway" */
};

/* Errors  INVALID_ARGUMENT the address. Whether anybody is there shows later. */
struct status remote_open(const char *address, const struct remote_options *options,
                          struct channel **out);

/* Why there is no connection. */
enum remote_trouble {
    REMOTE_FINE,        /* there is one, or nobody has asked for one yet */
    REMOTE_UNRESOLVED,  /* no such host, or no resolver */
    REMOTE_REFUSED,     /* nobody listens there */
    REMOTE_UNREACHABLE, /* no route, or the socket connects in no time (a dead host, a firewall) */
    REMOTE_SILENT,      /* accepted, and then nothing */
    REMOTE_FOREIGN,     /* what answers does not speak HTTP/2 */
    REMOTE_TLS,         /* the handshake failed */
    REMOTE_LOST,        /* it was there, and has closed or gone silent */
};

struct remote_state {
    bool connected;
    enum remote_trouble
        trouble;    /* of the last attempt; that of the one under way is not known yet */
    char text[256]; /* one line: "connection refused"; "" when fine */
    char address[ADDRESS_TEXT_MAX]; /* resolved, the last that was tried; "" before */
    int attempts;                   /* since there was a connection */
    int64_t round_trip_ns;          /* of the first PING of the connection; 0: not known */
};

/* Any thread. */
void remote_state(struct channel *channel, struct remote_state *out);

/* Connects now, without a call. Any thread. */
void remote_connect(struct channel *channel);

#endif
