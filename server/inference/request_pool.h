/*
 * request_pool: the memory of the requests of one protocol in one loop, which later requests reuse.
 *
 *     request_pool_init(&pool, server, &kind);
 *     struct served_request *request = request_pool_take(&pool);
 *     …                                                its life: served_request.h
 *     request_pool_give(request);
 *     request_pool_finish(&pool);
 *
 * What idle requests keep stays charged to the server's budget, and is at most server_keep_max. If
 * the budget runs short, they are freed.
 *
 * Threads  the loop's; the budget may free idle requests in any
 */
#ifndef SERVER_INFERENCE_REQUEST_POOL_H
#define SERVER_INFERENCE_REQUEST_POOL_H

#include "server/inference/served_request.h"

/* A protocol's struct, whose first member is the served_request. */
struct request_kind {
    enum request_protocol protocol;
    size_t size;
    size_t cleared_end; /* bytes before this offset are zeroed for each request; the rest is kept */
    /* The answer of a request that ran or waited is complete, or has failed. */
    void (*finish)(struct served_request *request, struct status status);
    void (*to_pool)(struct inference_call *call); /* as in inference_call */
    /* The bytes that it keeps in addition to the served_request's, and how to free them; NULL:
     * none. */
    size_t (*held)(const struct served_request *request);
    void (*free)(struct served_request *request); /* in any thread */
};

/* One per protocol and loop. */
struct request_pool {
    struct server_context *server;
    const struct request_kind *kind;
    /* Idle requests. A thread takes the whole list out before it changes it; only the loop's thread
     * puts one in. */
    struct served_request *_Atomic idle;
    size_t idle_bytes;       /* memory that they keep; in the loop's thread */
    struct list_link *begun; /* of struct served_request, until they end */
    struct budget_holder holder;
};

/* Larger buffers are not kept for the next request. */
#define REQUEST_KEPT_BYTES_MAX ((size_t)256 * 1024)

void request_pool_init(struct request_pool *pool, struct server_context *server,
                       const struct request_kind *kind);
void request_pool_finish(struct request_pool *pool); /* frees the idle requests */
struct served_request *request_pool_take(struct request_pool *pool);
/* The answer is sent. Its memory is kept for the next request, unless it is large. */
void request_pool_give(struct served_request *request);

#endif
