/*
 * json_body: what the bodies of all REST requests have in common: a JSON object, in which the first
 * member of a name counts, with the signature's name in it.
 */
#ifndef SERVER_JSON_BODY_H
#define SERVER_JSON_BODY_H

#include "base/arena.h"
#include "base/bytes.h"

/* A byte-order mark may stand before it. INVALID_ARGUMENT: it is no JSON, or no object. */
struct status json_body_object(struct bytes body, struct arena *arena, const char **out);

/* The value of the first member of that name, or NULL. */
struct status json_body_member(const char *object, const char *name, struct arena *arena,
                               const char **out);

/* Empty where there is none. */
struct status json_body_signature_name(const char *object, struct arena *arena, struct bytes *out);

#endif
