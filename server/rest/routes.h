/*
 * route: finds the handler of a REST request, and reads its URL. One table row per route
 * (docs/server.md).
 */
#ifndef SERVER_REST_ROUTES_H
#define SERVER_REST_ROUTES_H

#include "base/arena.h"
#include "server/models/manager.h"

struct exchange;

/* The parts of a URL: /v1/models/NAME[/versions/V or /labels/L], then the action. */
struct target {
    struct bytes name; /* percent-decoded, in the arena */
    struct version_choice version;
    struct bytes action; /* ":predict", "/metadata" or "" */
};

/* Writes the answer, or submits a call whose end writes it. A failure becomes the error body. */
typedef struct status route_handler(struct exchange *exchange);

struct route {
    const char *method; /* "POST" */
    const char *action; /* what follows name and version */
    route_handler *handle;
};

/**
 * Finds the route of a request and reads its URL, `url` with its query.
 *
 * Errors  INVALID_ARGUMENT "Malformed request: GET /v1/x"; a version that does not fit
 */
struct status route_find(const char *method, const char *url, struct arena *arena,
                         struct target *target, const struct route **out);

#endif
