#include "server/serving_loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/memory.h"
#include "base/scheduling.h"

/* A request wakes the loop at once on the processor where the pool runs. */
#define LOOP_SLICE_NS 1000000

/* ---- a loop's parts ---- */

/* A round that polls again (round.c) has not told libmicrohttpd of its new connections yet. */
static void publish_load(struct serving_loop *serving)
{
    struct serving_load *load = &serving->load;
    int open[SERVING_PROTOCOLS] = {
        [SERVING_REST] = rest_connections(serving->rest),
        [SERVING_GRPC] = serving->port != NULL ? grpc_port_connections(serving->port) : 0,
    };
    for (int i = 0; i < SERVING_PROTOCOLS; i++) {
        atomic_store_explicit(&load->open[i], open[i], memory_order_relaxed);
        atomic_store_explicit(&load->taken[i], serving->taken[i], memory_order_release);
    }
}

bool serving_loop_end_round(void *context)
{
    struct serving_loop *serving = context;
    bool again = round_run(&serving->round);
    if (serving->round.seen_waiting == 0)
        publish_load(serving);
    return again;
}

struct status serving_loop_create(const struct serving_options *options, int index,
                                  struct serving_loop **out)
{
    struct serving_loop *serving = memory_alloc_lines(sizeof *serving);
    struct server_context *context = &serving->context;
    *out = serving;
    serving->index = index;
    *context = options->context;
    TRY(loop_create(&context->loop));
    serving->cache = servable_cache_create(index + 1);
    context->inference = inference_create(options->pool, context->loop);
    TRY(rest_create(context, &serving->rest));
    serving->grpc = grpc_service_create(context);
    if (options->port != NULL)
        TRY(grpc_port_create(context, serving->grpc, options->port, &serving->port));
    if (serving->port != NULL)
        rest_set_http2(serving->rest, grpc_port_take, serving->port);
    serving->round = (struct round){
        .server = context,
        .rest = serving->rest,
        .grpc = serving->grpc,
        .port = serving->port,
    };
    loop_set_round(context->loop, serving_loop_end_round, serving);
    return status_ok();
}

/* ---- its thread ---- */

struct status serving_loop_run(struct serving_loop *serving)
{
    scheduling_ask_for_slice(LOOP_SLICE_NS);
    servable_cache_enter(serving->cache);
    struct status status = loop_run(serving->context.loop);
    servable_cache_enter(NULL);
    return status;
}

static void *run(void *context)
{
    struct serving_loop *serving = context;
    struct status status = serving_loop_run(serving);
    if (!status_is_ok(status)) {
        snprintf(serving->failure_text, sizeof serving->failure_text, "%s", status.message);
        serving->failure = (struct status){ status.code, serving->failure_text };
        loop_stop(serving->main);
    }
    return NULL;
}

struct status serving_loop_start(struct serving_loop *serving, struct loop *main)
{
    serving->main = main;
    int error = pthread_create(&serving->thread, NULL, run, serving);
    if (error != 0)
        return status_errno(error, "start the thread of a loop");
    pthread_setname_np(serving->thread, "event loop"); /* for ps and top */
    serving->has_thread = true;
    return status_ok();
}

struct status serving_loop_join(struct serving_loop *serving)
{
    if (!serving->has_thread)
        return status_ok();
    loop_stop(serving->context.loop);
    pthread_join(serving->thread, NULL);
    serving->has_thread = false;
    return serving->failure;
}

/* ---- connections ---- */

void serving_loop_take(struct serving_loop *serving, const struct serving_connection *connection)
{
    serving->taken[connection->protocol]++;
    if (connection->protocol == SERVING_GRPC)
        grpc_port_accept(serving->port, connection->fd);
    else
        rest_accept(serving->rest, connection->fd, connection->speaks,
                    (const struct sockaddr *)&connection->address, connection->address_size);
}

int serving_loop_load(const struct serving_loop *serving, enum serving_protocol protocol)
{
    const struct serving_load *load = &serving->load;
    unsigned taken = atomic_load_explicit(&load->taken[protocol], memory_order_acquire);
    int open = atomic_load_explicit(&load->open[protocol], memory_order_relaxed);
    return open + (int)(serving->dealt[protocol] - taken);
}

/* ---- notifications from other threads ---- */

static void on_changed(struct loop_task *task)
{
    struct serving_loop *serving = CONTAINER_OF(task, struct serving_loop, changed);
    atomic_store(&serving->change_posted, false);
    manager_refresh_cache(serving->context.manager);
    if (serving->port != NULL)
        grpc_port_models_changed(serving->port);
}

void serving_loop_post_changed(struct serving_loop *serving)
{
    if (atomic_exchange(&serving->change_posted, true))
        return;
    serving->changed.work = on_changed;
    loop_post(serving->context.loop, &serving->changed);
}

static void tell_drained(struct loop_task *task)
{
    struct serving_loop *serving = CONTAINER_OF(task, struct serving_loop, drained);
    serving->when_drained(serving->drained_context);
}

/* A protocol has answered its requests in flight. */
static void on_drained(void *context)
{
    struct serving_loop *serving = context;
    if (--serving->draining > 0)
        return;
    serving->drained.work = tell_drained;
    loop_post(serving->main, &serving->drained);
}

static void drain(struct loop_task *task)
{
    struct serving_loop *serving = CONTAINER_OF(task, struct serving_loop, drain);
    serving->draining = 1 + (serving->port != NULL);
    if (serving->port != NULL)
        grpc_port_drain(serving->port, on_drained, serving);
    rest_drain(serving->rest, on_drained, serving);
}

void serving_loop_post_drain(struct serving_loop *serving, struct loop *main,
                             void (*drained)(void *context), void *context)
{
    serving->main = main;
    serving->when_drained = drained;
    serving->drained_context = context;
    serving->drain.work = drain;
    loop_post(serving->context.loop, &serving->drain);
}

/* ---- the end ---- */

void serving_loop_end_calls(struct serving_loop *serving)
{
    inference_destroy(serving->context.inference);
    serving->context.inference = NULL;
}

void serving_loop_close_connections(struct serving_loop *serving)
{
    rest_destroy(serving->rest);
    grpc_service_abandon(serving->grpc);
    grpc_port_destroy(serving->port);
    servable_cache_destroy(serving->cache);
}

void serving_loop_destroy(struct serving_loop *serving)
{
    grpc_service_destroy(serving->grpc);
    loop_destroy(serving->context.loop);
    free(serving);
}
