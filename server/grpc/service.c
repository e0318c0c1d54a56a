#include "server/grpc/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/container.h"
#include "rpc/message_inflate.h"
#include "server/grpc/request.h"
#include "server/inference/reply.h"
#include "server/models/manager.h"
#include "server/grpc/predict_form.h"

#define KEPT_BYTES_MAX ((size_t)256 * 1024) /* larger buffers are not kept for the next request */
#define MESSAGE_MAX    1024 /* of an error's text; TensorFlow Serving cuts it here */
#define TRUNCATED      "...TRUNCATED"
#define EXPECTED_DECAY 16

struct grpc_service {
    struct server_context *server;
    struct grpc_service_options options;
    struct predict_forms *forms;
    struct grpc_request *idle;
    struct list_link *in_flight; /* of struct grpc_request */
    size_t idle_bytes;           /* memory that the idle requests keep */
    int calls;                   /* begun and not answered */
    int expected;                /* the recent peak of concurrent calls */
};

struct status grpc_parse_error(const char *message)
{
    return status_error(STATUS_INTERNAL, "Failed to parse tensorflow.serving.%s", message);
}

struct status grpc_missing_model_spec(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Missing ModelSpec");
}

struct status grpc_request_find_servable(struct grpc_request *request)
{
    if (request->servable != NULL) /* warm-up, of a version that does not serve yet */
        return status_ok();
    return manager_find(request->server->manager, request->spec.name, &request->spec.version,
                        &request->servable);
}

struct status grpc_request_reserve_reply(struct grpc_request *request, size_t size_max)
{
    if (__builtin_add_overflow(size_max, request->reply.size, &size_max))
        size_max = SIZE_MAX;
    return reply_reserve(request->server, &request->reply, &request->paid, size_max);
}

bool grpc_request_wants_content(const struct grpc_request *request)
{
    return request->grpc->options.tensor_content;
}

/* ---- The life of a request. ---- */

static void run_done(struct inference_call *call, struct status status);
static void run_to_pool(struct inference_call *call);

static struct arena *make_arena(struct grpc_service *grpc)
{
    struct arena *arena = arena_create(0);
    arena_charge(arena, grpc->server->budget);
    return arena;
}

/* The bytes that an idle request keeps for the next call. */
static size_t kept_bytes(const struct grpc_request *request)
{
    return sizeof *request + request->reply.capacity + arena_held(request->arena);
}

static struct grpc_request *request_begin(struct grpc_service *grpc, struct call *call,
                                          struct message *message)
{
    struct grpc_request *request = grpc->idle;
    if (request != NULL) {
        grpc->idle = request->next_free;
        grpc->idle_bytes -= kept_bytes(request);
    } else {
        request = zalloc(sizeof *request);
        request->arena = make_arena(grpc);
        budget_charge(grpc->server->budget, sizeof *request);
    }
    struct arena *arena = request->arena;
    struct buffer reply = request->reply;
    int64_t paid = request->paid;
    *request = (struct grpc_request){
        .grpc = grpc,
        .server = grpc->server,
        .arena = arena,
        .reply = reply,
        .paid = paid,
        .forms = grpc->forms,
        .call = call,
        .message = message_move(message),
        .run = { .done = run_done, .to_pool = run_to_pool },
    };
    int64_t deadline_ns = call_deadline_ns(call);
    request->run.arena = request->arena;
    request->run.deadline_ns = deadline_ns == CLOCK_NEVER ? 0 : deadline_ns;
    request->body = request->message.header;
    list_push(&grpc->in_flight, &request->link);
    if (++grpc->calls > grpc->expected)
        grpc->expected = grpc->calls;
    return request;
}

static void request_free(struct grpc_service *grpc, struct grpc_request *request)
{
    budget_give(grpc->server->budget, request->paid + (int64_t)sizeof *request);
    arena_destroy(request->arena);
    buffer_finish(&request->reply);
    free(request);
}

