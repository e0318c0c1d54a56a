/*
 * ascii_class: patterns that match one byte of a set of ASCII characters, such as the punctuation
 * that Keras' TextVectorization removes. They are found without an automaton, 64 bytes at a time.
 */
#ifndef KERNELS_PLAIN_ASCII_CLASS_H
#define KERNELS_PLAIN_ASCII_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASCII_RANGES_MAX 16

struct ascii_class {
    struct {
        unsigned char first, span; /* the bytes first … first + span */
    } ranges[ASCII_RANGES_MAX];
    int count;
};

/* Is the pattern a list in brackets of characters, escaped punctuation and ranges of both? False
 * for all else that RE2 accepts there, such as [^a], [[:alpha:]] and [\d]. */
bool ascii_class_read(const char *pattern, size_t size, struct ascii_class *out);

/* The place of the first byte of the class at or after `at`; `size`: there is none. */
size_t ascii_class_find(const struct ascii_class *set, const char *text, size_t size, size_t at);

#ifdef __cplusplus
}
#endif
#endif
