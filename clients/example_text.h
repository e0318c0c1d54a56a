/*
 * example_text: tf.Examples written as JSON objects, serialized: a string or {"b64": TEXT} is a
 * bytes feature, a number with a fraction or an exponent a float one, an integer or a boolean an
 * int64 one, a list several of one kind (serving-api.md §3.4).
 */
#ifndef CLIENTS_EXAMPLE_TEXT_H
#define CLIENTS_EXAMPLE_TEXT_H

#include "base/bytes.h"

/* A list of objects: each becomes a serialized Example in the field `number` of `out`.
 * INVALID_ARGUMENT: it is not that. */
struct status examples_from_json(const char *text, uint32_t number, struct buffer *out);
/* One object. */
struct status example_from_json(const char *text, uint32_t number, struct buffer *out);

#endif