static void free_reply(struct grpc_request *request)
{
    buffer_finish(&request->reply);
    budget_give(request->server->budget, request->paid);
    request->paid = 0;
}

/* The answer is sent. Its memory is kept for the next one, unless it is large. */
static void request_keep(struct grpc_request *request)
{
    struct grpc_service *grpc = request->grpc;
    if (request->reply.capacity > KEPT_BYTES_MAX)
        free_reply(request);
    request->reply.size = 0;
    size_t kept = kept_bytes(request);
    if (grpc->idle_bytes + kept > server_keep_max(grpc->server)) {
        request_free(grpc, request);
        return;
    }
    grpc->idle_bytes += kept;
    request->next_free = grpc->idle;
    grpc->idle = request;
}

/* The answer is written: releases what it was made from, before it is sent. */
static void request_end(struct grpc_request *request)
{
    struct grpc_service *grpc = request->grpc;
    servable_release(request->servable);
    request->servable = NULL;
    if (request->free_method != NULL)
        request->free_method(request->method);
    message_release(&request->message);
    list_remove(&request->link);
    assert(grpc->calls > 0);
    grpc->calls--;
}

static void reset_arena(struct grpc_request *request)
{
    if (arena_held(request->arena) > KEPT_BYTES_MAX)
        arena_trim(request->arena);
    else
        arena_reset(request->arena);
}

static void on_sent(void *owner)
{
    request_keep(owner);
}

static void send_reply(struct grpc_request *request)
{
    struct call *call = request->call;
    struct message reply = { .header = { request->reply.data, request->reply.size },
                             .release = on_sent,
                             .owner = request };
    request_end(request);
    reset_arena(request);
    call_reply(call, &reply);
}

static struct status cut(struct status status)
{
    if (strlen(status.message) <= MESSAGE_MAX)
        return status;
    return status_error(status.code, "%.*s%s", MESSAGE_MAX, status.message, TRUNCATED);
}

static struct status settle_reply(struct grpc_request *request, bool may_fail)
{
    return reply_settle(request->server, &request->reply, &request->paid, may_fail);
}

static void send_failure(struct grpc_request *request, struct status status)
{
    struct call *call = request->call;
    request_end(request); /* a text that quotes the request has been copied */
    call_fail(call, cut(status));
    reset_arena(request); /* the text may lie in it */
    request->reply.size = 0;
    status_ignore(settle_reply(request, false));
    request_keep(request);
}

static void finish(struct grpc_request *request, struct status status)
{
    if (status_is_ok(status) && !request->running)
        status = settle_reply(request, true);
    if (!status_is_ok(status))
        send_failure(request, status);
    else if (!request->running)
        send_reply(request);
}

/* ---- Runs. ---- */

static void run_done(struct inference_call *call, struct status status)
{
    struct grpc_request *request = grpc_request_of(call);
    request->running = false;
    if (status_is_ok(status) && request->next != NULL)
        status = request->next(request);
    finish(request, status);
}

void grpc_request_finish(struct grpc_request *request, struct status status)
{
    request->running = false;
    finish(request, status);
}

static void on_left(void *context, struct call *call)
{
    struct grpc_request *request = context;
    (void)call;
    inference_leave(&request->run);
}

static void run_to_pool(struct inference_call *call)
{
    struct grpc_request *request = grpc_request_of(call);
    call_when_left(request->call, on_left, request);
}

struct status grpc_request_run(struct grpc_request *request, struct callable *callable,
                               const struct tensor *inputs,
                               struct status (*answer)(struct inference_call *,
                                                       const struct tensor *outputs))
{
    TRY(callable->status);
    request->run.callable = callable;
    request->run.inputs = inputs;
    request->run.answer = answer;
    request->running = true;
    if (!request->in_pool) /* otherwise it is submitted when it has left the pool */
        inference_submit(request->server->inference, &request->run);
    return status_ok();
}

