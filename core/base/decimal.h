/*
 * decimal: writes integers in decimal, two digits at a time.
 *
 *     char text[DECIMAL_MAX];
 *     char *end = decimal_put_int64(text, value);
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdint.h>

#define DECIMAL_MAX 20 /* the longest integer fits, with its sign */

/* The numbers from 00 to 99, two digits each. */
extern const char decimal_pairs[201];

/* These write at `out`, without a NUL, and return the end. */
char *decimal_put_uint64(char *out, uint64_t value);
char *decimal_put_int64(char *out, int64_t value);

#endif
