/*
 * client_type: the functions that a protocol provides for client.h, and requests as bytes for
 * load.h. Internal to clients/.
 */
#ifndef CLIENTS_CLIENT_TYPE_H
#define CLIENTS_CLIENT_TYPE_H

#include "clients/client.h"

struct client_type {
    struct status (*predict)(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out);
    struct status (*classify)(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out);
    struct status (*regress)(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out);
    struct status (*metadata)(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out);
    struct status (*status)(struct client *client, const struct client_target *target,
                            struct arena *arena, struct client_versions *out);
    void (*close)(struct client *client);
};

struct client {
    const struct client_type *type;
    int64_t timeout_ms;
};

struct status grpc_client_open(const char *address, const struct client_options *options,
                               struct client **out);
struct status rest_client_open(const char *address, const struct client_options *options,
                               struct client **out);
/* The "host:port" of "http://host:port" or "https://host:port"; NULL: the address is not one of
 * REST. */
const char *rest_address(const char *server);
bool rest_is_encrypted(const char *server);
/* The failure that an answer other than 200 describes. */
struct status rest_refusal(int http, struct bytes answer);

/* A request as it is sent: gRPC's method or the URL's path, which ends with a NUL, and the body. */
struct client_request {
    struct buffer path, body;
};
/* Frees both. */
void client_request_finish(struct client_request *request);

void grpc_put_predict(const struct client_target *target, const struct client_tensor *inputs,
                      int count, struct client_request *out);
/* verb: "classify" or "regress". examples, context: see client.h. */
struct status grpc_put_examples(const struct client_target *target, const char *verb,
                                const char *examples, const char *context,
                                struct client_request *out);
void rest_put_predict(const struct client_target *target, const struct client_tensor *inputs,
                      int count, struct client_request *out);
void rest_put_examples(const struct client_target *target, const char *verb, const char *examples,
                       const char *context, struct client_request *out);

#endif
