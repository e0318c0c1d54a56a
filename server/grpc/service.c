#include "server/grpc/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/container.h"
#include "rpc/message_inflate.h"
#include "server/grpc/predict_form.h"
#include "server/grpc/request.h"
#include "server/inference/explain.h"
#include "server/inference/recent_peak.h"
#include "server/inference/request_pool.h"

#define MESSAGE_MAX           1024 /* of an error's text; TensorFlow Serving cuts it here */
#define TRUNCATED             "...TRUNCATED"
#define EXPLAINED_OPS_MAX     20
#define EXPLANATION_BYTES_MAX 7000

struct grpc_service {
    struct server_context *server;
    struct predict_forms *forms;
    struct request_pool requests;
    int calls; /* begun and not answered */
    struct recent_peak calls_peak;
};

/* A call in flight. */
struct grpc_request {
    struct served_request served; /* first */
    struct grpc_service *grpc;
    struct call *call;
    struct message message;
    grpc_method *method;
    struct explain *explain; /* NULL: not requested */
};

/* A row of the table of methods. */
struct row {
    grpc_method *method;
    enum request_api api;
};

struct status grpc_parse_error(const char *message)
{
    return status_error(STATUS_INTERNAL, "Failed to parse tensorflow.serving.%s", message);
}

struct status grpc_missing_model_spec(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Missing ModelSpec");
}

/* ---- the life of a request ---- */

static struct grpc_request *request_begin(struct grpc_service *grpc, struct call *call,
                                          struct message *message, const struct row *row)
{
    struct grpc_request *request = (struct grpc_request *)request_pool_take(&grpc->requests);
    int64_t deadline_ns = call_deadline_ns(call);
    request->grpc = grpc;
    request->call = call;
    request->message = message_move(message);
    request->method = row->method;
    request->served.api = row->api;
    request->served.forms = grpc->forms;
    request->served.body = request->message.header;
    request->served.call.deadline_ns = deadline_ns == CLOCK_NEVER ? 0 : deadline_ns;
    recent_peak_see(&grpc->calls_peak, ++grpc->calls);
    served_request_begin(&request->served);
    if (row->api <= API_MULTI_INFERENCE &&
        explain_is_requested(call_metadata(call, EXPLAIN_HEADER)))
        request->explain = explain_begin(&request->served);
    return request;
}

/* The answer is written: releases its sources before it is sent. */
static void request_end(struct grpc_request *request, struct status status)
{
    served_request_end(&request->served, status);
    message_release(&request->message);
    assert(request->grpc->calls > 0);
    request->grpc->calls--;
}

static void on_sent(void *owner)
{
    request_pool_give(owner);
}

/* Adds a trailer: clients accept 8 KiB of them by default. If names are long, it lists fewer
 * ops. */
static void add_explanation(struct grpc_request *request)
{
    struct buffer text = { 0 };
    size_t ops = 2 * EXPLAINED_OPS_MAX;
    do {
        ops /= 2;
        text.size = 0;
        explain_print(request->explain, &request->served, NULL, ops, &text);
    } while (text.size > EXPLANATION_BYTES_MAX && ops > 0);
    buffer_append_char(&text, '\0');
    call_add_metadata(request->call, EXPLAIN_HEADER, text.data);
    buffer_finish(&text);
}

static void send_reply(struct grpc_request *request)
{
    struct call *call = request->call;
    if (request->explain != NULL)
        add_explanation(request);
    struct message reply = { .header = { request->served.reply.data, request->served.reply.size },
                             .release = on_sent,
                             .owner = request };
    request_end(request, status_ok());
    served_request_reset_arena(&request->served);
    call_reply(call, &reply);
}

static struct status cut(struct status status)
{
    if (strlen(status.message) <= MESSAGE_MAX)
        return status;
    return status_error(status.code, "%.*s%s", MESSAGE_MAX, status.message, TRUNCATED);
}

static void send_failure(struct grpc_request *request, struct status status)
{
    struct call *call = request->call;
    request_end(request, status); /* a text that quotes the request has been copied */
    call_fail(call, cut(status));
    request->served.reply.size = 0; /* the text of the status may be in the arena until here */
    status_ignore(served_request_settle_reply(&request->served, false));
    request_pool_give(&request->served);
}

static void finish(struct served_request *served, struct status status)
{
    struct grpc_request *request = (struct grpc_request *)served;
    if (status_is_ok(status))
        status = served_request_settle_reply(served, true);
    if (status_is_ok(status))
        send_reply(request);
    else
        send_failure(request, status);
}

static void on_cancelled(void *context, struct call *call)
{
    struct grpc_request *request = context;
    (void)call;
    inference_cancel(&request->served.call);
}

