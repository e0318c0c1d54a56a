/*
 * decompress: the contents of zlib and gzip streams, in memory of the run. As in TensorFlow, a
 * stream that is cut short gives what it holds, and gzip members that follow each other are joined
 * up to one that is empty.
 */
#ifndef KERNELS_DECOMPRESS_H
#define KERNELS_DECOMPRESS_H

#include "runtime/kernel.h"

enum compression { COMPRESSION_NONE, COMPRESSION_ZLIB, COMPRESSION_GZIP };

/* Reads TensorFlow's name: "", "ZLIB" or "GZIP". False: another one. */
bool compression_parse(struct bytes name, enum compression *out);

/**
 * Owner   *out lives in the run's arena; without compression, it is the input
 * Errors  DATA_LOSS damaged; RESOURCE_EXHAUSTED more than the run may hold
 */
struct status decompress(struct kernel_context *k, enum compression compression, struct bytes input,
                         struct bytes *out);

#endif
