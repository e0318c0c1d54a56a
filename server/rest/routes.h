/*
 * routes: finds the handler of a REST request, and reads its URL. One table row per route
 * (docs/adding.md).
 *
 * Paths under /v1/ are matched as TensorFlow Serving does: the query is part of the path, fixed
 * words match in either case except after a ':', and anything without a matching row is a malformed
 * request. All other paths match exactly, without their query.
 */
#ifndef SERVER_REST_ROUTES_H
#define SERVER_REST_ROUTES_H

#include "base/arena.h"
#include "server/inference/served_request.h"

struct exchange;

/* Writes the answer, or requests a run that writes it. A failure becomes the error body. */
typedef struct status route_handler(struct exchange *exchange);

struct route {
    const char *methods; /* "POST", or several in the form of an Allow header: "GET, HEAD" */
    /* "/v1/models/{model}{selector}:predict". {model}: a name, percent-decoded into spec.name;
     * {selector}: nothing, /versions/7 or /labels/stable, into spec.version. */
    const char *pattern;
    route_handler *handle;
    enum request_api api;
    bool takes_long;            /* with a thousand models: an idle thread of the pool handles it */
    const char *content_type;   /* of a successful answer; NULL: application/json */
    const char *const *headers; /* that the handler reads (exchange_header); ends with NULL */
    /* Returns the pattern, if the configuration determines it; NULL: not served. */
    const char *(*configured)(const struct server_context *server);
};

struct route_match {
    const struct route *route; /* NULL: none */
    const char *allow;         /* without a route: the methods of the rows that match except for the
                        * method */
    struct model_spec spec;
    struct bytes query; /* outside /v1/; inside, only "explain=1" is a query */
};

/* Is the path one of TensorFlow Serving's? */
bool route_is_v1(const char *url);
bool route_is_v2(const char *url); /* the Open Inference Protocol */

/**
 * Finds the route of a request and parses its URL, including the query. Names live in `arena`.
 *
 * Errors  INVALID_ARGUMENT "Malformed request: GET /v1/x"; a version that does not fit
 *         NOT_FOUND no route under /v2/
 */
struct status route_find(const struct server_context *server, const char *method, const char *url,
                         struct arena *arena, struct route_match *out);

#endif
