/*
 * http: an HTTP/1.1 client with one connection, which stays open between requests. It supports what
 * TensorFlow Serving's REST API needs: no chunks, no redirects.
 */
#ifndef CLIENTS_HTTP_H
#define CLIENTS_HTTP_H

#include "base/bytes.h"
#include "rpc/address.h"
#include "rpc/transport.h"

struct http {
    struct address address;
    char host[ADDRESS_TEXT_MAX + 256]; /* the Host header */
    /* Set these after http_init; they are borrowed. */
    const char *token;           /* sent with each request; NULL: none */
    struct transport_maker *tls; /* NULL: not encrypted */
    const char *server_name;     /* in the server's certificate; NULL: the host of the address */
    struct transport *transport; /* NULL: not connected */
    struct buffer in;            /* received, and not consumed yet */
};

/* The address, after http:// or https://, is "host:port", or "host" with port 8501.
 * INVALID_ARGUMENT: neither. */
struct status http_init(struct http *http, const char *address);
void http_finish(struct http *http);

/**
 * Sends a request (body: NULL for GET) and waits for its answer.
 *
 * Owner   *body_out is valid until the next request
 * Errors  UNAVAILABLE cannot connect, or the server hung up; DEADLINE_EXCEEDED; INTERNAL the answer
 *         is not HTTP/1.1; RESOURCE_EXHAUSTED the answer is over 1 GiB
 */
struct status http_ask(struct http *http, const char *method, const char *path,
                       const struct buffer *body, int64_t deadline_ns, int *code,
                       struct bytes *body_out);

#endif
