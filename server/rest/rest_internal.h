/*
 * rest_internal: types and functions shared by the files of the REST edge. rest.c owns
 * libmicrohttpd's daemon, connection.c the connections, request.c the life of a request; head.c and
 * body.c read a request. Everything belongs to the loop's thread.
 */
#ifndef SERVER_REST_REST_INTERNAL_H
#define SERVER_REST_REST_INTERNAL_H

#include <microhttpd.h>
#include <string.h>

#include "base/inflate.h"
#include "base/list.h"
#include "server/inference/request_pool.h"
#include "server/rest/rest.h"
#include "server/rest/tls_bridge.h"

/* The life of a request, see the drawing in request.c. In the order of a request that goes to
 * the pool. */
enum request_state {
    REQUEST_NEW,
    REQUEST_READING,
    REQUEST_READ,
    REQUEST_RUNNING,
    REQUEST_POOLED,
    REQUEST_SUSPENDED,
    REQUEST_CANCELLED,
    REQUEST_DONE,
};

struct request {
    struct exchange exchange; /* first */
    struct rest *rest;
    struct MHD_Connection *mhd;
    struct rest_connection *connection; /* NULL: it is gone */
    enum request_state state;
    size_t size;     /* of the body */
    bool dropped;    /* the body is discarded: it is too large, or its sender has no token */
    bool compressed; /* by Content-Encoding */
    enum inflate_format compression;
    bool refused; /* its end is unknown, so the connection is closed after the answer */
    bool handled; /* it is inside libmicrohttpd's callback, which takes the answer */
    char *target; /* of the request line, verbatim */
    /* Kept for the next request, and charged even while there is none: */
    char *data; /* the body */
    size_t capacity;
    bool is_mapped;         /* data has pages of its own */
    char short_target[128]; /* most targets fit, and need no allocation */
};

#define REST_CONNECTION_MEMORY ((size_t)16 * 1024) /* libmicrohttpd clears it for each request */
/* The charge for a connection: its memory, and a copy of a URL that may be as large. */
#define REST_CONNECTION_BYTES  (2 * (int64_t)REST_CONNECTION_MEMORY)

struct rest_connection {
    struct rest *rest;
    int fd;
    struct request *request;       /* NULL: between two requests */
    struct loop_watch *watch;      /* notices when the client disconnects */
    bool is_disconnected;          /* the client has closed its sending side */
    bool chunked;                  /* the body being read is chunked */
    int64_t progress_ns;           /* when the last part of the request arrived */
    struct list_link reading;      /* in rest->reading while a request is read */
    struct list_link disconnected; /* in rest->disconnected until we close its connection */
};

struct rest {
    struct server_context *server;
    struct MHD_Daemon *daemon;
    int epoll; /* libmicrohttpd's own */
    /* leads: the loop waits in libmicrohttpd's epoll; otherwise the loop watches that epoll. If
     * the system refused both, neither holds for some milliseconds: see rest_set_leader. */
    bool may_lead, leads;
    struct loop_watch *watch;
    struct loop_timer timer;
    struct list_link *reading, *disconnected; /* of struct rest_connection */
    struct loop_timer stall_timer;
    int idle_runs;   /* consecutive MHD_runs that asked for another one and called none of our
                      * callbacks */
    bool progressed; /* the current MHD_run has called one of our callbacks */
    bool spins;      /* idle_runs has reached its limit */
    struct request_pool memory;
    int connections;         /* open */
    int requests;            /* begun and not ended */
    int requests_incomplete; /* of these, not completely read */
    bool unfinished;         /* MHD_run asks to be called again at once */
    bool answered;           /* an answer waits for MHD_run */

    struct tls_bridge *bridge; /* NULL: connections are not encrypted */
    void (*take_http2)(void *context, struct transport *transport); /* NULL: nobody */
    void *http2_context;

    bool draining;
    struct loop_timer drain_timer;
    int64_t drain_idle_since_ns, drain_began_ns;
    void (*drained)(void *context);
    void *drained_context;
};

/* We rely on some undocumented behaviour of this version. */
static inline bool rest_knows_library(void)
{
    return strcmp(MHD_get_version(), "0.9.75") == 0;
}

/* The value of a request's header, without blanks after it; in the library's memory or the
 * request's arena. NULL: there is none. */
const char *rest_header(const struct request *request, const char *name);

/* connection.c. Closes the connection of a request that makes no progress for some seconds, and
 * of a client that disconnects before its request is complete. */
void rest_connections_start(struct rest *rest);
void rest_connections_stop(struct rest *rest);
void rest_on_connection(void *context, struct MHD_Connection *mhd, void **state,
                        enum MHD_ConnectionNotificationCode code);
struct rest_connection *rest_connection_of(struct MHD_Connection *mhd);
void rest_connection_begin_reading(struct rest_connection *connection);
void rest_connection_note_progress(struct rest_connection *connection);
void rest_connection_end_reading(struct rest_connection *connection);
void rest_connections_after_run(struct rest *rest);
/* Call it once all received bytes are read. */
void rest_connections_close_disconnected(struct rest *rest);

/* head.c. Refuses a head that a proxy could parse differently, which prevents request smuggling.
 *
 * Errors  INVALID_ARGUMENT two lengths, a length beside chunks, chunks in HTTP/1.0, no Host or two,
 *         a NUL, a lone carriage return, a name that is not a token, a header of several lines;
 *         UNIMPLEMENTED any other transfer encoding */
struct status rest_head_check(struct MHD_Connection *mhd, const char *version, bool *chunked);
/* The path and query of a request's target, which may begin with a scheme and a host. */
const char *rest_head_path(const char *target);

/* cors.c: cross-origin resource sharing. */
bool rest_cors_is_on(const struct server_context *server);
bool rest_cors_is_web_page(const struct request *request); /* it names its origin */
void rest_cors_add(const struct request *request, struct MHD_Response *response);
void rest_add_header(struct MHD_Response *response, const char *name, const char *value);

/* request.c: libmicrohttpd's callbacks; their context is the struct rest. */
void *rest_on_request_line(void *context, const char *url, struct MHD_Connection *mhd);
enum MHD_Result rest_on_request(void *context, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *size, void **state);
void rest_on_completed(void *context, struct MHD_Connection *mhd, void **state,
                       enum MHD_RequestTerminationCode code);
void rest_request_detach(struct request *request); /* from a connection that no longer needs it */
void rest_requests_abandon(struct rest *rest);     /* answers those that still wait */
extern const struct request_kind rest_request_kind;

/* body.c. Reserves memory according to Content-Length, then appends received data.
 *
 * Errors  RESOURCE_EXHAUSTED the body is too large, or the memory budget is exhausted */
struct status rest_body_expect(struct request *request);
/* Answers with an error. The rest of the body is still read, and discarded: closing at once
 * would lose the answer. */
void rest_body_refuse(struct request *request, struct status status);
void rest_body_append(struct request *request, const char *data, size_t size);
/* The body is complete: decompresses it if necessary, and pads it. Any thread. */
struct status rest_body_finish(struct request *request);
void rest_body_free(struct request *request);

#endif
