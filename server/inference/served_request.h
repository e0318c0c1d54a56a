/*
 * served_request: the life of a request that a server answers, in every protocol. A protocol embeds
 * it as the first member of its own struct, and converts bytes to tensors and outputs to bytes.
 *
 *     request_pool_take        memory for a request, new or reused
 *       |
 *     served_request_begin     it has arrived completely, or was refused: observers see its begin
 *       |
 *     a handler                finds the servable; writes the answer, or requests a run
 *       |                      (served_request_run), or answers later (served_request_wait)
 *       |
 *     served_request_end       once, in all cases: the answer is written, or nobody needs it;
 *       |                      observers see its end; the servable is released
 *       |
 *     request_pool_give        the answer is sent: its memory is reused for the next request
 *
 * A request that never arrives completely neither begins nor ends. Metrics, the request log and
 * tracing are observers, and are independent of protocols.
 *
 * Threads: a request belongs to one loop. A handler may run in the pool (`in_pool`); a run's answer
 * is written in the thread that ran it. Begin, end, `next` and `finish` are the loop's.
 */
#ifndef SERVER_INFERENCE_SERVED_REQUEST_H
#define SERVER_INFERENCE_SERVED_REQUEST_H

#include "base/container.h"
#include "base/list.h"
#include "server/inference/server_context.h"
#include "server/models/manager.h"

/* The model, version and signature of a request. The texts live as long as the request. */
struct model_spec {
    struct bytes name, signature_name;
    struct version_choice version;
};

enum request_protocol { PROTOCOL_REST, PROTOCOL_GRPC, PROTOCOL_WARMUP };

struct predict_forms;
struct request_pool;

/* The requested API, and its name in metrics and logs. */
#define REQUEST_APIS(X)                        \
    X(API_OTHER, "")                           \
    X(API_MALFORMED, "")                       \
    X(API_PREDICT, "Predict")                  \
    X(API_CLASSIFY, "Classify")                \
    X(API_REGRESS, "Regress")                  \
    X(API_MULTI_INFERENCE, "MultiInference")   \
    X(API_METADATA, "GetModelMetadata")        \
    X(API_STATUS, "GetModelStatus")            \
    X(API_RELOAD, "HandleReloadConfigRequest") \
    X(API_INFER, "ModelInfer")                 \
    X(API_HEALTH, "Health")
#define REQUEST_API_ENUM(api, name) api,
enum request_api { REQUEST_APIS(REQUEST_API_ENUM) APIS_COUNT };
#undef REQUEST_API_ENUM

const char *request_api_name(enum request_api api);
const char *request_protocol_name(enum request_protocol protocol); /* "REST", "GRPC" */

/* CLOCK_MONOTONIC, of the last run if there were several. 0: this stage was not reached, or no
 * observer needs times. From begun to parsing, and from parsed to call.run_began_ns, the request
 * waits for a thread. */
struct request_times {
    int64_t begun_ns, parsing_ns, parsed_ns; /* then call.run_began_ns, call.run_ended_ns */
    int64_t printed_ns, ended_ns;
};

#define REQUEST_OBSERVERS_MAX 8

struct served_request {
    /* Kept while the memory serves one request after another. Everything from `server` on is
     * zeroed. */
    struct arena *arena;
    struct buffer reply;
    int64_t paid;              /* for `reply` */
    struct request_pool *pool; /* NULL: not from a pool, as in warm-up */
    struct served_request *next_idle;
    struct list_link link; /* in the pool's `begun`, between begin and end */

    struct server_context *server;
    enum request_protocol protocol;
    enum request_api api;
    struct bytes body;          /* the message, valid until the end */
    struct model_spec spec;     /* set while the message is parsed */
    struct servable *servable;  /* NULL: not found yet; held until the end */
    struct model_gate *gate;    /* the gate that counts it, if its model has limits */
    bool gate_limits_time;      /* the deadline is the gate's rather than the client's */
    struct inference_call call; /* call.callable: the signature; NULL: nothing was run */
    struct request_times times;
    struct status status;               /* its outcome; the text lives until the observers return */
    void *notes[REQUEST_OBSERVERS_MAX]; /* one per observer, by its index */

