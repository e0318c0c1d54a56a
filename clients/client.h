/*
 * client: asks a model server, over gRPC or REST.
 *
 *     struct client *client;
 *     TRY(client_open("localhost:8500", &(struct client_options){ 0 }, &client));
 *     struct client_target target = { .model = "default", .signature = "predict_images" };
 *     TRY(client_predict(client, &target, &input, 1, arena, &answer));
 *     … answer.outputs[i].name, answer.outputs[i].tensor
 *     client_close(client);
 *
 * "host:port" and "unix:/path" speak gRPC, "http://host:port" speaks REST; TensorFlow Serving
 * answers as well. What a server refuses comes back with its own code (REST: the one its HTTP
 * status stands for) and its own words.
 */
#ifndef CLIENTS_CLIENT_H
#define CLIENTS_CLIENT_H

#include "base/arena.h"
#include "tensor/tensor.h"

struct client;
struct transport_maker;

struct client_options {
    int64_t timeout_ms;          /* of a call; 0: 60000 */
    struct transport_maker *tls; /* of rpc/tls.h, for gRPC; NULL: plain. Outlives the client */
    const char *server_name;     /* that TLS checks; NULL: the address' own */
};

/* Which model is asked. */
struct client_target {
    const char *model;
    int64_t version;       /* below 0: none; then the label's, or the latest */
    const char *label;     /* NULL: none */
    const char *signature; /* NULL: the default one */
};

struct client_tensor {
    const char *name;
    struct tensor tensor;
};

/* Everything lives in the arena of the call. version: the one that answered; -1: REST does not say.
 */
struct client_outputs {
    struct client_tensor *outputs;
    int count;
    int64_t version;
};

struct client_class {
    struct bytes label;
    float score;
};
struct client_classes {
    struct client_class **rows; /* [examples_count][classes_count[i]] */
    int *classes_count;
    int examples_count;
};

struct client_values {
    float *values; /* one per example */
    int count;
};

struct client_endpoint { /* of a signature; shape of unknown rank where the model does not say */
    const char *key;
    enum dtype dtype;
    struct shape shape;
};
struct client_signature {
    const char *name, *method;
    struct client_endpoint *inputs, *outputs;
    int inputs_count, outputs_count;
};
struct client_metadata {
    struct client_signature *signatures;
    int count;
    int64_t version;
};

struct client_version {
    int64_t number;
    const char *state; /* "AVAILABLE" */
    enum status_code code;
    const char *message;
};
struct client_versions {
    struct client_version *versions;
    int count;
};

/* Errors  INVALID_ARGUMENT the address. Whether anybody is there shows with the first call. */
struct status client_open(const char *server, const struct client_options *options,
                          struct client **out);
void client_close(struct client *client); /* accepts NULL */

/* All outputs of the signature for these inputs. */
struct status client_predict(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out);

/* `examples` is JSON: a list of objects, feature to value or list of values, as REST takes it;
 * `context` (NULL: none) one such object. */
struct status client_classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out);
struct status client_regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out);

struct status client_metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out);
/* Without a version: of all there are. */
struct status client_status(struct client *client, const struct client_target *target,
                            struct arena *arena, struct client_versions *out);

/* "DT_FLOAT" and so on are dtype_enum_name's; NULL: no such signature. */
const struct client_signature *client_find_signature(const struct client_metadata *metadata,
                                                     const char *name);

#endif
