/*
 * value_json: reads tensors from JSON text, as on a command line, and prints them for people.
 */
#ifndef TENSOR_VALUE_JSON_H
#define TENSOR_VALUE_JSON_H

#include "tensor/tensor.h"

struct json_value;

/**
 * Makes a tensor of nested lists, a number or a string. Strings are "text" or
 * {"b64": "bytes in base64"}.
 *
 * Owner   strings in `arena`
 * Errors  INVALID_ARGUMENT not JSON, ragged, or a value that the dtype cannot represent;
 *         UNIMPLEMENTED the dtype
 */
struct status value_from_json(const char *text, enum dtype dtype, struct arena *arena,
                              struct tensor *out);
/* The same for JSON that was read already. */
struct status value_from_json_value(const struct json_value *json, enum dtype dtype,
                                    struct arena *arena, struct tensor *out);

/* Prints the same form, with one row of the first dimension on a line. Strings are escaped; numbers
 * have all their digits (%.9g, %.17g). A tensor without elements is [] if its shape would be more
 * than VALUE_EMPTY_LISTS_MAX lists. */
#define VALUE_EMPTY_LISTS_MAX (1 << 20)
void value_to_text(const struct tensor *tensor, struct buffer *out);

/* The same for one row of the first dimension, without line breaks, and for one element. */
void value_row_to_text(const struct tensor *tensor, int64_t row, struct buffer *out);
void value_element_to_text(const struct tensor *tensor, int64_t at, struct buffer *out);

#endif
