/* exchange: one REST request and its answer, between the HTTP edge (rest.c) and the handlers of the
 * route table. */
#ifndef SERVER_REST_EXCHANGE_H
#define SERVER_REST_EXCHANGE_H

#include "base/container.h"
#include "server/inference/server_context.h"
#include "server/json/predict.h"
#include "server/rest/routes.h"

struct exchange {
    struct server_context *server;
    struct arena *arena;
    const char *method, *url; /* url: with its query, as it came */
    struct target target;
    struct bytes body; /* complete, followed by JSON_PADDING zero bytes */

    struct servable *servable; /* held until the exchange ends */
    struct predict_request predict;
    struct inference_call call;
    int http;
    struct buffer reply;
    int64_t paid; /* for `reply`, even while it is kept */
};

/* The handlers of the route table, in predict.c, examples.c and model_info.c. They run in the
 * loop's thread, or in the pool if the body is large or compressed. */
route_handler answer_predict, answer_classify, answer_regress, answer_model_status, answer_metadata;

/* Finds the servable that the URL names, and keeps it in the exchange. */
struct status exchange_find_servable(struct exchange *exchange);

/* Reserves `size_max` bytes for the reply, paid for from the server's memory; called before they
 * are written. RESOURCE_EXHAUSTED. */
struct status exchange_reserve_reply(struct exchange *exchange, size_t size_max);

/* Sets what runs after the handler returns: `callable` on `inputs`, then `answer`, which prints the
 * outputs to exchange->reply. */
struct status
exchange_call(struct exchange *exchange, struct callable *callable, const struct tensor *inputs,
              struct status (*answer)(struct inference_call *, const struct tensor *outputs));

static inline struct exchange *exchange_of(struct inference_call *call)
{
    return CONTAINER_OF(call, struct exchange, call);
}

/* Sets the reply {"error": "text"} with the HTTP status of the code. */
void exchange_fail(struct exchange *exchange, struct status status);

#endif
