#include "server/inference/request_pool.h"

#include <assert.h>
#include <stdlib.h>

void request_pool_init(struct request_pool *pool, struct server_context *server,
                       const struct request_kind *kind)
{
    *pool = (struct request_pool){ .server = server, .kind = kind };
}

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
    arena_set_stop(request->arena, &request->call.left);
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

struct served_request *request_pool_take(struct request_pool *pool)
{
    const size_t cleared = offsetof(struct served_request, server);
    struct served_request *request = pool->idle;
    if (request != NULL) {
        pool->idle = request->next_idle;
        pool->idle_bytes -= kept_bytes(request);
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
    if (pool->idle_bytes + kept > server_keep_max(pool->server)) {
        destroy(request);
        return;
    }
    pool->idle_bytes += kept;
    request->next_idle = pool->idle;
    pool->idle = request;
}

void request_pool_finish(struct request_pool *pool)
{
    while (pool->idle != NULL) {
        struct served_request *next = pool->idle->next_idle;
        destroy(pool->idle);
        pool->idle = next;
    }
}
