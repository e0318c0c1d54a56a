/*
 * text_normal: Unicode's normal forms and the folding of cases, by libunistring. Bytes that are not
 * UTF-8 stay as they are, and what is on both sides of them is apart, as for ICU.
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

/* How much of a text, which is not empty, can be changed apart from what follows. It is at most
 * TEXT_PART_BYTES unless nothing within allows a cut; such texts are no language's. */
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

/* How much of a text, which is not empty, changes in that form as a whole: up to the next place
 * where nothing composes or is put in order across, as ICU finds it. (For a few letters, such as
 * U+1E9B, ICU finds one more.) Not for TEXT_NFKC_CASEFOLD. */
size_t text_normal_segment(const char *text, size_t size, enum text_form form);

#endif
