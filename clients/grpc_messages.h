/*
 * grpc_messages: encodes the requests of TensorFlow Serving's gRPC services and decodes their
 * answers.
 */
#ifndef CLIENTS_GRPC_MESSAGES_H
#define CLIENTS_GRPC_MESSAGES_H

#include "clients/client_type.h"

/* A ModelSpec's version or label, if the target has one. */
void grpc_put_version(const struct client_target *target, struct buffer *out);

/* Requests; those that load.h sends as well are in client_type.h. */
void grpc_put_metadata(const struct client_target *target, struct client_request *out);
void grpc_put_status(const struct client_target *target, struct client_request *out);

/* Answers. The results live in the arena. INTERNAL: the message is damaged. */
struct status grpc_get_predict(struct bytes message, struct arena *arena,
                               struct client_outputs *out);
struct status grpc_get_classes(struct bytes message, struct arena *arena,
                               struct client_classes *out);
struct status grpc_get_values(struct bytes message, struct arena *arena, struct client_values *out);
struct status grpc_get_metadata(struct bytes message, struct arena *arena,
                                struct client_metadata *out);
struct status grpc_get_status(struct bytes message, struct arena *arena,
                              struct client_versions *out);

#endif
