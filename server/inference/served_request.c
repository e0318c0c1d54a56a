#include "server/inference/served_request.h"

#include <assert.h>

#include "base/clock.h"
#include "server/inference/reply.h"
#include "server/inference/request_pool.h"
#include "server/models/model_limits.h"

const char *request_api_name(enum request_api api)
{
#define API_NAME(api, name) [api] = name,
    static const char *const names[] = { REQUEST_APIS(API_NAME) };
#undef API_NAME
    return names[api];
}

const char *request_protocol_name(enum request_protocol protocol)
{
    static const char *const names[] = {
        [PROTOCOL_REST] = "REST", [PROTOCOL_GRPC] = "GRPC", [PROTOCOL_WARMUP] = "WARMUP"
    };
    return names[protocol];
}

/* ---- observers ---- */

void request_observe(struct server_context *server, struct request_observer *observer)
{
    struct request_observer **end = &server->observers;
    int count = 0;
    for (; *end != NULL; end = &(*end)->next)
        count++;
    assert(count < REQUEST_OBSERVERS_MAX);
    observer->index = count;
    observer->next = NULL;
    *end = observer;
    server->times_wanted = server->times_wanted || observer->wants_times;
}

/* Reads the clock only if an observer needs times. */
static int64_t stamp(const struct served_request *request)
{
    return request->server->times_wanted ? clock_now_ns(clock_monotonic()) : 0;
}

/* ---- runs, and answers that come later ---- */

static struct status answer(struct inference_call *call, const struct tensor *outputs)
{
    struct served_request *request = served_request_of(call);
    bool observed = request->pool != NULL; /* not in warm-up */
    struct request_observer *first = observed ? request->server->observers : NULL;
    for (struct request_observer *at = first; at != NULL; at = at->next)
        if (at->outputs != NULL)
            at->outputs(at, request, outputs);
    struct status status = request->answer(request, outputs);
    request->times.printed_ns = stamp(request);
    return status;
}

/* Counts it among the model's waiting requests, until its run begins. If a handler requests
 * another run instead of one that has not begun, the request is counted already. */
static struct status begin_to_wait(struct served_request *request)
{
    struct model_gate *gate = request->gate;
    if (gate == NULL || request->call.waiting != NULL)
        return status_ok();
    TRY(model_gate_wait(gate));
    request->call.waiting = &gate->waiting;
    return status_ok();
}

struct status served_request_run(struct served_request *request, struct callable *callable,
                                 const struct tensor *inputs,
                                 struct status (*write)(struct served_request *request,
                                                        const struct tensor *outputs))
{
    TRY(callable->status);
    TRY(begin_to_wait(request));
    request->call.callable = callable;
    request->call.inputs = inputs;
    request->call.answer = answer;
    request->answer = write;
    request->runs = true;
    request->times.parsed_ns = stamp(request);
    return status_ok();
}

void served_request_wait(struct served_request *request)
{
    assert(!request->in_pool);
    request->waits = true;
}

void served_request_finish(struct served_request *request, struct status status)
{
    assert(request->waits);
    request->waits = false;
    request->pool->kind->finish(request, status);
}

bool served_request_continue(struct served_request *request, struct status status)
{
    if (!status_is_ok(status) || (!request->runs && !request->waits))
        return true;
    if (request->runs) {
        request->runs = false;
        inference_submit(request->server->inference, &request->call);
    }
    return false;
}

/* A run has ended, or a request was parsed in the pool and needs none. */
static void run_done(struct inference_call *call, struct status status)
{
    struct served_request *request = served_request_of(call);
    if (request->gate != NULL && request->gate_limits_time)
        status = model_gate_name_deadline(request->gate, status);
    if (status_is_ok(status) && request->next != NULL)
        status = request->next(request);
    if (served_request_continue(request, status))
        request->pool->kind->finish(request, status);
}

static struct status read_in_pool(struct inference_call *call)
{
    struct served_request *request = served_request_of(call);
    request->times.parsing_ns = stamp(request);
    struct status status = request->read(request);
    request->in_pool = false;
    request->runs = false; /* inference submits it again by itself */
    return status;
}

