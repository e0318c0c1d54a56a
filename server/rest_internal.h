/*
 * rest_internal: what the files of the REST edge share: rest.c has the daemon and its connections,
 * rest_request.c the life of a request, rest_body.c what a request brings. Everything belongs to
 * the loop's thread.
 */
#ifndef SERVER_REST_INTERNAL_H
#define SERVER_REST_INTERNAL_H

#include <microhttpd.h>

#include "server/rest.h"

enum request_state {
    REQUEST_NEW,
    REQUEST_READING,
    REQUEST_RUNNING,   /* in this round's batch */
    REQUEST_POOLED,    /* in the pool; to be suspended when microhttpd asks next */
    REQUEST_SUSPENDED, /* in the pool */
    REQUEST_LEFT,      /* in the pool, and its connection is gone */
    REQUEST_DONE,
};

struct request {
    struct exchange exchange;
    struct rest *rest;
    struct MHD_Connection *connection;
    enum request_state state;
    char *data;            /* the body */
    size_t size, capacity; /* the capacity is paid for, also while it is kept */
    bool too_large;
    bool gzip; /* Content-Encoding */
    char *url;
    struct loop_watch *watch; /* of the client's leaving, while suspended */
    struct request *next;     /* among the idle ones */
};

struct rest {
    struct server_context *server;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer timer;
    struct request *idle;
    size_t idle_bytes;                  /* of what idle ones keep */
    int connections, requests, reading; /* open; of these in work; of these not read whole */
    bool unfinished;                    /* MHD_run wants to be called again at once */
    bool answered;                      /* something waits for MHD_run */

    bool draining;
    struct loop_timer drain_timer;
    int64_t drain_idle_since_ns, drain_began_ns;
    void (*drained)(void *context);
    void *drained_context;
};

#define REST_KEPT_BYTES_MAX ((size_t)256 * 1024) /* of buffers that the next request may use */

static inline const char *rest_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

/* rest_request.c: microhttpd's callbacks, with a struct rest as their context. */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *connection);
enum MHD_Result rest_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state);
void rest_on_completed(void *context, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code);
void rest_request_free(struct rest *rest, struct request *request); /* an idle one */

/* rest_body.c. Room for what Content-Length promises; the bytes as they come: too many are answered
 * with an error, after they have been read. */
void rest_body_expect(struct request *request);
void rest_body_append(struct request *request, const char *data, size_t size);
/* It has come whole: expanded where it was packed, and padded. In any thread. */
struct status rest_body_finish(struct request *request);
void rest_body_free(struct request *request);

#endif
