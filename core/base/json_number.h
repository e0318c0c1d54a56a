/*
 * json_number: converts JSON numbers to binary: for tensors of numbers, and for files of them.
 *
 * It reads up to eight digits at a time. Values come from exact arithmetic on the digits; strtod
 * decides only what that cannot. The text must have JSON_PADDING zero bytes after it.
 */
#ifndef BASE_JSON_NUMBER_H
#define BASE_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define JSON_PADDING 64 /* reads of eight numbers of 8 bytes may run past the end of the text */

static inline const char *json_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

struct json_number {
    const char *start;
    uint64_t digits; /* value = ±digits · 10^exponent, unless `rounded` */
    int exponent;
    bool negative;
    bool integer; /* written without fraction and exponent */
    bool rounded; /* more digits than fit, or an extreme exponent: strtod decides */
    enum { JSON_FINITE, JSON_INFINITE, JSON_NAN } kind;
};

/* Reads one number. Returns its end; NULL if the grammar is broken (json_check says how). */
const char *json_number_read(const char *at, struct json_number *out);

/* The nearest value; infinite if it is out of range. */
double json_number_double(const struct json_number *number);
float json_number_float(const struct json_number *number);

/* Is it a finite literal beyond the range of double, which is an error? `value`: its
 * json_number_double. */
bool json_number_is_too_big(const struct json_number *number, double value);

/* Returns false if it is not an integer literal, or out of range. */
bool json_number_int64(const struct json_number *number, int64_t *out);
bool json_number_uint64(const struct json_number *number, uint64_t *out);

/* Reads one number as a float. Returns its end; NULL: no number, or too big for a double. */
const char *json_float_read(const char *at, float *out);

/**
 * Reads "number, number, number" as floats: up to `max` of them into `out`.
 *
 * Returns the position after the last number, white space skipped. A ',' stands there only if max
 * was reached. NULL: a comma is followed by something other than a plain number, or by one that is
 * too big for a double; *count numbers before it were read.
 */
const char *json_floats_read(const char *at, float *out, size_t max, size_t *count);

#endif