void served_request_read_in_pool(struct served_request *request,
                                 struct status (*read)(struct served_request *request))
{
    request->in_pool = true;
    request->read = read;
    request->call.prepare = read_in_pool;
    inference_submit(request->server->inference, &request->call);
}

/* ---- begin and end ---- */

void served_request_begin(struct served_request *request)
{
    struct server_context *server = request->server;
    list_push(&request->pool->begun, &request->link);
    request->call.done = run_done;
    request->call.to_pool = request->pool->kind->to_pool;
    request->times.begun_ns = request->times.parsing_ns = stamp(request);
    for (struct request_observer *at = server->observers; at != NULL; at = at->next)
        if (at->begin != NULL)
            at->begin(at, request);
}

static void tell_end(struct served_request *request, struct status status)
{
    request->status = status;
    request->times.ended_ns = stamp(request);
    for (struct request_observer *at = request->server->observers; at != NULL; at = at->next)
        if (at->end != NULL)
            at->end(at, request);
    request->status = status_ok();
}

void served_request_end(struct served_request *request, struct status status)
{
    if (list_holds(&request->link)) {
        list_remove(&request->link);
        tell_end(request, status);
    }
    served_request_drop_servable(request);
    if (request->free_method != NULL)
        request->free_method(request->method);
    request->free_method = NULL;
}

/* ---- the servable ---- */

/* Applies the earlier of two deadlines. */
static void limit_time(struct served_request *request, int64_t limit_ns)
{
    int64_t *deadline_ns = &request->call.deadline_ns;
    int64_t own_ns = clock_now_ns(clock_monotonic()) + limit_ns;
    request->gate_limits_time = *deadline_ns == 0 || own_ns < *deadline_ns;
    if (request->gate_limits_time)
        *deadline_ns = own_ns;
}

/* Warm-up enters no gate: its servable is set from the start. */
static struct status enter_gate(struct served_request *request, struct model_gate *gate)
{
    TRY(model_gate_enter(gate));
    request->gate = gate;
    request->gate_limits_time = false;
    if (gate->limits.deadline_ns > 0)
        limit_time(request, gate->limits.deadline_ns);
    return status_ok();
}

static void leave_gate(struct served_request *request)
{
    if (request->call.waiting != NULL) /* it has never run */
        model_gate_stop_waiting(request->call.waiting);
    request->call.waiting = NULL;
    model_gate_leave(request->gate);
    request->gate = NULL;
}

struct status served_request_find_servable(struct served_request *request)
{
    if (request->servable != NULL) /* in warm-up, it does not serve yet */
        return status_ok();
    TRY(manager_find(request->server->manager, request->spec.name, &request->spec.version,
                     &request->servable));
    if (request->servable->gate == NULL)
        return status_ok();
    struct status status = enter_gate(request, request->servable->gate);
    if (!status_is_ok(status))
        served_request_drop_servable(request);
    return status;
}

void served_request_drop_servable(struct served_request *request)
{
    if (request->gate != NULL)
        leave_gate(request);
    servable_release(request->servable);
    request->servable = NULL;
}

/* ---- the reply ---- */

struct status served_request_reserve_reply(struct served_request *request, size_t size_max)
{
    if (__builtin_add_overflow(size_max, request->reply.size, &size_max))
        size_max = SIZE_MAX;
    return reply_reserve(request->server, &request->reply, &request->paid, size_max);
}

struct status served_request_settle_reply(struct served_request *request, bool may_fail)
{
    return reply_settle(request->server, &request->reply, &request->paid, may_fail);
}

void served_request_free_reply(struct served_request *request)
{
    buffer_finish(&request->reply);
    budget_give(request->server->budget, request->paid);
    request->paid = 0;
}

void served_request_reset_arena(struct served_request *request)
{
    if (arena_held(request->arena) > REQUEST_KEPT_BYTES_MAX)
        arena_trim(request->arena);
    else
        arena_reset(request->arena);
}
