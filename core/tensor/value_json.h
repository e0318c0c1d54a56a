/*
 * value_json: tensors as JSON text on a command line, and as text for people. jansson stays in
 * value_json.c.
 */
#ifndef TENSOR_VALUE_JSON_H
#define TENSOR_VALUE_JSON_H

#include "tensor/tensor.h"

/**
 * Nested lists, a number or a string as a tensor of that dtype. Strings are "text" or
 * {"b64": "bytes in base64"}.
 *
 * Owner   strings in `arena`
 * Errors  INVALID_ARGUMENT not JSON, ragged, or a value that the dtype does not hold; UNIMPLEMENTED
 * the dtype
 */
struct status value_from_json(const char *text, enum dtype dtype, struct arena *arena,
                              struct tensor *out);

/* The same form, one row of the first dimension to a line. Strings are escaped; numbers are exact
 * (%.9g, %.17g). */
void value_to_text(const struct tensor *tensor, struct buffer *out);

#endif
