/*
 * exchange: one REST request and its answer, between the HTTP edge (rest.c) and the handlers of the
 * route table.
 */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include "server/context.h"
#include "server/predict_json.h"
#include "server/route.h"

struct exchange {
    struct server_context *server;
    struct arena *arena;
    const char *method, *url; /* url with its query, as it came */
    struct target target;
    struct bytes body; /* whole; JSON_PADDING zero bytes behind it */

    struct servable *servable; /* held until the exchange ends */
    struct predict_request predict;
    struct inference_call call;
    int http;
    struct buffer reply;
    int64_t paid; /* for `reply`, also while it is kept */
};

/* Handlers of the route table, each in rest_<what>.c. They run in the loop's thread, or in the pool
 * if the body is large or compressed. */
route_handler answer_predict, answer_classify, answer_regress, answer_model_status, answer_metadata;

/* The servable that the URL names, kept in the exchange. */
struct status exchange_find_servable(struct exchange *exchange);

/* Before the reply is written: room for `size_max` bytes, paid for from the server's memory.
 * RESOURCE_EXHAUSTED. */
struct status exchange_reserve_reply(struct exchange *exchange, size_t size_max);

/* What is to run when the handler has returned: `callable` on `inputs`; `answer` prints
 * exchange->reply from the outputs. */
struct status
exchange_call(struct exchange *exchange, struct callable *callable, const struct tensor *inputs,
              struct status (*answer)(struct inference_call *, const struct tensor *outputs));

static inline struct exchange *exchange_of(struct inference_call *call)
{
    return (struct exchange *)((char *)call - offsetof(struct exchange, call));
}

/* {"error": "text"} with the code's HTTP status. */
void exchange_fail(struct exchange *exchange, struct status status);

#endif
