/*
 * characters: ASCII digits, sets of characters and percent-encoded text, whatever the locale.
 */
#ifndef BASE_CHARACTERS_H
#define BASE_CHARACTERS_H

#include "base/bytes.h"

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The value of a hexadecimal digit of either case; -1: not a digit. */
static inline int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Is c one of the characters of `set`? Unlike with strchr, a NUL byte never is. */
static inline bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Replaces each %XX by its byte; a '%' without two hexadecimal digits is kept. Writes at most
 * text.size bytes to `out` and returns their number. */
size_t percent_decode(struct bytes text, char *out);

#endif
