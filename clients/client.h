/*
 * client: a client of a model server, over gRPC or REST.
 *
 *     struct client *client;
 *     TRY(client_open("localhost:8500", &(struct client_options){ 0 }, &client));
 *     struct client_target target = { .model = "default", .signature = "predict_images" };
 *     TRY(client_predict(client, &target, &input, 1, arena, &answer));
 *     … answer.outputs[i].name, answer.outputs[i].tensor
 *     client_close(client);
 *
 * The address chooses the protocol: "host:port" and "unix:/path" are gRPC, "http://host:port" and
 * "https://host:port" are REST. The server may also be TensorFlow Serving. If it refuses a request,
 * the status has the server's code and text. Over REST, the code follows from the HTTP status.
 *
 * Threads  a client belongs to one thread at a time; clients are independent of each other
 */
#ifndef CLIENTS_CLIENT_H
#define CLIENTS_CLIENT_H

#include "base/arena.h"
#include "tensor/tensor.h"

struct client;
struct transport_maker;

struct client_options {
    int64_t timeout_ms;          /* for each call; 0: 60000 */
    struct transport_maker *tls; /* from rpc/tls.h; NULL: no TLS. Outlives the client */
    const char *server_name;     /* the name that TLS checks; NULL: the host of the address */
    const char *token;           /* that the server requires; NULL: none. Outlives the client */
};

/* The model to ask. */
struct client_target {
    const char *model;
    int64_t version;       /* negative: the label's version, or the latest */
    const char *label;     /* NULL: none */
    const char *signature; /* NULL: the default one */
};

struct client_tensor {
    const char *name;
    struct tensor tensor;
};

/* The outputs live in the call's arena. `version` is the version that answered; -1 over REST,
 * which does not report it. */
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

struct client_endpoint { /* an input or an output; the rank is unknown if the model does not
                          * state it */
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

/* Errors  INVALID_ARGUMENT the address. If no server is there, the first call fails, because it
 * connects. */
struct status client_open(const char *server, const struct client_options *options,
                          struct client **out);
void client_close(struct client *client); /* accepts NULL */

/* Computes all outputs of the signature. */
struct status client_predict(struct client *client, const struct client_target *target,
                             const struct client_tensor *inputs, int inputs_count,
                             struct arena *arena, struct client_outputs *out);

/* `examples` is the JSON that REST takes: a list of objects that map a feature to a value or a list
 * of values. `context` is one such object, or NULL. */
struct status client_classify(struct client *client, const struct client_target *target,
                              const char *examples, const char *context, struct arena *arena,
                              struct client_classes *out);
struct status client_regress(struct client *client, const struct client_target *target,
                             const char *examples, const char *context, struct arena *arena,
                             struct client_values *out);

struct status client_metadata(struct client *client, const struct client_target *target,
                              struct arena *arena, struct client_metadata *out);
/* The status of the version that the target names, or of every version. */
struct status client_status(struct client *client, const struct client_target *target,
                            struct arena *arena, struct client_versions *out);

/* NULL: no such signature. */
const struct client_signature *client_find_signature(const struct client_metadata *metadata,
                                                     const char *name);

#endif
