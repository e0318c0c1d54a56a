/*
 * libraries: which code computes here: for `--version`, and beside every figure that is measured.
 */
#ifndef RUNTIME_LIBRARIES_H
#define RUNTIME_LIBRARIES_H

#include "base/bytes.h"

/* Lines such as "oneDNN 2.6.3, AVX-512". A library picks its code for this machine when it is
 * loaded. */
void libraries_print(struct buffer *out);

/**
 * Before plans run in a process whose address space is limited (ulimit -v): takes what OpenBLAS
 * needs for `threads` threads at a time, 128 MiB each, and leaves `others_bytes` of address space
 * to others. Gives for how many threads there was room; products beyond that are computed without
 * OpenBLAS, slowly. Without a limit nothing is taken.
 */
int libraries_reserve(int threads, size_t others_bytes);

#endif
