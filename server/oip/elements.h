/*
 * elements: the elements of one tensor in JSON, to and from tensors. A list is flat, or nested like
 * the shape; a scalar needs no list. Half floats are numbers, strings are texts or {"b64": "bytes
 * in base64"}.
 */
#ifndef SERVER_OIP_ELEMENTS_H
#define SERVER_OIP_ELEMENTS_H

#include "base/arena.h"
#include "tensor/tensor.h"

/**
 * Parses the value at *at in unchecked text, of which `left` bytes remain, and moves *at past it.
 *
 * Owner   *out borrows from the arena and the text
 * Errors  INVALID_ARGUMENT the lists are ragged, or not of that shape; an element of another type;
 *         an integer out of the dtype's range; RESOURCE_EXHAUSTED the arena's limit
 */
struct status elements_read(const char **at, size_t left, enum dtype dtype,
                            const struct shape *shape, struct arena *arena, struct tensor *out);

/* Upper bound of the bytes that elements_print writes; SIZE_MAX if it overflows. */
size_t elements_size_max(const struct tensor *tensor);
/* Prints a flat list. INVALID_ARGUMENT: a string that is not UTF-8. The dtype must have a
 * datatype. */
struct status elements_print(const struct tensor *tensor, struct buffer *out);

#endif
