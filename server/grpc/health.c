#include "server/grpc/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/list.h"
#include "base/text_print.h"
#include "proto/wire.h"
#include "server/models/manager.h"

/* HealthCheckRequest, HealthCheckResponse. */
enum { REQUEST_SERVICE = 1, RESPONSE_STATUS = 1 };

enum serving_status { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

/* A Watch call. It gets the status at once, and whenever the status changes. */
struct watcher {
    struct health *health;
    struct call *call;
    struct bytes name; /* stored after the struct */
    enum serving_status told;
    struct list_link link;
};

struct health {
    struct server_context *server;
    bool draining;
    struct list_link *watchers;
};

static bool is_ours(struct bytes name)
{
    static const char *const names[] = { "", "ModelService", "PredictionService",
                                         "tensorflow.serving.ModelService",
                                         "tensorflow.serving.PredictionService" };
    return BYTES_FIND(name, names) >= 0;
}

static bool is_going_down(const struct health *health)
{
    return health->draining || server_is_going_down(health->server);
}

static enum serving_status status_of(const struct health *health, struct bytes name)
{
    struct version_choice latest = { .kind = VERSION_LATEST };
    struct version_status *versions;
    size_t count;
    if (is_ours(name))
        return is_going_down(health) ? NOT_SERVING : SERVING;
    struct arena *arena = arena_create(0);
    enum serving_status serving = SERVICE_UNKNOWN;
    if (status_is_ok(
            manager_status(health->server->manager, name, &latest, arena, &versions, &count)))
        serving = NOT_SERVING;
    for (size_t i = 0; serving == NOT_SERVING && !is_going_down(health) && i < count; i++)
        if (strcmp(versions[i].state, "AVAILABLE") == 0)
            serving = SERVING;
    arena_destroy(arena);
    return serving;
}

static struct status read_name(const struct message *message, struct bytes *name)
{
    struct wire wire = wire_of(message->header);
    struct wire_field field;
    *name = (struct bytes){ "", 0 };
    while (wire_next(&wire, &field))
        if (wire_is(&field, REQUEST_SERVICE, WIRE_BYTES))
            *name = field.bytes;
    if (wire.damaged)
        return status_error(STATUS_INTERNAL, "Failed to parse grpc.health.v1.HealthCheckRequest");
    return status_ok();
}

/* A prepared HealthCheckResponse for each status, so that nothing is allocated. */
static struct message response(enum serving_status serving)
{
    static const char bytes[][2] = { { RESPONSE_STATUS << 3, 0 },
                                     { RESPONSE_STATUS << 3, SERVING },
                                     { RESPONSE_STATUS << 3, NOT_SERVING },
                                     { RESPONSE_STATUS << 3, SERVICE_UNKNOWN } };
    return (struct message){ .header = { bytes[serving], sizeof bytes[serving] } };
}

static void check(void *instance, struct call *call, struct message *message)
{
    struct bytes name;
    struct status status = read_name(message, &name);
    enum serving_status serving =
        status_is_ok(status) ? status_of(instance, name) : SERVICE_UNKNOWN;
    if (status_is_ok(status) && serving == SERVICE_UNKNOWN)
        status = status_error(STATUS_NOT_FOUND, "unknown service '%s'",
                              text_print_name(bytes_first(name, 256)));
    struct message reply = response(serving);
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
    message_release(message);
}

static int64_t watcher_bytes(struct bytes name)
{
    return (int64_t)(sizeof(struct watcher) + name.size);
}

/* Clients may watch names of any size and in any number, so the memory is charged. */
static struct status make_watcher(struct health *health, struct call *call, struct bytes name,
                                  struct watcher **out)
{
    TRY(status_in(budget_take(health->server->budget, watcher_bytes(name)), "health: watch"));
    struct watcher *watcher = zalloc(sizeof *watcher + name.size);
    memcpy(watcher + 1, name.data, name.size);
    *watcher = (struct watcher){ .health = health,
                                 .call = call,
                                 .name = { (char *)(watcher + 1), name.size } };
    list_push(&health->watchers, &watcher->link);
    *out = watcher;
    return status_ok();
}

static void forget(struct watcher *watcher)
{
    list_remove(&watcher->link);
    budget_give(watcher->health->server->budget, watcher_bytes(watcher->name));
    free(watcher);
}

/* Runs in the loop's thread, which notices disconnects. */
static void on_cancelled(void *context, struct call *call)
{
    forget(context);
    call_fail(call,
              status_error(STATUS_CANCELLED, "the client cancelled the call or disconnected"));
}

static void tell(struct watcher *watcher)
{
    enum serving_status serving = status_of(watcher->health, watcher->name);
    if (serving == watcher->told)
        return;
    watcher->told = serving;
    struct message reply = response(serving);
    call_send(watcher->call, &reply); /* a slow reader costs two bytes */
}

static void watch(void *instance, struct call *call, struct message *message)
{
    struct health *health = instance;
    struct watcher *watcher;
    struct bytes name;
    struct status status = read_name(message, &name);
    if (status_is_ok(status))
        status = make_watcher(health, call, name, &watcher);
    message_release(message);
    if (!status_is_ok(status)) {
        call_fail(call, status);
        return;
    }
    tell(watcher);
    call_when_cancelled(call, on_cancelled, watcher);
    if (health->draining)
        health_drain(health);
}

static const struct method methods[] = {
    { .path = "/grpc.health.v1.Health/Check", .handle = check },
    { .path = "/grpc.health.v1.Health/Watch", .handle = watch, .kind = METHOD_REPLIES },
};
const struct service health_service = { methods, COUNT(methods) };

struct health *health_create(struct server_context *server)
{
    struct health *health = zalloc(sizeof *health);
    health->server = server;
    return health;
}

void health_changed(struct health *health)
{
    for (struct list_link *at = health->watchers; at != NULL; at = at->next)
        tell(CONTAINER_OF(at, struct watcher, link));
}

void health_drain(struct health *health)
{
    health->draining = true;
    health_changed(health);
    while (health->watchers != NULL) {
        struct watcher *watcher = CONTAINER_OF(health->watchers, struct watcher, link);
        struct call *call = watcher->call;
        forget(watcher);
        call_fail(call, status_error(STATUS_UNAVAILABLE, "the server is going down"));
    }
}

void health_destroy(struct health *health)
{
    if (health == NULL)
        return;
    health_drain(health);
    free(health);
}
