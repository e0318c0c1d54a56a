/*
 * body_inflate: expands request bodies with a Content-Encoding, up to a limit.
 */
#ifndef SERVER_REST_BODY_INFLATE_H
#define SERVER_REST_BODY_INFLATE_H

#include "base/budget.h"
#include "base/inflate.h"

struct inflated_body {
    char *data; /* followed by `padding` zero bytes; the caller frees it */
    size_t size;
    int64_t taken; /* bytes charged to the budget, for the caller to give back */
};

/* Expands a body to at most limit_bytes. OUT_OF_RANGE: over the limit; RESOURCE_EXHAUSTED: no
 * memory; INVALID_ARGUMENT: damaged. */
struct status body_inflate(enum inflate_format format, struct bytes packed, size_t limit_bytes,
                           size_t padding, struct budget *budget, struct inflated_body *out);

#endif
