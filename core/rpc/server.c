#include "rpc/server_internal.h"

#include <assert.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/container.h"
#include "rpc/session_memory.h"

#define DRAIN_NOTICE_MS 100 /* for calls that were on their way when clients were told to go */

static int or_default(int value, int by_default)
{
    return value == 0 ? by_default : value < 0 ? 0 : value;
}

static size_t or_size(size_t value, size_t by_default)
{
    return value == 0 ? by_default : value;
}

static struct http2_limits limits_of(const struct rpc_server_options *options)
{
    struct http2_limits limits = {
        .message_max = or_size(options->message_max_bytes, (size_t)4 << 20),
        .held_max = or_size(options->held_max_bytes, (size_t)256 << 20),
        .unsent_max = or_size(options->unsent_max_bytes, (size_t)64 << 20),
        .metadata_max = or_size(options->metadata_max_bytes, (size_t)16 << 10),
        .streams_max = or_default(options->streams_max, 1000),
        .frame_max = or_default(options->frame_max_bytes, HTTP2_FRAME_MAX),
        .handshake_ms = or_default(options->handshake_timeout_ms, 20000),
        .idle_ms = or_default(options->idle_timeout_ms, 0),
        .stall_ms = or_default(options->stall_timeout_ms, 60000),
        .keepalive_ms = or_default(options->keepalive_ms, 60000),
        .keepalive_timeout_ms = or_default(options->keepalive_timeout_ms, 20000),
        .keepalive_idle = true,
        .budget = options->budget,
        .age_ms = options->age_max_ms,
        .age_grace_ms = options->age_grace_ms,
    };

    if (limits.held_max < limits.message_max)
        limits.held_max = limits.message_max;
    return limits;
}

struct status rpc_server_create(struct loop *loop, const struct rpc_server_options *options,
                                struct rpc_server **out)
{
    struct rpc_server *server = zalloc(sizeof *server);

    server->loop = loop;
    server->mailbox = mailbox_create(loop);
    server->options = *options;
    server->options.connections_max = or_default(options->connections_max, 10000);
    server->limits = limits_of(options);
    server->socket_buffers = socket_buffers_create();
    server->memory = session_memory_create();
    *out = server;
    return status_ok();
}

void rpc_server_add(struct rpc_server *server, const struct service *service, void *instance)
{
    server->last = NULL;
    for (int i = 0; i < service->methods_count; i++) {
        const struct method *method = &service->methods[i];
        struct method_entry *entry = zalloc(sizeof *entry);
        *entry = (struct method_entry){ method, instance };
        free(map_get_text(&server->methods, method->path));
        map_put_text(&server->methods, method->path, entry);
    }
}

/* ---- connections ---- */

static void check_drained(struct rpc_server *server)
{
    if (!server->draining || server->connections != NULL || server->drained == NULL)
        return;
    void (*drained)(void *) = server->drained;
    server->drained = NULL;
    loop_clear_timer(server->loop, &server->going);
    loop_clear_timer(server->loop, &server->gone);
    drained(server->drained_context);
}

static void drop_connection(struct server_connection *connection)
{
    list_remove(&connection->link);
    connection->server->connections_count--;
    assert((connection->server->connections == NULL) ==
           (connection->server->connections_count == 0));
    http2_destroy(connection->http2);
    free(connection);
}

static void drop_connections(struct rpc_server *server)
{
    while (server->connections != NULL)
        drop_connection(CONTAINER_OF(server->connections, struct server_connection, link));
}

void server_connection_lost(struct server_connection *connection)
{
    struct rpc_server *server = connection->server;

    drop_connection(connection);
    check_drained(server);
}

static struct status make_transport(struct rpc_server *server, int fd, struct transport **out)
{
    struct transport_maker *tls = server->options.tls;

    if (tls != NULL)
        return tls->make(tls, fd, NULL, out);
    *out = transport_plain(fd);
    return status_ok();
}

static void prepare_socket(int fd)
{
    int one = 1;

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails for a Unix socket */
}

/* Takes the transport. */
static void serve(struct rpc_server *server, struct transport *transport, struct bytes peeked)
{
    struct server_connection *connection = zalloc(sizeof *connection);
    struct http2_options options = {
        .side = &server_side,
        .context = connection,
        .loop = server->loop,
        .mailbox = server->mailbox,
        .limits = &server->limits,
        .socket_buffers = server->socket_buffers,
        .memory = server->memory,
    };
    connection->server = server;
    connection->parked_end = &connection->parked;
    if (!status_is_ok(http2_create(&options, transport, &connection->http2))) {
        free(connection); /* out of descriptors or memory: the peer sees a close */
        return;
    }
    list_push(&server->connections, &connection->link);
    server->connections_count++;
    http2_feed(connection->http2, peeked);
}

static bool is_full(const struct rpc_server *server)
{
    return server->draining || server->connections_count >= server->options.connections_max;
}

void rpc_server_accept(struct rpc_server *server, int fd, struct bytes peeked)
{
    struct transport *transport;

    if (is_full(server)) {
        close(fd);
        return;
    }
    prepare_socket(fd);
    if (status_is_ok(make_transport(server, fd, &transport)))
        serve(server, transport, peeked);
}

void rpc_server_take(struct rpc_server *server, struct transport *transport)
{
    if (is_full(server))
        transport->type->close(transport);
    else
        serve(server, transport, (struct bytes){ 0 });
}

int rpc_server_connections(const struct rpc_server *server)
{
    return server->connections_count;
}

/* ---- the end ---- */

static void go_away(struct rpc_server *server, bool at_once)
{
    for (struct list_link *at = server->connections; at != NULL; at = at->next)
        http2_go_away(CONTAINER_OF(at, struct server_connection, link)->http2, at_once);
}

static void refuse_new(void *context)
{
    struct rpc_server *server = context;

    go_away(server, true);
}

static void close_all(void *context)
{
    struct rpc_server *server = context;

    drop_connections(server);
    check_drained(server);
}

void rpc_server_drain(struct rpc_server *server, int64_t deadline_ns, void (*drained)(void *),
                      void *context)
{
    server_close_listeners(server);
    server->draining = true;
    server->drained = drained;
    server->drained_context = context;
    go_away(server, false);
    server->going = (struct loop_timer){ .expired = refuse_new, .context = server };
    server->gone = (struct loop_timer){ .expired = close_all, .context = server };
    int64_t notice_ns = clock_now_ns(clock_monotonic()) + (int64_t)DRAIN_NOTICE_MS * NS_PER_MS;
    loop_set_timer(server->loop, &server->going, notice_ns);
    loop_set_timer(server->loop, &server->gone, deadline_ns);
    check_drained(server);
}

void rpc_server_destroy(struct rpc_server *server)
{
    if (server == NULL)
        return;
    server->drained = NULL;
    server_close_listeners(server);
    loop_clear_timer(server->loop, &server->going);
    loop_clear_timer(server->loop, &server->gone);
    drop_connections(server);
    while (server->idle != NULL) {
        struct server_call *next = server->idle->next_idle;
        server_call_free(server->idle);
        server->idle = next;
    }
    mailbox_close(server->mailbox);
    mailbox_release(server->mailbox);
    for (size_t i = 0; i < server->methods.count; i++)
        free(server->methods.entries[i].value);
    map_finish(&server->methods);
    socket_buffers_destroy(server->socket_buffers);
    session_memory_destroy(server->memory);
    free(server);
}
