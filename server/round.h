/*
 * round: the end of a round of the loop. Runs the calls collected from REST and gRPC together, then
 * sends the answers.
 */
#ifndef SERVER_ROUND_H
#define SERVER_ROUND_H

#include "server/grpc/port.h"
#include "server/metrics/metrics.h"
#include "server/rest/rest.h"

struct round {
    struct server_context *server;
    struct rest *rest; /* each may be NULL */
    struct grpc_service *grpc;
    struct grpc_port *port;
    struct loop_task count;                              /* counts the connections */
    const struct metric_series *rest_level, *grpc_level; /* of connections */
    int rest_counted, grpc_counted;                      /* connections, in these levels */
    int seen_waiting; /* number of calls at the end of the last poll */
    int64_t began_ns;
};

/* For loop_set_round; `context` is the round. */
bool round_run(void *context);

#endif
