#include "clients/connections.h"

#include <stdlib.h>

#include "rpc/remote.h"

struct status connections_open(const char *server, const struct load_options *options,
                               struct server_connections *out)
{
    *out = (struct server_connections){ 0 };
    TRY(shared_loop_create(&out->loop));
    const struct remote_options remote = { .loop = out->loop,
                                           .tls = options->tls,
                                           .server_name = options->server_name,
                                           .token = options->token };
    out->channels = zalloc((size_t)options->connections * sizeof(struct channel *));
    for (; out->count < options->connections; out->count++)
        TRY(remote_open(server, &remote, &out->channels[out->count]));
    return status_ok();
}

void connections_close(struct server_connections *connections)
{
    for (int i = 0; i < connections->count; i++)
        channel_close(connections->channels[i]);
    shared_loop_destroy(connections->loop);
    free(connections->channels);
}
