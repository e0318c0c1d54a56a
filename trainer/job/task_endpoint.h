/*
 * task_endpoint: a task on the network: its identity, event loop, server at its own address, TLS,
 * and channels to the ps tasks.
 */
#ifndef TRAINER_JOB_TASK_ENDPOINT_H
#define TRAINER_JOB_TASK_ENDPOINT_H

#include "rpc/remote.h"
#include "rpc/server.h"
#include "trainer/job/task.h"
#include "trainer/protocol/identify.h"

struct task_endpoint {
    const struct task_options *options;
    struct arena *arena;
    const char *name;    /* "worker 3" */
    const char *ps_list; /* addresses joined by commas; "" for a ps of a sparse cluster */
    struct task_identity identity;
    struct loop *loop;
    struct rpc_server *server;
    struct tls *server_tls, *client_tls;
    const char **peers; /* [ps count]: "ps 1 at host:2222" */
};

/* Channels to all ps tasks, for one thread that waits in their loop. */
struct ps_channels {
    int count;
    struct shared_loop *shared;
    struct channel **channels; /* [count] */
};

/* Opens everything except the listening server and the channels. Call endpoint_close even if it
 * fails. */
struct status endpoint_open(struct task_endpoint *endpoint, const struct task_options *options);
/* Listens at the task's own address, if the map has one. budget: charged for requests, which may
 * then be as large as a message; NULL: only small requests. */
struct status endpoint_listen(struct task_endpoint *endpoint, struct budget *budget);
/* Sends nothing yet. Call ps_channels_close even if it fails. */
struct status endpoint_connect(struct task_endpoint *endpoint, struct ps_channels *out);
void endpoint_close(struct task_endpoint *endpoint);

void ps_channels_close(struct ps_channels *channels);
bool ps_channels_connected(const struct ps_channels *channels); /* is any of them connected now? */

/* Logs a warning if others on the network can read the tasks' messages. */
void endpoint_warn_of_plaintext(const struct task_endpoint *endpoint);

/* Describes why a channel is not connected, with the resolved address; "" if it is connected. */
void describe_channel(struct channel *channel, char *out, size_t size);

#endif
