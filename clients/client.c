#include "clients/client.h"

#include <string.h>

#include "clients/client_type.h"

#define TIMEOUT_MS 60000
#define HTTP       "http://"
#define HTTPS      "https://"

const char *rest_address(const char *server)
{
    if (strncmp(server, HTTP, strlen(HTTP)) == 0)
        return server + strlen(HTTP);
    return rest_is_encrypted(server) ? server + strlen(HTTPS) : NULL;
}

bool rest_is_encrypted(const char *server)
{
    return strncmp(server, HTTPS, strlen(HTTPS)) == 0;
}

void client_request_finish(struct client_request *request)
{
    buffer_finish(&request->path);
    buffer_finish(&request->body);
}

struct status client_open(const char *server, const struct client_options *options,
                          struct client **out)
{
    const char *rest = rest_address(server);

    if (rest != NULL && rest_is_encrypted(server) != (options->tls != NULL))
        return status_error(STATUS_INVALID_ARGUMENT, "%s: TLS and https:// want each other",
                            server);
    if (rest == NULL && strncmp(server, "unix:", 5) != 0 && strstr(server, "://") != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': want host:port or unix:/path for gRPC, http://host:port or "
                            "https://host:port for REST",
                            server);
    if (rest != NULL)
        TRY(rest_client_open(rest, options, out));
    else
        TRY(grpc_client_open(server, options, out));
    (*out)->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_MS;
    return status_ok();
}

void client_close(struct client *client)
{
    if (client != NULL)
        client->type->close(client);
}

struct status client_predict(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out)
{
    return client->type->predict(client, target, inputs, inputs_count, arena, out);
}

struct status client_classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out)
{
    return client->type->classify(client, target, examples, context, arena, out);
}

struct status client_regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out)
{
    return client->type->regress(client, target, examples, context, arena, out);
}

struct status client_metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out)
{
    return client->type->metadata(client, target, arena, out);
}

struct status client_status(struct client *client, const struct client_target *target,
                            struct arena *arena, struct client_versions *out)
{
    return client->type->status(client, target, arena, out);
}

const struct client_signature *client_find_signature(const struct client_metadata *metadata,
                                                     const char *name)
{
    for (int i = 0; i < metadata->count; i++)
        if (strcmp(metadata->signatures[i].name, name) == 0)
            return &metadata->signatures[i];
    return NULL;
}
