#include "server/inference/request_pool.h"

#include <assert.h>
#include <stdlib.h>

#include "base/container.h"

/* The bytes that an idle request keeps for the next one. */
static size_t kept_bytes(const struct served_request *request)
{
    const struct request_kind *kind = request->pool->kind;
    size_t own = kind->size + request->reply.capacity + arena_held(request->arena);
    return kind->held != NULL ? own + kind->held(request) : own;
}

static struct served_request *create(struct request_pool *pool)
{
    struct served_request *request = zalloc(pool->kind->size);
    request->pool = pool;
    request->arena = arena_create(0);
    arena_charge(request->arena, pool->server->budget);
    arena_set_stop(request->arena, &request->call.cancelled);
    budget_charge(pool->server->budget, (int64_t)pool->kind->size);
    return request;
}

static void destroy(struct served_request *request)
{
    struct request_pool *pool = request->pool;
    if (pool->kind->free != NULL)
        pool->kind->free(request);
    arena_destroy(request->arena);
    buffer_finish(&request->reply);
    budget_give(pool->server->budget, request->paid + (int64_t)pool->kind->size);
    free(request);
}

static struct served_request *take_idle(struct request_pool *pool)
{
    return atomic_exchange_explicit(&pool->idle, NULL, memory_order_acquire);
}

static void put_idle(struct request_pool *pool, struct served_request *idle)
{
    atomic_store_explicit(&pool->idle, idle, memory_order_release);
}

static void destroy_all(struct served_request *idle)
{
    for (struct served_request *next; idle != NULL; idle = next) {
        next = idle->next_idle;
        destroy(idle);
    }
}

/* What is stale and not wanted elsewhere stays: it is little. */
static void give_back(struct budget_holder *holder, bool stale)
{
    if (!stale)
        destroy_all(take_idle(CONTAINER_OF(holder, struct request_pool, holder)));
}

void request_pool_init(struct request_pool *pool, struct server_context *server,
                       const struct request_kind *kind)
{
    *pool = (struct request_pool){ .server = server, .kind = kind };
    pool->holder.give_back = give_back;
    budget_hold(server->budget, &pool->holder);
}

struct served_request *request_pool_take(struct request_pool *pool)
{
    const size_t cleared = offsetof(struct served_request, server);
    struct served_request *request = take_idle(pool);
    if (request != NULL) {
        pool->idle_bytes -= kept_bytes(request);
        put_idle(pool, request->next_idle);
        memset((char *)request + cleared, 0, pool->kind->cleared_end - cleared);
    } else {
        request = create(pool);
    }
    request->server = pool->server;
    request->protocol = pool->kind->protocol;
    request->call.arena = request->arena;
    return request;
}

void request_pool_give(struct served_request *request)
{
    struct request_pool *pool = request->pool;
    assert(!list_holds(&request->link) && request->servable == NULL);
    if (request->reply.capacity > REQUEST_KEPT_BYTES_MAX)
        served_request_free_reply(request);
    request->reply.size = 0;
    served_request_reset_arena(request);
    size_t kept = kept_bytes(request);
    struct served_request *idle = take_idle(pool);
    if (idle == NULL) /* the budget may have freed them */
        pool->idle_bytes = 0;
    if (pool->idle_bytes + kept > server_keep_max(pool->server)) {
        destroy(request);
    } else {
        pool->idle_bytes += kept;
        request->next_idle = idle;
        idle = request;
    }
    put_idle(pool, idle);
}

void request_pool_finish(struct request_pool *pool)
{
    budget_forget(pool->server->budget, &pool->holder);
    destroy_all(take_idle(pool));
}
