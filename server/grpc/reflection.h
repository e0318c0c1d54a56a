/*
 * reflection: lists the services and serves the compiled-in descriptors of their messages, so that
 * tools such as grpcurl work without .proto files.
 */
#ifndef SERVER_GRPC_REFLECTION_H
#define SERVER_GRPC_REFLECTION_H

#include "base/bytes.h"
#include "rpc/channel.h"
#include "server/inference/server_context.h"

struct reflection;

/* v1 and v1alpha, whose messages are the same; the instance is a struct reflection. */
extern const struct service reflection_service;

/* Lists itself; add the server's other services, which are borrowed. Answers are charged to the
 * server's budget. */
struct reflection *reflection_create(struct server_context *server);
void reflection_add(struct reflection *reflection, const struct service *service);
void reflection_destroy(struct reflection *reflection); /* accepts NULL */

#endif
