/*
 * health: gRPC's health protocol, with a status per model.
 *
 * Known names: "", "ModelService", "PredictionService" as TensorFlow Serving has them, the
 * services' full names, and each model's name, which serves while a version of it is available.
 * While the server drains nothing serves.
 */
#ifndef SERVER_HEALTH_H
#define SERVER_HEALTH_H

#include "rpc/channel.h"
#include "server/context.h"

struct health;

extern const struct service health_service; /* its instance is the health */

struct health *health_create(struct server_context *server);

/* In the loop's thread: a version has come or gone; those who watch are told. */
void health_changed(struct health *health);
/* Nothing serves any more; those who watch are told, and their calls end. */
void health_drain(struct health *health);

void health_destroy(struct health *health); /* after its server; accepts NULL */

#endif
