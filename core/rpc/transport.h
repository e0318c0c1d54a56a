/*
 * transport: the bytes of a connection, plain or encrypted. tls.h plugs in here; http2.c is
 * independent of the implementation.
 *
 * An implementation embeds `struct transport` first. Its descriptor is non-blocking. All functions
 * are called from the loop's thread, and none blocks.
 */
#ifndef RPC_TRANSPORT_H
#define RPC_TRANSPORT_H

#include <sys/types.h>
#include <sys/uio.h>

#include "base/status.h"

struct transport;

enum transport_wants { TRANSPORT_DONE, TRANSPORT_WANTS_READ, TRANSPORT_WANTS_WRITE };

struct transport_type {
    /* Continues the handshake. *wants: whether it is done, or what the descriptor must be ready for
     * before the next call. Called until done, before anything else. */
    struct status (*handshake)(struct transport *transport, enum transport_wants *wants);
    /* Like readv and writev: the number of bytes; 0 from read: the peer has closed; -1 with
     * errno, which is EAGAIN for "not now". */
    ssize_t (*read)(struct transport *transport, const struct iovec *to, int count);
    ssize_t (*write)(struct transport *transport, const struct iovec *from, int count);
    /* `read` would return bytes, or the end, that were already taken from the descriptor, which
     * therefore does not become readable for them. */
    bool (*pending)(const struct transport *transport);
    /* Describes why read or write returned -1 with EPROTO. NULL: errno suffices. */
    const char *(*trouble)(const struct transport *transport);
    /* Sends a close notification if possible, closes the descriptor, frees. */
    void (*close)(struct transport *transport);
};

struct transport {
    const struct transport_type *type;
    int fd;
};

/* Without encryption. Owns the descriptor. */
struct transport *transport_plain(int fd);

/* Makes the transport of a connection from its descriptor: a TLS context, or a test's. NULL
 * means plain. Owns the descriptor, even if it fails. */
struct transport_maker {
    /* peer: the host name that a client asked for, which it verifies and sends as SNI; NULL on a
     * server. */
    struct status (*make)(struct transport_maker *maker, int fd, const char *peer,
                          struct transport **out);
};

#endif
