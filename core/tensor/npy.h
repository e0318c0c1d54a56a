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

#endif
