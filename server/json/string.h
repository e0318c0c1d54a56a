/*
 * json_string: strings in JSON text. `at` points to the opening quote.
 */
#ifndef SERVER_JSON_STRING_H
#define SERVER_JSON_STRING_H

#include "base/arena.h"
#include "base/bytes.h"
#include "server/json/text.h"

/* Returns the end of the string; NULL and *error if it is broken. */
const char *json_string_check(const char *at, struct json_error *error);

/* The same for callers that do not report the error. */
const char *json_string_end(const char *at);

/* Returns the end of a checked string. */
const char *json_string_skip(const char *at);

/* Returns the end of the string if it is `text`, in ASCII and however escaped; NULL: it is another
 * one, or is broken. */
const char *json_string_match(const char *at, const char *text);

/* Returns the bytes of a checked string: a view of the text or, if it has escapes, a copy in
 * `arena`. RESOURCE_EXHAUSTED: the arena is over its limit. */
struct status json_string_read(const char *at, struct arena *arena, struct bytes *out);

#endif
