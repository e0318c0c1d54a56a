/*
 * Connects a channel. The life of the connection:
 *
 *     IDLE             nothing wants a connection, <-------+
 *      |               or the last one has closed          |
 *      v                                                   |
 *     RESOLVING        the host's addresses                |
 *      |        \                                          |
 *      v         \                                         |
 *     CONNECTING -+--> PAUSING, before the next attempt ---+
 *      |         /                                         |
 *      v        /                                          |
 *     GREETING         TLS and the first SETTINGS ---------+
 *      |                                                   |
 *      v                                                   |
 *     READY            calls are sent, until it closes ----+
 */
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/states.h"
#include "rpc/remote_internal.h"

static const unsigned allowed[] = {
    [REMOTE_IDLE] = STATE(REMOTE_RESOLVING),
    [REMOTE_RESOLVING] = STATE(REMOTE_CONNECTING) | STATE(REMOTE_PAUSING),
    [REMOTE_CONNECTING] = STATE(REMOTE_CONNECTING) | /* the host's next address */
                          STATE(REMOTE_GREETING) | STATE(REMOTE_PAUSING),
    [REMOTE_GREETING] = STATE(REMOTE_READY) | STATE(REMOTE_PAUSING) | STATE(REMOTE_IDLE),
    [REMOTE_READY] = STATE(REMOTE_IDLE),
    [REMOTE_PAUSING] = STATE(REMOTE_IDLE),
};

static void enter(struct remote *remote, enum remote_phase phase)
{
    remote->phase = state_next(allowed, remote->phase, phase);
}

static void set_trouble(struct remote *remote, enum remote_trouble trouble, const char *text)
{
    pthread_mutex_lock(&remote->lock);
    remote->state.connected = false;
    remote->state.trouble = trouble;
    snprintf(remote->state.text, sizeof remote->state.text, "%s", text);
    pthread_mutex_unlock(&remote->lock);
}

struct status remote_unavailable(struct remote *remote, enum status_code code, const char *doing)
{
    const struct remote_state *state = &remote->state; /* only this thread writes it */
    bool named = *state->address != 0 && strcmp(state->address, remote->text) != 0;

    return status_error(code, "%s%s%s%s%s: %s", doing, remote->text, named ? " (" : "",
                        named ? state->address : "", named ? ")" : "",
                        *state->text != 0 ? state->text : "not connected yet");
}

static void set_timer(struct remote *remote, int timeout_ms)
{
    loop_set_timer(remote->loop, &remote->timer, clock_deadline_ns(clock_monotonic(), timeout_ms));
}

static void stop_connecting(struct remote *remote)
{
    loop_clear_timer(remote->loop, &remote->timer);
    resolver_cancel(remote->resolver);
    remote->resolver = NULL;
    loop_unwatch(remote->loop, remote->watch);
    remote->watch = NULL;
    if (remote->fd >= 0)
        close(remote->fd);
    remote->fd = -1;
}

static void pause_over(void *context)
{
    struct remote *remote = context;

    enter(remote, REMOTE_IDLE);
    if (remote->waiting != NULL)
        remote_want(remote);
}

/* No address worked: tries again after a pause. */
static void attempt_failed(struct remote *remote, enum remote_trouble trouble, const char *text)
{
    stop_connecting(remote);
    set_trouble(remote, trouble, text);
    enter(remote, REMOTE_PAUSING);
    remote->timer = (struct loop_timer){ .expired = pause_over, .context = remote };
    set_timer(remote, remote->pause_ms);
    remote->pause_ms += remote->pause_ms / 2;
    if (remote->pause_ms > remote->options.reconnect_max_ms)
        remote->pause_ms = remote->options.reconnect_max_ms;
    remote_fail_waiting(remote);
}

/* ---- HTTP/2 over a connected socket ---- */

static struct status make_transport(struct remote *remote, int fd, struct transport **out)
{
    struct transport_maker *tls = remote->options.tls;

