/*
 * example_text: serializes tf.Examples that are written as JSON objects. The kind of a feature
 * follows from its value, as in TensorFlow Serving's REST API: a string or {"b64": TEXT} is bytes,
 * a number with a fraction or an exponent is float, an integer or a boolean is int64. The elements
 * of a list are of one kind.
 */
#ifndef CLIENTS_EXAMPLE_TEXT_H
#define CLIENTS_EXAMPLE_TEXT_H

#include "base/bytes.h"

/* Appends each object of a JSON list to `out`, as a serialized Example in field `number`.
 * INVALID_ARGUMENT: the text is not such a list. */
struct status examples_from_json(const char *text, uint32_t number, struct buffer *out);
/* The same for one object. */
struct status example_from_json(const char *text, uint32_t number, struct buffer *out);

#endif
