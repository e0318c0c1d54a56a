/*
 * server_context: what the requests of a loop share, in every protocol. The loop and its rounds are
 * its own; each loop has a copy of the rest.
 */
#ifndef SERVER_INFERENCE_SERVER_CONTEXT_H
#define SERVER_INFERENCE_SERVER_CONTEXT_H

#include "base/budget.h"
#include "server/inference/inference.h"

struct auth;
struct transport_maker;

struct server_context {
    struct loop *loop;
    struct inference *inference;
    struct manager *manager;
    struct budget *budget;
    int loops;                /* that the server has */
    int64_t timeout_ns;       /* of a REST request's run; REST has no deadlines. 0: none */
    int64_t body_bytes_max;   /* 0: no limit */
    bool cors;                /* answer web pages of other origins */
    const char *cors_origins; /* those of these origins only, separated by commas; "": of all */
    bool check_method_names;  /* a signature's method name must fit the request */
    bool tensor_content; /* gRPC answers hold tensor_content instead of float_val and the like */
    bool allow_model_control;         /* clients may load and unload configured models */
    const _Atomic bool *going_down;   /* readiness is down; NULL: never */
    struct auth *auth;                /* who may ask; NULL: everybody */
    struct transport_maker *rest_tls; /* of REST; NULL: it is not encrypted */
    const char *monitoring_path;      /* of TensorFlow Serving's metrics; NULL: they have no page */
    struct request_observer *observers; /* served_request.h */
    bool times_wanted;                  /* by an observer */
};

static inline bool server_is_going_down(const struct server_context *server)
{
    return server->going_down != NULL && atomic_load(server->going_down);
}

/* The most memory that each protocol of a loop may keep for its next requests. It stays charged to
 * the budget. */
static inline size_t server_keep_max(const struct server_context *server)
{
    const size_t most = (size_t)8 << 20;
    size_t part = (size_t)server->budget->limit_bytes / 16 / (size_t)server->loops;
    return part < most ? part : most;
}

#endif
