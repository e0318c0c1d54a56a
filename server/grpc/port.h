/*
 * grpc_port: the addresses at which gRPC clients connect: a TCP port, a Unix socket, and
 * connections that the listener hands over. It also serves health and reflection, which belong to
 * the server rather than its models. Each loop has a port; only that of the first loop listens.
 */
#ifndef SERVER_GRPC_PORT_H
#define SERVER_GRPC_PORT_H

#include "rpc/server.h"
#include "server/grpc/service.h"

struct grpc_port;

struct grpc_port_options {
    /* From grpc_port_read_arguments, plus `tls` and `accepted`, which passes each connection to
     * grpc_port_accept of any port. The port sets the other fields. */
    struct rpc_server_options rpc;
    bool health;
};

/**
 * Reads "grpc.keepalive_time_ms=10000,…". Logs the arguments that have no effect.
 *
 * Errors  INVALID_ARGUMENT the value of an argument is not a number in its range
 */
struct status grpc_port_read_arguments(const char *text, struct rpc_server_options *options);

struct status grpc_port_create(struct server_context *server, struct grpc_service *grpc,
                               const struct grpc_port_options *options, struct grpc_port **out);
void grpc_port_destroy(struct grpc_port *port); /* accepts NULL */

/* On all interfaces. Errors: "listen at [::]:8500: bind: Address already in use". */
struct status grpc_port_listen(struct grpc_port *port, int number);
struct status grpc_port_listen_unix(struct grpc_port *port, const char *path);

/* REST has no port after all: answers to clients of HTTP/1 name none. Before the loops start. */
void grpc_port_forget_rest(struct grpc_port *port);

/* Accepts a connection whose first bytes are in the socket. */
void grpc_port_accept(struct grpc_port *port, int fd);
/* Accepts a connection with its transport. `port` is a struct grpc_port. */
void grpc_port_take(void *port, struct transport *transport);

int grpc_port_connections(const struct grpc_port *port);

/* Versions have been added or removed. In the loop's thread. */
void grpc_port_models_changed(struct grpc_port *port);

/* Accepts no new calls; `drained` is called once those in flight are answered. */
void grpc_port_drain(struct grpc_port *port, void (*drained)(void *context), void *context);

#endif
