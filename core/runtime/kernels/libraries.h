/*
 * libraries: names the code that computes on this machine, for `--version` and beside every
 * measurement.
 */
#ifndef RUNTIME_KERNELS_LIBRARIES_H
#define RUNTIME_KERNELS_LIBRARIES_H

#include "base/bytes.h"

/* Lines such as "oneDNN 2.6.3, AVX-512". A library chooses its code for the machine when it is
 * loaded. */
void libraries_print(struct buffer *out);

/**
 * Reserves the buffers of OpenBLAS, 128 MiB for each of `threads` concurrent threads, but leaves
 * `others_bytes` of address space. For processes whose address space is limited (ulimit -v), before
 * plans run; without a limit it reserves nothing. Returns the number of threads for which there was
 * room; products beyond that are computed without OpenBLAS, slowly.
 */
int libraries_reserve(int threads, size_t others_bytes);

#endif
