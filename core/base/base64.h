/*
 * base64: standard alphabet; padding may be missing, white space anywhere is passed over.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/arena.h"
#include "base/bytes.h"

/* In `arena`. INVALID_ARGUMENT "Unable to base64 decode". */
struct status base64_decode(struct bytes text, struct arena *arena, struct bytes *out);

#endif
