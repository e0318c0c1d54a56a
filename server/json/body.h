/*
 * json_body: parsing shared by the bodies of all REST requests. Each is a JSON object and may name
 * a signature. If several members have one name, the first counts.
 */
#ifndef SERVER_JSON_BODY_H
#define SERVER_JSON_BODY_H

#include "base/arena.h"
#include "base/bytes.h"

/* Checks the body and finds its object; a byte-order mark may precede it. INVALID_ARGUMENT: it is
 * not JSON, or not an object. */
struct status json_body_object(struct bytes body, struct arena *arena, const char **out);

/* Finds the value of the first member with this name; NULL if there is none. */
struct status json_body_member(const char *object, const char *name, struct arena *arena,
                               const char **out);

/* Reads the member signature_name; empty if there is none. */
struct status json_body_signature_name(const char *object, struct arena *arena, struct bytes *out);

#endif
