/*
 * rest_internal: what the files of the REST edge share: rest.c has the daemon, rest_connection.c
 * its connections, rest_request.c the life of a request, rest_head.c and rest_body.c what a request
 * brings. Everything belongs to the loop's thread.
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
    struct rest_link *link; /* NULL: the connection is gone */
    enum request_state state;
    char *data;            /* the body */
    size_t size, capacity; /* the capacity is paid for, also while it is kept */
    bool too_large;
    bool gzip;    /* Content-Encoding */
    bool refused; /* where it ends is not certain: the connection is closed behind the answer */
    char *target; /* of the request line, as it came */
    struct request *next; /* among the idle ones */
};

#define REST_CONNECTION_MEMORY ((size_t)16 * 1024) /* libmicrohttpd clears it for each request */
/* What a connection pays: its memory, and a copy of a URL that may be as long. */
#define REST_CONNECTION_BYTES  (2 * (int64_t)REST_CONNECTION_MEMORY)

/* A connection of libmicrohttpd's. */
struct rest_link {
    struct rest *rest;
    int fd;
    struct request *request;  /* NULL: between two requests */
    struct loop_watch *watch; /* of the client's leaving */
    bool is_listed;           /* in rest->left */
    bool has_left;            /* the client has closed its sending side */
    bool chunked;             /* the body that is being read */
    int64_t progress_ns;      /* when a part of the request came last */
    struct rest_link *next_left;
    struct rest_link *next, *previous; /* among those that are reading a request */
};

struct rest {
    struct server_context *server;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer timer;
    struct rest_link *left, *links_reading;
    struct loop_timer stall_timer;
    int idle_runs;   /* MHD_run at a stretch that wanted another one and called nothing of ours */
    bool progressed; /* this MHD_run has called something of ours */
    bool spins;      /* idle_runs are many */
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

/* rest_connection.c. A request that is being read and makes no progress for some seconds loses its
 * connection, and so does a client that has left before its request was whole. */
void rest_links_start(struct rest *rest);
void rest_links_stop(struct rest *rest);
void rest_on_connection(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_ConnectionNotificationCode code);
struct rest_link *rest_link_of(struct MHD_Connection *connection);
void rest_link_reads(struct rest_link *link);
void rest_link_progressed(struct rest_link *link);
void rest_link_has_read(struct rest_link *link);
void rest_links_after_run(struct rest *rest);
void rest_links_end_left(struct rest *rest); /* when all that has come is read */

/* rest_head.c. Refuses what a proxy could read differently, so that no request hides in another:
 * INVALID_ARGUMENT two lengths, a length beside chunks, no Host or two; UNIMPLEMENTED other
 * transfer encodings. */
struct status rest_head_check(struct MHD_Connection *connection, const char *version,
                              bool *chunked);
/* The path and query of a request's target, which may have a scheme and a host before them. */
const char *rest_head_path(const char *target);

/* rest_request.c: microhttpd's callbacks, with a struct rest as their context. */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *connection);
enum MHD_Result rest_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state);
void rest_on_completed(void *context, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code);
void rest_request_leave(struct request *request); /* its connection is done with it */
void rest_request_free(struct rest *rest, struct request *request); /* an idle one */

/* rest_body.c. Room for what Content-Length promises; the bytes as they come: too many are answered
 * with an error, after they have been read. */
void rest_body_expect(struct request *request);
void rest_body_append(struct request *request, const char *data, size_t size);
/* It has come whole: expanded where it was packed, and padded. In any thread. */
struct status rest_body_finish(struct request *request);
void rest_body_free(struct request *request);

#endif
