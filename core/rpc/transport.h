/*
 * transport: a connection's bytes, plain or encrypted. The seam where tls.h plugs in: http2.c knows
 * nothing of what is below.
 *
 * A kind of transport embeds `struct transport` first. Its descriptor is non-blocking; nothing here
 * blocks or is called from another thread than the loop's.
 */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/status.h"

struct transport;

enum transport_wants { TRANSPORT_DONE, TRANSPORT_WANTS_READ, TRANSPORT_WANTS_WRITE };

struct transport_type {
    /* Goes on with the handshake as far as it can: *wants says whether it is done, or what the
     * descriptor must be before it is called again. Called until done, before anything else. */
    struct status (*handshake)(struct transport *transport, enum transport_wants *wants);
    /* As readv and writev: bytes moved; 0 of read: the peer has closed; -1 with errno, EAGAIN: not
     * now. */
    ssize_t (*read)(struct transport *transport, const struct iovec *to, int count);
    ssize_t (*write)(struct transport *transport, const struct iovec *from, int count);
    /* Bytes that were read from the descriptor already and that `read` would give: the descriptor
     * does not show them. */
    bool (*pending)(const struct transport *transport);
    /* Why read or write gave -1 with errno EPROTO, in words. NULL: errno always says it. */
    const char *(*trouble)(const struct transport *transport);
    /* Says farewell if it can, closes the descriptor, frees. */
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_type *type;
    int fd;
};

/* The plain one. Owns the descriptor. */
struct transport *transport_plain(int fd);

/* What makes a connection's transport of its descriptor: a TLS context, a test's. NULL where one is
 * accepted: plain. Owns the descriptor, also when it fails. */
struct transport_maker {
    /* peer: the host name that was asked for (a client checks it and sends it as SNI), NULL on a
     * server. */
    struct status (*make)(struct transport_maker *maker, int fd, const char *peer,
                          struct transport **out);
};

#endif
