/*
 * rest_internal: what the files of the REST edge share: rest.c has the connections and the drain,
 * rest_request.c the life of a request, rest_body.c what a request brings. Everything belongs to
 * the loop's thread.
 */
#ifndef SERVER_REST_INTERNAL_H
#define SERVER_REST_INTERNAL_H

#include "server/http1.h"
#include "server/rest.h"

enum request_state {
    REQUEST_READING,
    REQUEST_RUNNING, /* in this round's batch */
    REQUEST_IN_POOL,
    REQUEST_DONE,
};

struct request {
    struct exchange exchange;
    struct rest *rest;
    struct http1_connection *connection;
    enum request_state state;
    char *data; /* the body */
    size_t size, capacity;
    bool too_large;
    bool left;            /* by its client */
    bool gzip, from_web;  /* Content-Encoding; Origin is a web page */
    char *line;           /* method and url */
    struct request *next; /* among the idle ones */
};

struct rest {
    struct server_context *server;
    struct http1 *http;
    struct request *idle;
    int requests, reading; /* in work; of these not read whole */

    bool draining;
    struct loop_timer drain_timer;
    int64_t drain_idle_since_ns, drain_began_ns;
    void (*drained)(void *context);
    void *drained_context;
};

#define REST_KEPT_BYTES_MAX EXCHANGE_FREE_BYTES /* of buffers that the next request may use */

/* rest_request.c: the events of http1, with a struct rest as their context. */
void *rest_on_begin(void *context, struct http1_connection *connection,
                    const struct http1_head *head);
void rest_on_body(void *request, struct bytes data);
void rest_on_whole(void *request);
void rest_on_left(void *request);
void rest_on_end(void *request);
void rest_request_free(struct request *request); /* an idle one */

/* rest_body.c. Room for what Content-Length promises; the bytes as they come: too many are answered
 * with an error, after they have been read. */
void rest_body_expect(struct request *request, int64_t length);
void rest_body_append(struct request *request, const char *data, size_t size);
/* It has come whole: expanded where it was packed, and padded. In any thread. */
struct status rest_body_finish(struct request *request);

#endif
