#include <stdlib.h>

#include "clients/client_type.h"
#include "clients/grpc_messages.h"
#include "rpc/call_group.h"
#include "rpc/remote.h"

struct grpc_client {
    struct client client;
    struct channel *channel;
};

static void free_bytes(void *owner)
{
    free(owner);
}

/* Takes ownership of *request. */
static struct status call(struct client *client, struct client_request *request,
                          struct message *reply)
{
    struct channel *channel = ((struct grpc_client *)client)->channel;
    struct message message = { .header = { request->body.data, request->body.size },
                               .release = free_bytes,
                               .owner = request->body.data };
    int64_t deadline_ns =
        clock_now_ns(channel_clock(channel)) + client->timeout_ms * (int64_t)NS_PER_MS;
    request->body = (struct buffer){ 0 };
    struct status status = channel_call(channel, request->path.data, &message, deadline_ns, reply);
    client_request_finish(request);
    return status;
}

static struct status predict(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out)
{
    struct client_request request = { 0 };
    struct message reply = { 0 };
    grpc_put_predict(target, inputs, inputs_count, &request);
    TRY(call(client, &request, &reply));
    struct status status = grpc_get_predict(reply.header, arena, out);
    message_release(&reply);
    return status;
}

static struct status ask_examples(struct client *client, const char *verb,
                                  const struct client_target *target, const char *examples,
                                  const char *context, struct message *reply)
{
    struct client_request request = { 0 };
    struct status status = grpc_put_examples(target, verb, examples, context, &request);
    if (status_is_ok(status))
        return call(client, &request, reply);
    client_request_finish(&request);
    return status;
}

static struct status classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out)
{
    struct message reply = { 0 };
    TRY(ask_examples(client, "classify", target, examples, context, &reply));
    struct status status = grpc_get_classes(reply.header, arena, out);
    message_release(&reply);
    return status;
}

static struct status regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out)
{
    struct message reply = { 0 };
    TRY(ask_examples(client, "regress", target, examples, context, &reply));
    struct status status = grpc_get_values(reply.header, arena, out);
    message_release(&reply);
    return status;
}

static struct status metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out)
{
    struct client_request request = { 0 };
    struct message reply = { 0 };
    grpc_put_metadata(target, &request);
    TRY(call(client, &request, &reply));
    struct status status = grpc_get_metadata(reply.header, arena, out);
    message_release(&reply);
    return status;
}

static struct status status_of(struct client *client, const struct client_target *target,
                               struct arena *arena, struct client_versions *out)
{
    struct client_request request = { 0 };
    struct message reply = { 0 };
    grpc_put_status(target, &request);
    TRY(call(client, &request, &reply));
    struct status status = grpc_get_status(reply.header, arena, out);
    message_release(&reply);
    return status;
}

static void close_client(struct client *client)
{
    channel_close(((struct grpc_client *)client)->channel);
    free(client);
}

static const struct client_type type = {
    .predict = predict,
    .classify = classify,
    .regress = regress,
    .metadata = metadata,
    .status = status_of,
    .close = close_client,
};

struct status grpc_client_open(const char *address, const struct client_options *options,
                               struct client **out)
{
    struct remote_options remote = { .tls = options->tls,
                                     .server_name = options->server_name,
                                     .token = options->token };
    struct channel *channel;
    TRY(remote_open(address, &remote, &channel));
    struct grpc_client *client = zalloc(sizeof *client);
    *client = (struct grpc_client){ .client = { .type = &type }, .channel = channel };
    *out = &client->client;
    return status_ok();
}
