/*
 * npy: numpy's array files, versions 1 to 3, little-endian, C order.
 */
#ifndef TENSOR_NPY_H
#define TENSOR_NPY_H

#include "tensor/tensor.h"

/**
 * Reads a file's bytes. Unicode and byte strings (<U, |S) become a string tensor with characters in
 * `arena`.
 *
 * Errors  INVALID_ARGUMENT not a .npy file, cut short, or Fortran order; UNIMPLEMENTED its dtype
 */
struct status npy_read(struct bytes file, struct arena *arena, struct tensor *out);

/* The same for the file at `path`, which errors name. RESOURCE_EXHAUSTED: over `max_bytes`. */
struct status npy_read_file(const char *path, size_t max_bytes, struct arena *arena,
                            struct tensor *out);

#define NPY_START_BYTES      12
#define NPY_HEADER_BYTES_MAX ((size_t)65536) /* that npy_header_size accepts */

/* The header of a file, for readers that do not hold all of it. */
struct npy_header {
    enum dtype dtype;
    struct shape shape;
    size_t size; /* bytes before the data */
};

/* The size of the header, given its first NPY_START_BYTES. INVALID_ARGUMENT: not a .npy file, or
 * a larger header. */
struct status npy_header_size(struct bytes start, size_t *out);
/* Reads a front of npy_header_size bytes. Errors as npy_read; UNIMPLEMENTED: an array of text. */
struct status npy_header_read(struct bytes front, struct npy_header *out);

/* The size of the header for such an array, and its bytes; the elements follow. A size of 0:
 * numpy has no such dtype, or it is strings. */
size_t npy_front_size(enum dtype dtype, const struct shape *shape);
void npy_put_front(enum dtype dtype, const struct shape *shape, struct buffer *out);

#define NPY_STRINGS_BYTES_MAX ((size_t)1 << 32)

/* A whole file of strings, as |S: each is padded to the length of the longest.
 * INVALID_ARGUMENT: one ends with a NUL byte; RESOURCE_EXHAUSTED: over NPY_STRINGS_BYTES_MAX. */
struct status npy_put_strings(const struct tensor *tensor, struct buffer *out);

#endif
