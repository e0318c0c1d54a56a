/*
 * grpc: the gRPC edge: PredictionService and ModelService, with the round's batch that REST rides
 * in too (serving-api.md §6 to §8).
 */
#ifndef SERVER_GRPC_H
#define SERVER_GRPC_H

#include "rpc/channel.h"
#include "server/context.h"

struct grpc;

struct grpc_options {
    bool tensor_content; /* answers carry tensor_content instead of float_val and the like */
};

struct grpc *grpc_create(struct server_context *server, const struct grpc_options *options);
/* Fails the calls in work, whose runs end no more: the inference is gone. Accepts NULL. */
void grpc_abandon(struct grpc *grpc);
void grpc_destroy(struct grpc *grpc); /* after its calls; accepts NULL */

/* PredictionService and ModelService; their instance is the grpc. */
extern const struct service grpc_service;

int grpc_calls(const struct grpc *grpc); /* in work */
/* How many were in work at a time of late: a round that has as many waits for no more. */
int grpc_calls_expected(struct grpc *grpc);

#endif
