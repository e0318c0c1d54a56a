/*
 * round: the end of the loop's round: what REST and gRPC have collected runs together, then the
 * answers go out.
 */
#ifndef SERVER_ROUND_H
#define SERVER_ROUND_H

#include "server/grpc_port.h"
#include "server/rest.h"

struct round {
    struct server_context *server;
    struct rest *rest; /* each may be NULL */
    struct grpc *grpc;
    struct grpc_port *port;
    int seen_waiting; /* calls at the end of the last poll */
    int64_t began_ns;
};

/* The loop's round function; `context` is the round. */
bool round_run(void *context);

#endif
