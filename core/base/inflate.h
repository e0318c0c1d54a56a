/*
 * inflate: decompresses gzip and zlib streams into memory that grows up to a limit.
 */
#ifndef BASE_INFLATE_H
#define BASE_INFLATE_H

#include "base/bytes.h"

enum inflate_format {
    INFLATE_GZIP,
    INFLATE_ZLIB,
    INFLATE_EITHER, /* gzip or zlib, told apart by the first bytes */
};

/* The result is a value, not a status, because each caller has its own error texts. */
enum inflate_result {
    INFLATE_END,       /* the stream has ended; *input is what follows it */
    INFLATE_CUT_SHORT, /* the input has ended, the stream has not */
    INFLATE_TOO_LARGE, /* output->limit is exceeded */
    INFLATE_DAMAGED,   /* output->damage says how */
    INFLATE_NO_MEMORY, /* for zlib's own state */
};

/* The destination. Embed it in the struct that owns the memory. */
struct inflate_output {
    char *data; /* NULL if capacity is 0 */
    size_t size, capacity;
    size_t limit; /* the largest valid size */
    /* Called when size == capacity <= limit: makes capacity larger, or fails. */
    struct status (*grow)(struct inflate_output *output);
    const char *damage; /* zlib's description */
};

/**
 * Appends the first stream in *input to the output, verifies its checksum, and advances *input past
 * the stream.
 *
 * Errors  those of `grow`; *result has everything else
 */
struct status inflate_stream(enum inflate_format format, struct bytes *input,
                             struct inflate_output *output, enum inflate_result *result);

/* Same for all members of gzip data, which follow each other (RFC 1952). */
struct status inflate_members(struct bytes *input, struct inflate_output *output,
                              enum inflate_result *result);

#endif
