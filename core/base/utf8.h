/*
 * utf8: reads and writes the characters of UTF-8.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/bytes.h"

#define UTF8_SIZE_MAX 4 /* bytes of a character */

/* Reads the character at text[0]; size is at least 1. Returns its size in bytes. *character is
 * -1 if it is malformed; the size is then that of the longest valid start of a character, which
 * Unicode recommends to replace by one U+FFFD. */
size_t utf8_read(const char *text, size_t size, int32_t *character);

/* The bytes of the character at text[0] as its first byte tells, even if it is malformed; at most
 * `size`, which is at least 1. */
size_t utf8_stated_size(const char *text, size_t size);

/* Does the text consist of well-formed characters? */
bool utf8_is_valid(struct bytes text);

/* The bytes of a byte order mark at the start of the text, as editors on Windows write it; 0: it
 * has none. */
size_t utf8_mark_size(struct bytes text);

/* Writes a character from 0 to 0x10FFFF; returns its size in bytes. */
size_t utf8_write(int32_t character, char out[UTF8_SIZE_MAX]);

#endif
