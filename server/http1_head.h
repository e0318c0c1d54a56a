/*
 * http1_head: reads the head of an HTTP/1 request (RFC 9112).
 *
 * A proxy in front of us reads the same bytes. Whatever two readers could understand differently
 * (two lengths, a length beside chunks, control characters, spaces before a colon) is refused:
 * otherwise a client could hide one request inside another.
 */
#ifndef SERVER_HTTP1_HEAD_H
#define SERVER_HTTP1_HEAD_H

#include "base/bytes.h"

#define HTTP1_CHUNKED (-1)

struct http1_head {
    struct bytes method, target;           /* target: path and query; "*" of OPTIONS */
    struct bytes content_encoding, origin; /* size 0: not given; views of the text, as all here */
    int64_t length;                        /* of the body, or HTTP1_CHUNKED */
    int minor;                             /* HTTP/1.0 or HTTP/1.1 */
    bool keep_alive, expects_continue;
};

/* The reason why a request is refused: an HTTP status and a text. */
struct http1_refusal {
    int code;
    const char *why;
};

/* How many bytes the head has with its empty line; 0: it is not whole yet. `seen`: a size for which
 * the answer was 0 before. */
size_t http1_head_size(struct bytes text, size_t seen);

/* Reads a whole head. False: *refusal says why not. */
bool http1_head_read(struct bytes text, struct http1_head *out, struct http1_refusal *refusal);

#endif
