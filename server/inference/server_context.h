/*
 * server_context: shared by the requests of a loop, in every protocol. The loop and its rounds
 * differ per loop; the rest is a copy in each.
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
    int rest_port;            /* 0: REST is not served */
    int64_t timeout_ns;       /* of a REST request's run, as REST has no deadlines. 0: none */
    int64_t body_bytes_max;   /* 0: no limit */
    bool cors;                /* answer web pages of other origins (CORS) */
    const char *cors_origins; /* only those of these origins, separated by commas; "": all */
    bool check_method_names;  /* a signature's method name must match the request */
    bool tensor_content; /* gRPC answers have tensor_content instead of float_val and the like */
    bool allow_model_control;           /* clients may load and unload configured models */
    const _Atomic bool *going_down;     /* not ready any more; NULL: never */
    struct auth *auth;                  /* authenticates requests; NULL: everybody may send them */
    struct transport_maker *rest_tls;   /* of REST; NULL: not encrypted */
    const char *monitoring_path;        /* of TensorFlow Serving's metrics; NULL: no page */
    struct request_observer *observers; /* served_request.h */
    bool times_wanted;                  /* by an observer */
};

static inline bool server_is_going_down(const struct server_context *server)
{
    return server->going_down != NULL && atomic_load(server->going_down);
}

/* Limit of the memory that each protocol of a loop keeps for later requests. It stays charged to
 * the budget. */
static inline size_t server_keep_max(const struct server_context *server)
{
    const size_t most = (size_t)8 << 20;
    size_t part = (size_t)server->budget->limit_bytes / 16 / (size_t)server->loops;
    return part < most ? part : most;
}

#endif
