/*
 * json_print: values as JSON text, byte for byte as TensorFlow Serving prints them.
 *
 * A number is printed with %g if that reads back to the same value, otherwise with %.9g (float) or
 * %.17g (double). If it has neither point nor exponent, ".0" is appended. The digits come from one
 * multiplication; if its error could change a digit, snprintf decides. test_json_print compares
 * with snprintf over random bit patterns.
 *
 * The other printers:
 *     base/decimal.h      integers
 *     base/text_print.h   strings with their escapes
 *     predict.h           the answer of predict, with TensorFlow Serving's white space
 *     pretty.h            small documents, with protobuf's white space
 *     pretty_message.h    messages of protobuf in such documents
 *     dump.h              a value of a request in an error text
 *     base/json_writer.h  documents of our own, for the other programs
 */
#ifndef SERVER_JSON_PRINT_H
#define SERVER_JSON_PRINT_H

#include "base/text_print.h"

#define JSON_NUMBER_MAX 32 /* the longest number fits */

/* These write at `out`, which has room for JSON_NUMBER_MAX bytes, and return the end. */
char *json_put_float(char *out, float value);
char *json_put_double(char *out, double value);

/* Prints a string of standard, padded base64; the object {"b64": "…"}. */
void json_print_base64_text(struct buffer *out, struct bytes data);
void json_print_base64(struct buffer *out, struct bytes data);

/* Prints the shortest text that reads back, as RapidJSON writes doubles: for values in error texts.
 */
void json_print_shortest(struct buffer *out, double value);

#endif
