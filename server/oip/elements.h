/*
 * elements: the elements of one tensor in JSON, to and from tensors. A list is flat, or nested as
 * the shape says; a scalar needs no list. Half floats are numbers, strings are texts or
 * {"b64": "bytes in base64"}.
 */
#ifndef SERVER_OIP_ELEMENTS_H
#define SERVER_OIP_ELEMENTS_H

#include "base/arena.h"
#include "tensor/tensor.h"

/**
 * Reads the value at *at in unchecked text, which goes on for `left` bytes, and moves *at behind
 * it.
 *
 * Owner   *out borrows from the arena and the text
 * Errors  INVALID_ARGUMENT the lists are ragged, or not of that shape; an element of another type;
 *         an integer that the dtype does not hold; RESOURCE_EXHAUSTED the arena's limit
 */
struct status elements_read(const char **at, size_t left, enum dtype dtype,
                            const struct shape *shape, struct arena *arena, struct tensor *out);

/* The most bytes that elements_print may write; SIZE_MAX if it is more than that. */
size_t elements_size_max(const struct tensor *tensor);
/* Prints a flat list. INVALID_ARGUMENT: a string that is not UTF-8. The dtype has a datatype. */
struct status elements_print(const struct tensor *tensor, struct buffer *out);

#endif