    /* For handlers: */
    struct status (*read)(struct served_request *request); /* set if it is parsed in the pool */
    bool in_pool; /* it is being parsed in the pool: do not touch what belongs to the loop */
    bool runs;    /* a run was requested, and is not submitted yet */
    bool waits;   /* it is answered later, by served_request_finish */
    struct predict_forms *forms; /* grpc/predict_form.h; NULL: none */
    struct status (*answer)(struct served_request *request, const struct tensor *outputs);
    /* Called in the loop's thread after a run, or after the request was parsed in the pool. It
     * may request another run, or wait. NULL: the answer is complete. */
    struct status (*next)(struct served_request *request);
    void *method; /* data of the handler */
    /* Frees `method` at the end; NULL: it is in the arena, or has another owner. */
    void (*free_method)(void *method);
};

/* ---- observers ---- */

struct request_observer {
    /* Each may be NULL. `end` sees the whole request: status, servable, callable, body, reply,
     * times. In the loop's thread. */
    void (*begin)(struct request_observer *observer, struct served_request *request);
    void (*end)(struct request_observer *observer, struct served_request *request);
    /* Sees call.inputs and the outputs of a run before they are written; in the thread that ran
     * it. */
    void (*outputs)(struct request_observer *observer, struct served_request *request,
                    const struct tensor *outputs);
    bool wants_times;
    int index; /* set by request_observe: its index in `notes` */
    struct request_observer *next;
};

/* Adds an observer, which must live as long as the server. Call it before the ports open. */
void request_observe(struct server_context *server, struct request_observer *observer);

/* ---- the life of a request ---- */

/* Call it when the protocol has set `body` and, if the path determines it, `api`. */
void served_request_begin(struct served_request *request);

/* Every request that has begun passes here once, before its answer is sent and its body is
 * freed. Releases the servable and the handler's memory. Accepts a request that has not begun,
 * which observers do not see. */
void served_request_end(struct served_request *request, struct status status);

/* Finds the servable of request->spec, unless it is set already, and enters its model's gate.
 * NOT_FOUND; RESOURCE_EXHAUSTED: the model has too many requests (model_limits.h). */
struct status served_request_find_servable(struct served_request *request);
void served_request_drop_servable(struct served_request *request); /* undoes that */

/* Requests a run of `callable` on `inputs`. `answer` writes the reply from the outputs.
 * UNAVAILABLE: too many requests of the model are waiting. */
struct status served_request_run(struct served_request *request, struct callable *callable,
                                 const struct tensor *inputs,
                                 struct status (*answer)(struct served_request *request,
                                                         const struct tensor *outputs));

/* For a handler or a `next` in the loop's thread: the answer comes later. served_request_finish
 * must be called once, in the loop's thread, after the handler has returned. */
void served_request_wait(struct served_request *request);
void served_request_finish(struct served_request *request, struct status status);

/* For a protocol, after a handler in the loop's thread has returned `status`: submits the run
 * that it requested. Returns true if the answer is complete, or has failed; false if
 * kind->finish follows. */
bool served_request_continue(struct served_request *request, struct status status);
/* For a protocol: calls `read` in the pool, then continues as after a handler. */
void served_request_read_in_pool(struct served_request *request,
                                 struct status (*read)(struct served_request *request));

/* Reserves `size_max` more bytes of reply, charged to the server's budget, before they are
 * written. RESOURCE_EXHAUSTED. */
struct status served_request_reserve_reply(struct served_request *request, size_t size_max);
/* Charges bytes that were written without a reservation. `may_fail`: RESOURCE_EXHAUSTED if the
 * budget does not allow that. */
struct status served_request_settle_reply(struct served_request *request, bool may_fail);
void served_request_free_reply(struct served_request *request);
/* Resets the arena, and frees its memory if it is large. */
void served_request_reset_arena(struct served_request *request);

static inline struct served_request *served_request_of(struct inference_call *call)
{
    return CONTAINER_OF(call, struct served_request, call);
}

#endif