static void run_to_pool(struct inference_call *call)
{
    struct grpc_request *request = (struct grpc_request *)served_request_of(call);
    call_when_cancelled(request->call, on_cancelled, request);
}

static const struct request_kind request_kind = {
    .protocol = PROTOCOL_GRPC,
    .size = sizeof(struct grpc_request),
    .cleared_end = sizeof(struct grpc_request),
    .finish = finish,
    .to_pool = run_to_pool,
};

/* ---- the services ---- */

static struct status read_message(struct served_request *served)
{
    struct grpc_request *request = (struct grpc_request *)served;
    TRY(message_unpack(&request->message));
    served->body = request->message.header;
    return request->method(served);
}

/* Is reading the request slow? A large one is, unless only its numbers have changed, and so is a
 * configuration of a thousand models, which is not large. */
static bool takes_long(const struct grpc_request *request)
{
    return request->message.packed_max > 0 || request->served.api == API_RELOAD ||
           (request->served.body.size > INFERENCE_READ_BYTES_MAX &&
            predict_forms_find(request->served.forms, request->served.body) == NULL);
}

static void handle(struct grpc_service *grpc, struct call *call, struct message *message,
                   const struct row *row)
{
    struct grpc_request *request = request_begin(grpc, call, message, row);
    if (takes_long(request)) {
        served_request_read_in_pool(&request->served, read_message);
        return;
    }
    struct status status = row->method(&request->served);
    if (served_request_continue(&request->served, status))
        finish(&request->served, status);
}

#define PREDICTION "/tensorflow.serving.PredictionService/"
#define MODEL      "/tensorflow.serving.ModelService/"
#define INFERENCE  "/inference.GRPCInferenceService/"

/* Each method: its path, its function grpc_answer_…, and its name in metrics. */
#define METHODS(X)                                                       \
    X(PREDICTION "Predict", predict, API_PREDICT)                        \
    X(PREDICTION "Classify", classify, API_CLASSIFY)                     \
    X(PREDICTION "Regress", regress, API_REGRESS)                        \
    X(PREDICTION "MultiInference", multi_inference, API_MULTI_INFERENCE) \
    X(PREDICTION "GetModelMetadata", model_metadata, API_METADATA)       \
    X(MODEL "GetModelStatus", model_status, API_STATUS)                  \
    X(MODEL "HandleReloadConfigRequest", reload_config, API_RELOAD)      \
    X(INFERENCE "ServerLive", oip_server_live, API_HEALTH)               \
    X(INFERENCE "ServerReady", oip_server_ready, API_HEALTH)             \
    X(INFERENCE "ServerMetadata", oip_server_metadata, API_METADATA)     \
    X(INFERENCE "ModelReady", oip_model_ready, API_HEALTH)               \
    X(INFERENCE "ModelMetadata", oip_model_metadata, API_METADATA)       \
    X(INFERENCE "ModelInfer", oip_model_infer, API_INFER)                \
    X(INFERENCE "RepositoryIndex", oip_repository_index, API_STATUS)     \
    X(INFERENCE "RepositoryModelLoad", oip_repository_load, API_RELOAD)  \
    X(INFERENCE "RepositoryModelUnload", oip_repository_unload, API_RELOAD)

#define HANDLER(path, name, api)                                                      \
    static void handle_##name(void *grpc, struct call *call, struct message *message) \
    {                                                                                 \
        static const struct row row = { grpc_answer_##name, api };                    \
        handle(grpc, call, message, &row);                                            \
    }
METHODS(HANDLER)

#define METHOD(path_, name, api) { .path = path_, .handle = handle_##name, .kind = METHOD_PACKED },
static const struct method methods[] = { METHODS(METHOD) };
const struct service grpc_service_methods = { methods, COUNT(methods) };

struct grpc_service *grpc_service_create(struct server_context *server)
{
    struct grpc_service *grpc = zalloc(sizeof *grpc);
    grpc->server = server;
    grpc->forms = predict_forms_create();
    request_pool_init(&grpc->requests, server, &request_kind);
    return grpc;
}

void grpc_service_abandon(struct grpc_service *grpc)
{
    while (grpc != NULL && grpc->requests.begun != NULL)
        finish(CONTAINER_OF(grpc->requests.begun, struct served_request, link),
               status_error(STATUS_UNAVAILABLE, "the server is going down"));
}

void grpc_service_destroy(struct grpc_service *grpc)
{
    if (grpc == NULL)
        return;
    request_pool_finish(&grpc->requests);
    predict_forms_destroy(grpc->forms);
    free(grpc);
}

int grpc_service_calls(const struct grpc_service *grpc)
{
    return grpc->calls;
}

int grpc_service_recent_calls_peak(struct grpc_service *grpc)
{
    int most = grpc->calls_peak.most;
    recent_peak_decay(&grpc->calls_peak, grpc->calls);
    return most;
}
