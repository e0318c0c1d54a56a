/*
 * reflection: lets tools such as grpcurl call without .proto files (serving-api.md §6): which
 * services there are, and the descriptors of their messages, which are compiled in.
 */
#ifndef SERVER_REFLECTION_H
#define SERVER_REFLECTION_H

#include "base/bytes.h"
#include "rpc/channel.h"

struct reflection;

/* v1 and v1alpha, whose messages are the same; the instance is the reflection. */
extern const struct service reflection_service;

/* It knows and lists itself; what else the server serves is added. Services are borrowed. */
struct reflection *reflection_create(void);
void reflection_add(struct reflection *reflection, const struct service *service);
void reflection_destroy(struct reflection *reflection); /* accepts NULL */

/* The ServerReflectionResponse to a ServerReflectionRequest. INTERNAL: it is none. */
struct status reflection_answer(const struct reflection *reflection, struct bytes request,
                                struct buffer *out);

#endif
