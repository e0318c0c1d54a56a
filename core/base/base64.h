/*
 * base64: decodes the standard alphabet. Padding may be missing; white space is skipped.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/arena.h"
#include "base/bytes.h"

/* The bytes live in `arena`. INVALID_ARGUMENT: "Unable to base64 decode". */
struct status base64_decode(struct bytes text, struct arena *arena, struct bytes *out);

#endif
