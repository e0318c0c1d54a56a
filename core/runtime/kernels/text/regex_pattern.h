/*
 * regex_pattern: patterns of ops, compiled within limits; and searches that check the deadline.
 */
#ifndef KERNELS_TEXT_REGEX_PATTERN_H
#define KERNELS_TEXT_REGEX_PATTERN_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/regex.h"

/* INVALID_ARGUMENT: the pattern is too long, or wrong. Owner: regex_destroy. */
struct status regex_compile(struct bytes pattern, struct regex **out);

/* Counts `size` bytes that the next search may read; checks the deadline once a megabyte. */
struct status regex_count(const struct kernel_context *k, size_t size, size_t *searched);

/* *out: is `result` a match? RESOURCE_EXHAUSTED: there was no memory to search. */
struct status regex_matched(enum regex_result result, bool *out);

#endif
