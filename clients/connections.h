/*
 * connections: the gRPC connections to one server that a load or a replay spreads its calls over,
 * and the loop that runs them.
 */
#ifndef CLIENTS_CONNECTIONS_H
#define CLIENTS_CONNECTIONS_H

#include "clients/load.h"
#include "rpc/shared_loop.h"

struct server_connections {
    struct shared_loop *loop;
    struct channel **channels; /* [count] */
    int count;
};

/* Opens `options->connections` of them. Errors: those of remote_open. Close them in any case. */
struct status connections_open(const char *server, const struct load_options *options,
                               struct server_connections *out);
void connections_close(struct server_connections *connections);

#endif
