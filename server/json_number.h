/*
 * json_number: JSON number text to binary, for tensors of numbers.
 *
 * Text is read 8 digits at a time where it can; values come from exact arithmetic on the digits,
 * and only what that cannot decide goes to strtod. Whoever reads must have JSON_PADDING zero bytes
 * behind the text.
 */
#ifndef SERVER_JSON_NUMBER_H
#define SERVER_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JSON_PADDING 16 /* zero bytes behind the text: reads of 8 may run past its end */

struct json_number {
    const char *start;
    uint64_t digits; /* value = ±digits · 10^exponent, where not `rounded` */
    int exponent;
    bool negative;
    bool integer; /* written without fraction and exponent */
    bool rounded; /* more digits than fit, or an exponent out of reach: strtod decides */
    enum { JSON_FINITE, JSON_INFINITE, JSON_NAN } kind;
};

/* Reads one number. Returns its end, or NULL where the grammar is broken (json_check says how). */
const char *json_number_read(const char *at, struct json_number *out);

/* The nearest value; infinite where it is out of range. */
double json_number_double(const struct json_number *number);
float json_number_float(const struct json_number *number);

/* A finite literal beyond the range of double, which is an error. `value`: json_number_double of
 * it. */
bool json_number_is_too_big(const struct json_number *number, double value);

/* Integer literals only; false: not one, or out of the range. */
bool json_number_int64(const struct json_number *number, int64_t *out);
bool json_number_uint64(const struct json_number *number, uint64_t *out);

/**
 * Reads "number, number, number" as floats: up to `max` of them into `out`.
 *
 * Returns the first byte behind the last number read, white space skipped: a ',' only where max was
 * reached; NULL if what stands after a comma is not a plain number, or is too big for a double
 * (*count of them are read).
 */
const char *json_floats_read(const char *at, float *out, size_t max, size_t *count);

#endif
