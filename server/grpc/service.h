/*
 * grpc_service: answers PredictionService and ModelService. Their runs join the round's batch, like
 * those of REST.
 */
#ifndef SERVER_GRPC_SERVICE_H
#define SERVER_GRPC_SERVICE_H

#include "rpc/channel.h"
#include "server/inference/server_context.h"

struct grpc_service;

struct grpc_service *grpc_service_create(struct server_context *server);
/* Fails the calls in flight. For use after inference_destroy: their runs never end. Accepts NULL.
 */
void grpc_service_abandon(struct grpc_service *grpc);
/* Call it after its calls have ended; accepts NULL. */
void grpc_service_destroy(struct grpc_service *grpc);

/* The methods of both services; the instance is a struct grpc_service. */
extern const struct service grpc_service_methods;

int grpc_service_calls(const struct grpc_service *grpc); /* in flight */
/* The recent peak of concurrent calls. Once a round has this many, it runs without polling for
 * more. Called once a round: each call lets the peak decay. */
int grpc_service_recent_calls_peak(struct grpc_service *grpc);

#endif
