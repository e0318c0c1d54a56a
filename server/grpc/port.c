#include "server/grpc/port.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/grpc/health.h"
#include "server/grpc/reflection.h"
#include "server/inference/auth.h"

#define DRAIN_CHECK_NS (10 * (int64_t)NS_PER_MS)
#define DRAIN_IDLE_NS  (2 * NS_PER_S) /* for clients that stay, and calls that arrive slowly */

struct grpc_port {
    struct server_context *server;
    struct grpc_service *grpc;
    struct rpc_server *rpc;
    char http1_hint[32];
    struct health *health; /* NULL: not served */
    struct reflection *reflection;

    struct loop_timer drain_timer;
    int64_t busy_at_ns; /* while draining: the time when a call was last in flight */
    void (*drained)(void *context);
    void *drained_context;
};

/* ---- channel arguments ---- */

/* In gRPC, -1 means no limit, and INT_MAX means never. */
static void set_message_max(struct rpc_server_options *options, int value)
{
    options->message_max_bytes = value < 0 ? INT_MAX : (size_t)value;
}

static void set_streams_max(struct rpc_server_options *options, int value)
{
    options->streams_max = value;
}

static void set_idle(struct rpc_server_options *options, int value)
{
    options->idle_timeout_ms = value == INT_MAX ? -1 : value;
}

static void set_keepalive(struct rpc_server_options *options, int value)
{
    options->keepalive_ms = value == INT_MAX ? -1 : value;
}

static void set_keepalive_timeout(struct rpc_server_options *options, int value)
{
    options->keepalive_timeout_ms = value;
}

static void set_age(struct rpc_server_options *options, int value)
{
    options->age_max_ms = value == INT_MAX ? 0 : value;
}

static void set_age_grace(struct rpc_server_options *options, int value)
{
    options->age_grace_ms = value == INT_MAX ? 0 : value;
}

static void set_metadata_max(struct rpc_server_options *options, int value)
{
    options->metadata_max_bytes = (size_t)value;
}

static const struct argument {
    const char *name;
    int min;
    void (*set)(struct rpc_server_options *options, int value);
} arguments[] = {
    { "grpc.max_receive_message_length", -1, set_message_max },
    { "grpc.max_concurrent_streams", 1, set_streams_max },
    { "grpc.max_connection_idle_ms", 1, set_idle },
    { "grpc.max_connection_age_ms", 1, set_age },
    { "grpc.max_connection_age_grace_ms", 1, set_age_grace },
    { "grpc.keepalive_time_ms", 1, set_keepalive },
    { "grpc.keepalive_timeout_ms", 1, set_keepalive_timeout },
    { "grpc.max_metadata_size", 1, set_metadata_max },
};

static struct status apply_argument(const char *name, const char *value,
                                    struct rpc_server_options *options)
{
    for (size_t i = 0; i < COUNT(arguments); i++) {
        char *end;
        if (strcmp(name, arguments[i].name) != 0)
            continue;
        errno = 0;
        long number = strtol(value, &end, 10);
        if (end == value || *end != '\0' || errno != 0 || number < arguments[i].min ||
            number > INT_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "--grpc_channel_arguments: %s=%s: wants a whole number from %d",
                                name, value, arguments[i].min);
        arguments[i].set(options, (int)number);
        return status_ok();
    }
    log_warning("--grpc_channel_arguments: %s is not supported and has no effect", name);
    return status_ok();
}

struct status grpc_port_read_arguments(const char *text, struct rpc_server_options *options)
{
    struct status status = status_ok();
    char *copy = xstrdup(text), *rest = copy, *argument;
    while (status_is_ok(status) && (argument = strsep(&rest, ",")) != NULL) {
        char *equals = strchr(argument, '=');
        if (*argument == '\0')
            continue;
        if (equals != NULL)
            *equals = '\0';
        status = apply_argument(argument, equals != NULL ? equals + 1 : "", options);
    }
    free(copy);
    return status;
}

/* Probes have no token. */
static struct status authorize(void *auth, const char *path, const char *authorization)
{
    static const char *const open[] = { "/grpc.health.v1.Health/",
                                        "/inference.GRPCInferenceService/ServerLive",
                                        "/inference.GRPCInferenceService/ServerReady",
                                        "/inference.GRPCInferenceService/ModelReady" };
    for (size_t i = 0; i < COUNT(open); i++)
        if (strncmp(path, open[i], strlen(open[i])) == 0)
            return status_ok();
    return auth_check(auth, authorization);
}

static void add(struct grpc_port *port, const struct service *service, void *instance)
{
    rpc_server_add(port->rpc, service, instance);
    if (service != &reflection_service)
        reflection_add(port->reflection, service);
}