    if (tls != NULL)
        return tls->make(tls, fd, remote->tls_name, out);
    *out = transport_plain(fd);
    return status_ok();
}

static struct status greet(struct remote *remote, int fd)
{
    struct transport *transport;
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails for a Unix socket */
    TRY(make_transport(remote, fd, &transport));
    struct remote_connection *connection = zalloc(sizeof *connection);
    struct http2_options options = {
        .side = &remote_side,
        .context = connection,
        .loop = remote->loop,
        .mailbox = remote->mailbox,
        .limits = &remote->limits,
        .socket_buffers = remote->socket_buffers,
        .memory = remote->memory,
        .payload = remote->options.payload,
    };
    connection->remote = remote;
    struct status status = http2_create(&options, transport, &connection->http2);
    if (!status_is_ok(status)) {
        free(connection);
        return status;
    }
    remote->connection = connection;
    enter(remote, REMOTE_GREETING);
    return status_ok();
}

void remote_connection_ready(struct remote_connection *connection)
{
    struct remote *remote = connection->remote;

    if (connection != remote->connection)
        return;
    enter(remote, REMOTE_READY);
    remote->pause_ms = remote->options.reconnect_min_ms;
    pthread_mutex_lock(&remote->lock);
    remote->state.connected = true;
    remote->state.trouble = REMOTE_FINE;
    remote->state.text[0] = 0;
    remote->state.attempts = 0;
    remote->state.round_trip_ns = 0;
    pthread_mutex_unlock(&remote->lock);
    http2_ping(connection->http2);
    remote_submit_waiting(remote);
}

static void free_connection(struct remote_connection *connection)
{
    http2_destroy(connection->http2);
    free(connection);
}

/* The server takes no new calls: the connection finishes those it has, and the next call gets
 * another one. */
void remote_connection_away(struct remote_connection *connection)
{
    struct remote *remote = connection->remote;

    if (connection != remote->connection)
        return;
    connection->next = remote->old;
    remote->old = connection;
    remote->connection = NULL;
    enter(remote, REMOTE_IDLE);
    set_trouble(remote, REMOTE_FINE, "");
}

/* TLS answers foreign bytes with an alert. */
static const char *foreign_text(int first_byte)
{
    switch (first_byte) {
    case 0x15:
    case 0x16:
        return "the peer speaks TLS, and this client does not";
    case 'H':
        return "the peer speaks HTTP/1, not HTTP/2";
    default:
        return "the peer does not speak HTTP/2";
    }
}

static void lost_at_greeting(struct remote *remote, struct status why, const struct http2 *http2)
{
    bool shaking = !http2_passed_handshake(http2) && why.code != STATUS_DEADLINE_EXCEEDED;

    if (remote->options.tls != NULL && (shaking || why.code == STATUS_UNAUTHENTICATED))
        attempt_failed(remote, REMOTE_TLS, why.message);
    else if (http2_first_byte(http2) >= 0)
        attempt_failed(remote, REMOTE_FOREIGN, foreign_text(http2_first_byte(http2)));
    else if (why.code == STATUS_DEADLINE_EXCEEDED)
        attempt_failed(remote, REMOTE_SILENT, why.message);
    else
        attempt_failed(remote, REMOTE_LOST, why.message);
}

void remote_connection_lost(struct remote_connection *connection, struct status why)
{
    struct remote *remote = connection->remote;

    if (connection != remote->connection) {
        struct remote_connection **at = &remote->old;
        while (*at != connection)
            at = &(*at)->next;
        *at = connection->next;
        free_connection(connection);
        return;
    }
    remote->connection = NULL;
    if (remote->phase == REMOTE_GREETING) {
        lost_at_greeting(remote, why, connection->http2);
    } else {
        enter(remote, REMOTE_IDLE);
        set_trouble(remote, REMOTE_LOST, why.message);
        if (remote->waiting != NULL)
            remote_want(remote);
    }
    free_connection(connection);
}

/* ---- a socket ---- */

static void next_address(struct remote *remote);

