/*
 * libraries: which code computes here: for `--version`, and beside every figure that is measured.
 */
#ifndef RUNTIME_LIBRARIES_H
#define RUNTIME_LIBRARIES_H

#include "base/bytes.h"

/* Lines such as "oneDNN 2.6.3, AVX-512". A library picks its code for this machine when it is
 * loaded. */
void libraries_print(struct buffer *out);

#endif