/* A message that is larger than all memory for requests cannot become complete. */
static size_t message_max(const struct server_context *server, size_t argument)
{
    int64_t flag = server->body_bytes_max;
    int64_t memory = server->budget->limit_bytes - server->budget->reserve_bytes;
    size_t max = argument > 0 ? argument : flag > 0 && flag < INT_MAX ? (size_t)flag : INT_MAX;
    return memory > 0 && (uint64_t)memory < max ? (size_t)memory : max;
}

struct status grpc_port_create(struct server_context *server, struct grpc_service *grpc,
                               const struct grpc_port_options *options, struct grpc_port **out)
{
    struct rpc_server_options rpc = options->rpc;
    rpc.message_max_bytes = message_max(server, rpc.message_max_bytes);
    rpc.authorize = server->auth != NULL ? authorize : NULL;
    rpc.authorize_context = server->auth;
    rpc.budget = server->budget;
    struct grpc_port *port = zalloc(sizeof *port);
    port->server = server;
    port->grpc = grpc;
    port->reflection = reflection_create(server);
    if (server->rest_port != 0)
        snprintf(port->http1_hint, sizeof port->http1_hint, "REST is at port %d.",
                 server->rest_port);
    rpc.http1_hint = port->http1_hint;
    struct status status = rpc_server_create(server->loop, &rpc, &port->rpc);
    if (!status_is_ok(status)) {
        grpc_port_destroy(port);
        return status;
    }
    add(port, &grpc_service_methods, grpc);
    add(port, &reflection_service, port->reflection);
    if (options->health) {
        port->health = health_create(server);
        add(port, &health_service, port->health);
    }
    *out = port;
    return status_ok();
}

void grpc_port_destroy(struct grpc_port *port)
{
    if (port == NULL)
        return;
    loop_clear_timer(port->server->loop, &port->drain_timer);
    rpc_server_destroy(port->rpc);
    health_destroy(port->health);
    reflection_destroy(port->reflection);
    free(port);
}

void grpc_port_forget_rest(struct grpc_port *port)
{
    port->http1_hint[0] = '\0';
}

struct status grpc_port_listen(struct grpc_port *port, int number)
{
    char address[32];
    snprintf(address, sizeof address, "[::]:%d", number);
    struct status status = rpc_server_listen(port->rpc, address, NULL);
    if (!status_is_ok(status)) { /* IPv6 may be unavailable */
        snprintf(address, sizeof address, "0.0.0.0:%d", number);
        struct status only = rpc_server_listen(port->rpc, address, NULL);
        if (status_is_ok(only))
            return only;
    }
    return status;
}

struct status grpc_port_listen_unix(struct grpc_port *port, const char *path)
{
    struct buffer address = { 0 };
    buffer_printf(&address, "unix:%s", path);
    struct status status = rpc_server_listen(port->rpc, address.data, NULL);
    buffer_finish(&address);
    return status;
}

void grpc_port_accept(struct grpc_port *port, int fd)
{
    rpc_server_accept(port->rpc, fd, (struct bytes){ "", 0 });
}

void grpc_port_take(void *port, struct transport *transport)
{
    rpc_server_take(((struct grpc_port *)port)->rpc, transport);
}

int grpc_port_connections(const struct grpc_port *port)
{
    return rpc_server_connections(port->rpc);
}

void grpc_port_models_changed(struct grpc_port *port)
{
    if (port->health != NULL)
        health_changed(port->health);
}

/* ---- the end ---- */

/* Calls `drained` once, although both of its causes may occur. */
static void all_gone(void *context)
{
    struct grpc_port *port = context;
    void (*drained)(void *) = port->drained;
    loop_clear_timer(port->server->loop, &port->drain_timer);
    port->drained = NULL;
    if (drained != NULL)
        drained(port->drained_context);
}

/* A client may keep its connection after being told to go, so only the calls in flight count. */
static void check_drained(void *context)
{
    struct grpc_port *port = context;
    int64_t now = clock_now_ns(clock_monotonic());
    if (grpc_service_calls(port->grpc) > 0)
        port->busy_at_ns = now;
    if (now - port->busy_at_ns >= DRAIN_IDLE_NS)
        all_gone(port);
    else
        loop_set_timer(port->server->loop, &port->drain_timer, now + DRAIN_CHECK_NS);
}

void grpc_port_drain(struct grpc_port *port, void (*drained)(void *context), void *context)
{
    port->drained = drained;
    port->drained_context = context;
    port->busy_at_ns = clock_now_ns(clock_monotonic());
    port->drain_timer = (struct loop_timer){ .expired = check_drained, .context = port };
    loop_set_timer(port->server->loop, &port->drain_timer, port->busy_at_ns + DRAIN_CHECK_NS);
    if (port->health != NULL)
        health_drain(port->health);
    rpc_server_drain(port->rpc, CLOCK_NEVER, all_gone, port);
}