/* ---- The services. ---- */

static struct status read_in_pool(struct inference_call *call)
{
    struct grpc_request *request = grpc_request_of(call);
    TRY(message_unpack(&request->message));
    request->body = request->message.header;
    TRY(request->read(request));
    request->in_pool = false;
    return status_ok();
}

/* Reading a large request takes long, unless only its numbers have changed. */
static bool is_large(const struct grpc_request *request)
{
    return request->message.packed_max > 0 ||
           (request->body.size > INFERENCE_READ_BYTES_MAX &&
            predict_forms_find(request->forms, request->body) == NULL);
}

static void handle(struct grpc_service *grpc, struct call *call, struct message *message,
                   grpc_method *method)
{
    struct grpc_request *request = request_begin(grpc, call, message);
    if (!is_large(request)) {
        finish(request, method(request));
        return;
    }
    request->read = method;
    request->in_pool = request->running = true;
    request->run.prepare = read_in_pool;
    inference_submit(grpc->server->inference, &request->run);
}

#define HANDLER(name)                                                                 \
    static void handle_##name(void *grpc, struct call *call, struct message *message) \
    {                                                                                 \
        handle(grpc, call, message, grpc_answer_##name);                              \
    }
HANDLER(predict)
HANDLER(classify)
HANDLER(regress)
HANDLER(multi_inference)
HANDLER(model_metadata)
HANDLER(model_status)
HANDLER(reload_config)

#define PREDICTION "/tensorflow.serving.PredictionService/"
#define MODEL      "/tensorflow.serving.ModelService/"

static const struct method methods[] = {
    { .path = PREDICTION "Predict", .handle = handle_predict, .kind = METHOD_PACKED },
    { .path = PREDICTION "Classify", .handle = handle_classify, .kind = METHOD_PACKED },
    { .path = PREDICTION "Regress", .handle = handle_regress, .kind = METHOD_PACKED },
    { .path = PREDICTION "MultiInference",
      .handle = handle_multi_inference,
      .kind = METHOD_PACKED },
    { .path = PREDICTION "GetModelMetadata",
      .handle = handle_model_metadata,
      .kind = METHOD_PACKED },
    { .path = MODEL "GetModelStatus", .handle = handle_model_status, .kind = METHOD_PACKED },
    { .path = MODEL "HandleReloadConfigRequest",
      .handle = handle_reload_config,
      .kind = METHOD_PACKED },
};
const struct service grpc_service_methods = { methods, COUNT(methods) };

struct grpc_service *grpc_service_create(struct server_context *server,
                                         const struct grpc_service_options *options)
{
    struct grpc_service *grpc = zalloc(sizeof *grpc);
    grpc->server = server;
    grpc->options = *options;
    grpc->forms = predict_forms_create();
    return grpc;
}

void grpc_service_abandon(struct grpc_service *grpc)
{
    while (grpc != NULL && grpc->in_flight != NULL)
        send_failure(CONTAINER_OF(grpc->in_flight, struct grpc_request, link),
                     status_error(STATUS_UNAVAILABLE, "the server is going down"));
}

void grpc_service_destroy(struct grpc_service *grpc)
{
    if (grpc == NULL)
        return;
    while (grpc->idle != NULL) {
        struct grpc_request *next = grpc->idle->next_free;
        request_free(grpc, grpc->idle);
        grpc->idle = next;
    }
    predict_forms_destroy(grpc->forms);
    free(grpc);
}

int grpc_service_calls(const struct grpc_service *grpc)
{
    return grpc->calls;
}

/* Called once a round. Each call lets the recorded peak decay towards the current number of
 * calls. */
int grpc_service_recent_calls_peak(struct grpc_service *grpc)
{
    int most = grpc->expected;
    grpc->expected -= (grpc->expected - grpc->calls) / EXPECTED_DECAY;
    return most;
}