static enum remote_trouble trouble_of(int error)
{
    switch (error) {
    case ECONNREFUSED:
    case ENOENT: /* a Unix socket that does not exist */
        return REMOTE_REFUSED;
    case ECONNRESET:
        return REMOTE_LOST;
    default:
        return REMOTE_UNREACHABLE;
    }
}

static void address_failed(struct remote *remote, enum remote_trouble trouble, const char *text)
{
    if (remote->next_address == remote->resolved.count) {
        attempt_failed(remote, trouble, text);
        return;
    }
    stop_connecting(remote);
    next_address(remote);
}

static void socket_failed(struct remote *remote, int error)
{
    char text[128];

    snprintf(text, sizeof text, "%s", strerror(error));
    if (text[0] >= 'A' && text[0] <= 'Z')
        text[0] = (char)(text[0] + ('a' - 'A'));
    address_failed(remote, trouble_of(error), text);
}

static void no_answer(void *context)
{
    struct remote *remote = context;
    char text[64];

    snprintf(text, sizeof text, "no answer in %d ms", remote->options.connect_timeout_ms);
    address_failed(remote, REMOTE_UNREACHABLE, text);
}

static void connected(struct remote *remote)
{
    int fd = remote->fd;

    remote->fd = -1;
    stop_connecting(remote);
    struct status status = greet(remote, fd);
    if (!status_is_ok(status))
        attempt_failed(remote, remote->options.tls != NULL ? REMOTE_TLS : REMOTE_UNREACHABLE,
                       status.message);
}

static void on_connected(void *context, uint32_t events)
{
    struct remote *remote = context;
    int error = 0;
    socklen_t size = sizeof error;
    (void)events;

    if (getsockopt(remote->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error != 0)
        socket_failed(remote, error);
    else
        connected(remote);
}

static void next_address(struct remote *remote)
{
    const struct socket_address *address = &remote->resolved.addresses[remote->next_address++];

    pthread_mutex_lock(&remote->lock);
    socket_address_text(address, remote->state.address);
    pthread_mutex_unlock(&remote->lock);
    enter(remote, REMOTE_CONNECTING);
    remote->fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (remote->fd < 0) {
        socket_failed(remote, errno);
    } else if (connect(remote->fd, &address->any, address->size) == 0) {
        connected(remote);
    } else if (errno != EINPROGRESS) {
        socket_failed(remote, errno);
    } else {
        struct status status =
            loop_watch(remote->loop, remote->fd, EPOLLOUT, on_connected, remote, &remote->watch);
        if (!status_is_ok(status))
            attempt_failed(remote, REMOTE_UNREACHABLE, status.message);
        remote->timer = (struct loop_timer){ .expired = no_answer, .context = remote };
        if (status_is_ok(status))
            set_timer(remote, remote->options.connect_timeout_ms);
    }
}

static void on_resolved(void *context, const struct resolved_host *resolved)
{
    struct remote *remote = context;

    remote->resolver = NULL;
    remote->resolved = *resolved;
    remote->next_address = 0;
    if (status_is_ok(resolved->status))
        next_address(remote);
    else
        attempt_failed(remote, REMOTE_UNRESOLVED, resolved->status.message);
}

void remote_want(struct remote *remote)
{
    if (remote->phase != REMOTE_IDLE)
        return;
    assert(!remote->closing && remote->connection == NULL && remote->fd < 0);
    enter(remote, REMOTE_RESOLVING);
    pthread_mutex_lock(&remote->lock);
    remote->state.attempts++;
    pthread_mutex_unlock(&remote->lock);
    remote->resolver = resolver_start(remote->mailbox, &remote->address, on_resolved, remote);
}

void remote_disconnect(struct remote *remote)
{
    stop_connecting(remote);
    if (remote->connection != NULL)
        free_connection(remote->connection);
    remote->connection = NULL;
    while (remote->old != NULL) {
        struct remote_connection *next = remote->old->next;
        free_connection(remote->old);
        remote->old = next;
    }
}
