/*
 * text_normal: Unicode's normal forms and the folding of cases, by libunistring. Bytes that are not
 * UTF-8 stay unchanged and separate the texts on both sides, as in ICU.
 */
#ifndef KERNELS_PLAIN_TEXT_NORMAL_H
#define KERNELS_PLAIN_TEXT_NORMAL_H

#include <stdbool.h>
#include <stddef.h>

enum text_form {
    TEXT_NFC,
    TEXT_NFD,
    TEXT_NFKC,
    TEXT_NFKD,
    TEXT_NFKC_CASEFOLD, /* as NFKC, without differences of case, and without invisible characters */
};

/* No form is longer: U+FDFA has 3 bytes, and 33 in NFKC and NFKD. */
#define TEXT_NORMAL_GROWTH 11
#define TEXT_NORMAL_FAILED SIZE_MAX

/* The size of the longest part of a text that can be converted independently of the rest. The
 * text is not empty. The size is at most TEXT_PART_BYTES unless nothing within allows a cut; no
 * language has such texts. */
#define TEXT_PART_BYTES 1024
size_t text_normal_part(const char *text, size_t size);

/* Is the text, of ASCII alone, its own form? */
bool text_is_normal(const char *text, size_t size, enum text_form form);

/**
 * Writes a part in a form.
 *
 * Sizes   out: TEXT_NORMAL_GROWTH · size bytes
 * Returns the size of the result, or TEXT_NORMAL_FAILED: out of memory
 */
size_t text_normalize(const char *text, size_t size, enum text_form form, char *out);

/* The size of the first part of a text (not empty) that can be converted to the form
 * independently of the rest: up to the next position across which nothing composes or is
 * reordered, as ICU finds it. (For a few letters, such as U+1E9B, ICU finds one more.) Not for
 * TEXT_NFKC_CASEFOLD. */
size_t text_normal_segment(const char *text, size_t size, enum text_form form);

#endif
