/*
 * route: which handler a REST request goes to, and what its URL says. One table row per route
 * (docs/server.md).
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "base/arena.h"
#include "server/manager.h"

struct exchange;

/* The parts of a URL: /v1/models/NAME[/versions/V or /labels/L], then what follows it. */
struct target {
    struct bytes name; /* percent-decoded, in the arena */
    struct version_choice version;
    struct bytes action; /* ":predict", "/metadata" or "" */
};

/* Answers, or submits a call whose end answers. A failure becomes the error body. */
typedef struct status route_handler(struct exchange *exchange);

struct route {
    const char *method; /* "POST" */
    const char *action; /* what stands behind name and version */
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
