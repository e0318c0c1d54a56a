/*
 * grpc_messages: requests and answers of gRPC's services, to bytes and back.
 */
#ifndef CLIENTS_GRPC_MESSAGES_H
#define CLIENTS_GRPC_MESSAGES_H

#include "clients/client_type.h"

/* More of them in client_type.h. */
void grpc_put_metadata(const struct client_target *target, struct client_request *out);
void grpc_put_status(const struct client_target *target, struct client_request *out);

/* The answers: all they hold is copied into the arena. INTERNAL: damaged. */
struct status get_predict(struct bytes message, struct arena *arena, struct client_outputs *out);
struct status get_classes(struct bytes message, struct arena *arena, struct client_classes *out);
struct status get_values(struct bytes message, struct arena *arena, struct client_values *out);
struct status get_metadata(struct bytes message, struct arena *arena, struct client_metadata *out);
struct status get_status(struct bytes message, struct arena *arena, struct client_versions *out);

#endif
