/*
 * health: gRPC's health protocol, with a status for each model.
 *
 * Known names are "", "ModelService" and "PredictionService", as in TensorFlow Serving; the full
 * names of the services; and each model's name, which is SERVING while one of its versions is
 * available. From the first signal on, everything is NOT_SERVING (server_is_going_down).
 */
#ifndef SERVER_GRPC_HEALTH_H
#define SERVER_GRPC_HEALTH_H

#include "rpc/channel.h"
#include "server/inference/server_context.h"

struct health;

extern const struct service health_service; /* the instance is a struct health */

struct health *health_create(struct server_context *server);

/* Notifies the watchers when a version is added or removed, or the server is going down. In the
 * loop's thread. */
void health_changed(struct health *health);
/* Stops serving: notifies the watchers, and ends their calls. */
void health_drain(struct health *health);

void health_destroy(struct health *health); /* call it after its server; accepts NULL */

#endif
