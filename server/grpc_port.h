/*
 * grpc_port: where gRPC clients connect: a TCP port, a Unix socket, connections of the listener's;
 * and the services that belong to a server rather than to its models: health and reflection.
 */
#ifndef SERVER_GRPC_PORT_H
#define SERVER_GRPC_PORT_H

#include "rpc/server.h"
#include "server/grpc.h"

struct grpc_port;

struct grpc_port_options {
    const char *channel_arguments; /* "grpc.keepalive_time_ms=10000,…" */
    bool health;
    struct transport_maker *tls; /* NULL: plain */
};

/* Errors  INVALID_ARGUMENT a channel argument whose value is none */
struct status grpc_port_create(struct server_context *server, struct grpc *grpc,
                               const struct grpc_port_options *options, struct grpc_port **out);
void grpc_port_destroy(struct grpc_port *port); /* accepts NULL */

/* All interfaces. Errors: "listen at [::]:8500: bind: Address already in use". */
struct status grpc_port_listen(struct grpc_port *port, int number);
struct status grpc_port_listen_unix(struct grpc_port *port, const char *path);

/* Takes a connection that has spoken already: its bytes are still in the socket. */
void grpc_port_accept(struct grpc_port *port, int fd);

int grpc_port_connections(const struct grpc_port *port);

/* In the loop's thread: versions have come or gone. */
void grpc_port_models_changed(struct grpc_port *port);

/* Takes no new calls; `drained` is called once when those in work are answered. */
void grpc_port_drain(struct grpc_port *port, void (*drained)(void *context), void *context);

#endif
