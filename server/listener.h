/*
 * listener: a TCP port, and the connections that come in on it, told apart by their first bytes:
 * every protocol can share it.
 */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include <sys/socket.h>

#include "base/loop.h"

struct listener;

enum listener_protocol { LISTENER_HTTP1, LISTENER_HTTP2, LISTENER_TLS };

/* Takes over the descriptor, which is non-blocking and has bytes to read. */
typedef void listener_accept(void *context, int fd, enum listener_protocol protocol,
                             const struct sockaddr *address, socklen_t address_size);

/* All interfaces, IPv6 and IPv4. Errors: of bind: "listen on port 8501: Address already in use". */
struct status listener_open(struct loop *loop, int port, listener_accept *accepted, void *context,
                            struct listener **out);
/* A connection that was accepted elsewhere, as if it came in on the port; it must not block. */
void listener_take(struct listener *listener, int fd, const struct sockaddr_storage *address,
                   socklen_t address_size);
/* Takes what has already come in, then closes the port. Accepts NULL. */
void listener_close(struct listener *listener);

#endif
