/* exchange: one REST request and its answer, between the HTTP edge (request.c) and the handlers of
 * the route table. */
#ifndef SERVER_REST_EXCHANGE_H
#define SERVER_REST_EXCHANGE_H

#include "server/inference/served_request.h"
#include "server/rest/routes.h"

#define EXCHANGE_HEADERS_MAX 8

struct exchange_header {
    const char *name, *value;
};

struct exchange {
    struct served_request served; /* first; its body is followed by JSON_PADDING zero bytes */
    const char *method, *url;     /* url: verbatim, with its query */
    const struct route *route;    /* NULL: the request was refused before routing */
    struct bytes query;           /* after the '?', for routes outside /v1 */
    struct explain *explain;      /* NULL: not requested */
    const char *const *wanted;    /* values of route->headers; NULL: not sent */

    /* The answer, in addition to served.reply: */
    int http;
    const char *content_type;
    struct exchange_header headers[EXCHANGE_HEADERS_MAX];
    int headers_count;
};

/* The handlers of the route table. They run in the loop's thread, or in the pool if the body is
 * large or compressed, or the answer takes long. */
route_handler answer_predict, answer_classify, answer_regress;         /* predict.c, examples.c */
route_handler answer_model_status, answer_model_list, answer_metadata; /* model_info.c */
route_handler answer_alive, answer_ready, answer_model_ready, answer_v1_alive; /* health.c */

route_handler answer_metrics, answer_tensorflow_metrics; /* metrics.c */

/* The value of a request header of the route's row; NULL: not sent. */
const char *exchange_header(const struct exchange *exchange, const char *name);

/* Adds a header to the answer. Owner: the texts must live until the answer is sent. */
void exchange_add_header(struct exchange *exchange, const char *name, const char *value);

/* The answer has the HTTP status 503, though its body is not an error text. */
void exchange_set_unavailable(struct exchange *exchange);

static inline struct exchange *exchange_of(struct served_request *request)
{
    return (struct exchange *)request;
}

/* Sets the reply {"error": "text"} with the HTTP status of the code. */
void exchange_fail(struct exchange *exchange, struct status status);

#endif
