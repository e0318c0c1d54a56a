/*
 * text_case: upper and lower case of any text, with Unicode's full mappings, which depend on the
 * neighbours of a letter and may change its length (ß becomes SS). The only file pair that includes
 * libunistring.
 */
#ifndef KERNELS_PLAIN_TEXT_CASE_H
#define KERNELS_PLAIN_TEXT_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No mapping turns one byte into more than three, nor does U+FFFD for an invalid byte. */
#define TEXT_CASE_GROWTH 3
#define TEXT_CASE_FAILED SIZE_MAX

/**
 * Writes `text` in upper or lower case as valid UTF-8: bytes that are not UTF-8 become U+FFFD, one
 * for each longest start of a character, as Unicode recommends.
 *
 * Sizes   out and room: TEXT_CASE_GROWTH · size bytes each
 * Returns the size of the result, or TEXT_CASE_FAILED: out of memory
 */
size_t text_change_case(const char *text, size_t size, bool upper, char *room, char *out);

#endif
