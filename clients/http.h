/*
 * http: one HTTP/1.1 connection to a server, kept open from one request to the next: as much of a
 * client as REST needs.
 */
#ifndef CLIENTS_HTTP_H
#define CLIENTS_HTTP_H

#include "base/bytes.h"
#include "rpc/address.h"

struct http {
    struct address address;
    char host[ADDRESS_TEXT_MAX + 256]; /* of the Host header */
    int fd;                            /* -1: not connected */
    struct buffer in;                  /* what came, and is not taken yet */
};

/* "host:port" or "host". INVALID_ARGUMENT: it is neither. */
struct status http_init(struct http *http, const char *address);
void http_finish(struct http *http);

/**
 * Sends a request (body: NULL for GET) and waits for its answer.
 *
 * Owner   *body_out is valid until the next request
 * Errors  UNAVAILABLE nobody there, or it hung up; DEADLINE_EXCEEDED; INTERNAL what answers is not
 *         HTTP; RESOURCE_EXHAUSTED an answer over 1 GiB
 */
struct status http_ask(struct http *http, const char *method, const char *path,
                       const struct buffer *body, int64_t deadline_ns, int *code,
                       struct bytes *body_out);

#endif
