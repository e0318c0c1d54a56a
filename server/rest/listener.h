/*
 * listener: a TCP port shared by several protocols, which it distinguishes by the first bytes of a
 * connection.
 *
 * A connection may be silent for a minute. Silent connections may use a part of the descriptors;
 * beyond that, or without free descriptors, the one that has been silent longest is closed.
 */
#ifndef SERVER_REST_LISTENER_H
#define SERVER_REST_LISTENER_H

#include <sys/socket.h>

#include "base/loop.h"

struct listener;

#define LISTENER_SILENT_PART 8 /* silent connections take at most 1/8 of the descriptors */

enum listener_protocol { LISTENER_HTTP1, LISTENER_HTTP2, LISTENER_TLS };

/* Takes the descriptor, which is non-blocking and has bytes to read. */
typedef void listener_accept(void *context, int fd, enum listener_protocol protocol,
                             const struct sockaddr *address, socklen_t address_size);

/* Listens on all interfaces, IPv6 and IPv4. Errors: "listen on port 8501: Address already in use".
 */
struct status listener_open(struct loop *loop, int port, listener_accept *accepted, void *context,
                            struct listener **out);
/* Takes a connection that was accepted elsewhere, as if it had arrived at the port. Its
 * descriptor is non-blocking. */
void listener_take(struct listener *listener, int fd, const struct sockaddr_storage *address,
                   socklen_t address_size);
/* Takes pending connections, then closes the port. Accepts NULL. */
void listener_close(struct listener *listener);

#endif
