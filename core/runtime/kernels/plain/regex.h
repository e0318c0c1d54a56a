/*
 * regex: regular expressions as TensorFlow has them, by RE2, which takes time linear in the text
 * for any pattern. A text is UTF-8; bytes that are not match nothing but themselves.
 */
#ifndef KERNELS_PLAIN_REGEX_H
#define KERNELS_PLAIN_REGEX_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* \0 to \9 in a rewrite: the match and its groups. */
#define REGEX_SPANS_MAX 10

struct regex;

/* A part of the text; begin > end: the group took no part in the match. */
struct regex_span {
    size_t begin, end;
};

enum regex_result { REGEX_NO_MATCH, REGEX_MATCH, REGEX_NO_MEMORY };

/* NULL: the pattern is wrong, or there is no memory; `error` says why. Owner: regex_destroy. */
struct regex *regex_create(const char *pattern, size_t size, char *error, size_t error_size);
void regex_destroy(struct regex *regex); /* accepts NULL */

int regex_groups(const struct regex *regex); /* the number of its (…) */

/* Finds the first match at or after `at`: the match and `count` - 1 groups. Threads: safe. */
enum regex_result regex_find(const struct regex *regex, const char *text, size_t size, size_t at,
                             struct regex_span *spans, int count);
enum regex_result regex_match_all(const struct regex *regex, const char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
