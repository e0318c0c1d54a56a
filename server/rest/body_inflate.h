/*
 * body_inflate: expands request bodies with a Content-Encoding, up to a limit.
 */
#ifndef SERVER_REST_BODY_INFLATE_H
#define SERVER_REST_BODY_INFLATE_H

#include "base/budget.h"
#include "base/inflate.h"

/* Expands `size` bytes, up to limit_bytes, into *out (malloc, followed by `padding` zero bytes).
 * *taken: of the budget. OUT_OF_RANGE: over the limit; RESOURCE_EXHAUSTED: no memory;
 * INVALID_ARGUMENT: damaged. */
struct status body_inflate(enum inflate_format format, const char *data, size_t size,
                           size_t limit_bytes, size_t padding, struct budget *budget, char **out,
                           size_t *out_size, int64_t *taken);

#endif
