/*
 * raw: the bytes of a tensor's elements, row-major and little-endian, in the form of the protocol's
 * binary data and raw contents. A bool is a byte, 0 or 1. An element of BYTES is its length and its
 * bytes:
 *
 *     length (4, little-endian)  bytes (length)
 */
#ifndef SERVER_OIP_RAW_H
#define SERVER_OIP_RAW_H

#include "base/arena.h"
#include "tensor/tensor.h"

/**
 * Makes a tensor of raw bytes. Numbers and the characters of strings are used in place; numbers may
 * be unaligned.
 *
 * Errors  INVALID_ARGUMENT more or fewer bytes than the shape requires; a bool that is neither 0
 *         nor
 *         1; RESOURCE_EXHAUSTED the arena's limit
 */
struct status raw_read(struct bytes raw, enum dtype dtype, const struct shape *shape,
                       struct arena *arena, struct tensor *out);

/* The raw size of a tensor; UINT64_MAX: the length of a string exceeds 4 bytes. */
uint64_t raw_size(const struct tensor *tensor);
/* Appends raw_size bytes, which the caller has reserved. */
void raw_put(const struct tensor *tensor, struct buffer *out);

#endif
