/*
 * json_print: JSON text of values, byte for byte as TensorFlow Serving prints it (serving-api.md
 * §4.2).
 *
 * A number is C's %g where that reads back to the same value, else %.9g (float) or %.17g (double);
 * ".0" is appended to what has neither point nor exponent. Digits come from one exact-enough
 * multiplication; where its error could change a digit, snprintf decides. test_json_print compares
 * with snprintf over random bit patterns.
 */
#ifndef SERVER_JSON_PRINT_H
#define SERVER_JSON_PRINT_H

#include "base/bytes.h"

#define JSON_NUMBER_MAX 32 /* no number is longer */

/* Writes at `out`, which has room for JSON_NUMBER_MAX; returns the end. */
char *json_put_float(char *out, float value);
char *json_put_double(char *out, double value);
char *json_put_int64(char *out, int64_t value);
char *json_put_uint64(char *out, uint64_t value);

/* With quotes; what must be escaped is, bytes from 0x80 pass unchanged. */
void json_print_string(struct buffer *out, struct bytes text);

/* {"b64": "…"} with standard padded base64. */
void json_print_base64(struct buffer *out, struct bytes data);

/* The shortest text that reads back, as RapidJSON writes doubles: for values quoted in error texts.
 */
void json_print_shortest(struct buffer *out, double value);

#endif
