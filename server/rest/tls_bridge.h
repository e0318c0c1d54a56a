/*
 * tls_bridge: TLS in front of libmicrohttpd. It does the handshake (core/rpc/tls) and passes the
 * plain bytes through a pair of sockets, one end of which belongs to libmicrohttpd. REST therefore
 * has the same certificates, client certificates and reloads as gRPC. libmicrohttpd's own TLS can
 * reload neither a CA nor a daemon's options. A client that negotiates HTTP/2 (ALPN) is passed to
 * gRPC, if the port is shared.
 *
 * Each direction buffers at most 16 KiB that the other side has not taken, and reads no more
 * meanwhile (back-pressure).
 */
#ifndef SERVER_REST_TLS_BRIDGE_H
#define SERVER_REST_TLS_BRIDGE_H

#include <sys/socket.h>

#include "base/budget.h"
#include "base/loop.h"
#include "rpc/transport.h"

struct tls_bridge;

struct tls_bridge_options {
    struct loop *loop;
    struct budget *budget;       /* pays for connections */
    struct transport_maker *tls; /* tls_maker's; outlives the bridge */
    unsigned connections_max;    /* more are closed at once */
    /* Takes the plain end of a connection that speaks HTTP/1. */
    void (*http1)(void *context, int fd, const struct sockaddr *address, socklen_t address_size);
    /* Takes a connection that speaks HTTP/2. NULL: TLS does not offer it. */
    void (*http2)(void *context, struct transport *transport);
    void *context;
};

struct tls_bridge *tls_bridge_create(const struct tls_bridge_options *options);
void tls_bridge_destroy(struct tls_bridge *bridge); /* closes its connections; accepts NULL */

/* Accept NULL: no bridge. */
int tls_bridge_connections(const struct tls_bridge *bridge);
bool tls_bridge_sends(const struct tls_bridge *bridge); /* answers that a client is slow to take */

/* Takes a connection that begins with a TLS handshake. Its descriptor is non-blocking. */
void tls_bridge_accept(struct tls_bridge *bridge, int fd, const struct sockaddr *address,
                       socklen_t address_size);

#endif
