/*
 * grpc_request: one gRPC call in work and its answer, between the edge (grpc.c) and the methods of
 * the service tables. What an exchange is to REST.
 */
#ifndef SERVER_GRPC_REQUEST_H
#define SERVER_GRPC_REQUEST_H

#include "rpc/channel.h"
#include "server/context.h"
#include "server/model_spec.h"

struct grpc;
struct grpc_request;
struct predict_forms;

/* Answers into `reply`, or hands in a run whose end answers. A failure ends the call. Runs in the
 * loop's thread, or in the pool if the request is large or compressed. */
typedef struct status grpc_method(struct grpc_request *request);

struct grpc_request {
    struct grpc *grpc;
    struct server_context *server;
    struct arena *arena;
    struct bytes body;         /* the request's message; held until the answer is made */
    struct servable *servable; /* the same */
    struct model_spec spec;
    struct buffer reply;         /* the answer's message */
    struct predict_forms *forms; /* predict_form.h; the loop's */

    struct inference_call run;
    /* Called in the loop's thread when a run ended well; NULL: the answer is complete. */
    struct status (*next)(struct grpc_request *request);
    void *method; /* the method's own */

    /* the edge's own */
    struct call *call;
    struct message message;
    grpc_method *read; /* what runs in the pool */
    bool running;
    bool in_pool; /* the method runs in the pool, and has nothing of the loop's */
    int64_t paid; /* for `reply`, also while it is kept */
    struct grpc_request *next_free;
    struct grpc_request *newer, *older; /* among those in work */
};

/* Each in grpc_<what>.c. */
grpc_method grpc_predict, grpc_classify, grpc_regress, grpc_multi_inference;
grpc_method grpc_model_metadata, grpc_model_status, grpc_reload_config;

/* The servable that request->spec names, kept in the request. */
struct status grpc_find_servable(struct grpc_request *request);

/* Before anything is written to the reply, or to add to it: room for `size_max` bytes more, paid
 * for from the server's memory. RESOURCE_EXHAUSTED. */
struct status grpc_reserve_reply(struct grpc_request *request, size_t size_max);

/* Runs `callable` on `inputs`; `answer` fills request->reply from the outputs. */
struct status
grpc_run(struct grpc_request *request, struct callable *callable, const struct tensor *inputs,
         struct status (*answer)(struct inference_call *, const struct tensor *outputs));

/* How the outputs' tensors are to be written. */
bool grpc_writes_content(const struct grpc_request *request);

static inline struct grpc_request *grpc_request_of(struct inference_call *call)
{
    return (struct grpc_request *)((char *)call - offsetof(struct grpc_request, run));
}

/* "Failed to parse tensorflow.serving.PredictRequest": as gRPC has it, INTERNAL. */
struct status grpc_damaged(const char *message);

/* INVALID_ARGUMENT: the request has no model_spec. */
struct status grpc_no_model_spec(void);

#endif
