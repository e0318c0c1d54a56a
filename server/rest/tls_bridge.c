#include "server/rest/tls_bridge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/list.h"
#include "base/log.h"
#include "rpc/tls.h"

#define PIECE_BYTES      ((size_t)16 << 10) /* a TLS record at most */
/* For the whole handshake, as for the first byte. On a busy machine a client may take long to go
 * on, and once it has, it may be silent for minutes anyway. */
#define HANDSHAKE_NS     (60 * NS_PER_S)
#define UNREAD_NS        (600 * NS_PER_S) /* for a client to take a byte, as in libmicrohttpd */
/* The charge for a connection: GnuTLS's session and our own state. */
#define CONNECTION_BYTES ((int64_t)48 << 10)

struct tls_bridge {
    struct tls_bridge_options options;
    struct list_link *connections; /* of struct bridged */
    unsigned count;                /* of them */
    char scratch[PIECE_BYTES];     /* for bytes on their way */
};

/* Bytes that the other side has not taken; `data` is NULL while there are none. */
struct unsent_bytes {
    char *data;
    size_t at, end;
};

/* One end of a connection in the loop. */
struct bridge_end {
    int fd;
    struct loop_watch *watch;
    uint32_t events; /* watched for */
    bool ended;      /* nothing more can be read */
};

struct bridged {
    struct tls_bridge *bridge;
    struct transport *transport;
    struct bridge_end client, plain; /* plain.fd -1: the handshake is not complete */
    struct unsent_bytes in, out;     /* for libmicrohttpd, and for the client */
    enum transport_wants wants;      /* of the handshake */
    struct loop_timer timer; /* of the handshake, then of bytes that the client should take */
    int64_t taken_ns;        /* when the client last took bytes */
    struct sockaddr_storage address;
    socklen_t address_size;
    struct list_link link;
};

/* ---- connections ---- */

static void unwatch(struct bridged *bridged, struct bridge_end *end)
{
    loop_unwatch(bridged->bridge->options.loop, end->watch);
    end->watch = NULL;
}

static void forget(struct bridged *bridged)
{
    struct tls_bridge_options *options = &bridged->bridge->options;
    loop_clear_timer(options->loop, &bridged->timer);
    unwatch(bridged, &bridged->client);
    unwatch(bridged, &bridged->plain);
    if (bridged->plain.fd >= 0)
        close(bridged->plain.fd);
    free(bridged->in.data);
    free(bridged->out.data);
    list_remove(&bridged->link);
    bridged->bridge->count--;
    free(bridged);
    budget_give(options->budget, CONNECTION_BYTES);
}

static void close_bridged(struct bridged *bridged)
{
    struct transport *transport = bridged->transport;
    unwatch(bridged, &bridged->client); /* before its descriptor is closed */
    transport->type->close(transport);
    forget(bridged);
}

static void on_slow_handshake(void *context)
{
    close_bridged(context);
}

/* Waits for these events. Without any, an end that hung up would wake the loop forever. */
static void expect(struct bridged *bridged, struct bridge_end *end, uint32_t events,
                   void (*ready)(void *, uint32_t))
{
    struct loop *loop = bridged->bridge->options.loop;
    if (events == end->events && (end->watch != NULL) == (events != 0))
        return;
    end->events = events;
    if (events == 0)
        unwatch(bridged, end);
    else if (end->watch != NULL)
        status_ignore(loop_rewatch(loop, end->watch, events));
    else
        status_ignore(loop_watch(loop, end->fd, events, ready, bridged, &end->watch));
}

/* ---- bytes ---- */

static bool is_empty(const struct unsent_bytes *left)
{
    return left->at == left->end;
}

static void keep(struct unsent_bytes *left, const char *data, size_t size)
{
    left->data = xrealloc(NULL, PIECE_BYTES);
    memcpy(left->data, data, size);
    left->at = 0;
    left->end = size;
}

static void advance(struct unsent_bytes *left, size_t size)
{
    left->at += size;
    if (!is_empty(left))
        return;
    free(left->data);
    *left = (struct unsent_bytes){ 0 };
}

static void drop(struct unsent_bytes *left)
{
    advance(left, left->end - left->at);
}

typedef ssize_t put_function(struct bridged *bridged, const char *data, size_t size);

static ssize_t put_plain(struct bridged *bridged, const char *data, size_t size)
{
    return send(bridged->plain.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static ssize_t put_encrypted(struct bridged *bridged, const char *data, size_t size)
{
    struct iovec piece = { (void *)(uintptr_t)data, size };
    ssize_t taken = bridged->transport->type->write(bridged->transport, &piece, 1);
    if (taken > 0)
        bridged->taken_ns = loop_now_ns(bridged->bridge->options.loop);
    return taken;
}

static bool is_later(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* Sends the leftover. Returns false if the other side is gone. */
static bool flush(struct bridged *bridged, struct unsent_bytes *left, put_function *put)
{
    while (!is_empty(left)) {
        ssize_t sent = put(bridged, left->data + left->at, left->end - left->at);
        if (sent < 0)
            return is_later(sent);
        advance(left, (size_t)sent);
    }
    return true;
}

static bool pass_on(struct bridged *bridged, const char *data, size_t size,
                    struct unsent_bytes *left, put_function *put)
{
    size_t done = 0;
    while (done < size) {
        ssize_t sent = put(bridged, data + done, size - done);
        if (sent < 0 && !is_later(sent))
            return false;
        if (sent < 0) {
            keep(left, data + done, size - done);
            return true;
        }
        done += (size_t)sent;
    }
    return true;
}

/* libmicrohttpd has closed its end. Its earlier answers are still sent. */
static void stop_reading(struct bridged *bridged)
{
    drop(&bridged->in);
    bridged->client.ended = true;
}

/* From the client to libmicrohttpd. Stops at a full socket, because libmicrohttpd does not run
 * meanwhile. Returns false if the client is gone. */
static bool move_in(struct bridged *bridged)
{
    struct tls_bridge *bridge = bridged->bridge;
    struct iovec scratch = { bridge->scratch, PIECE_BYTES };
    if (!flush(bridged, &bridged->in, put_plain))
        stop_reading(bridged);
    while (is_empty(&bridged->in) && !bridged->client.ended) {
        ssize_t got = bridged->transport->type->read(bridged->transport, &scratch, 1);
        if (got < 0)
            return is_later(got);
        bridged->client.ended = got == 0;
        if (got == 0)
            shutdown(bridged->plain.fd, SHUT_WR);
        else if (!pass_on(bridged, bridge->scratch, (size_t)got, &bridged->in, put_plain))
            stop_reading(bridged);
    }
    return true;
}

/* From libmicrohttpd to the client. Returns false if the client is gone, or libmicrohttpd has
 * closed and everything is sent. */
static bool move_out(struct bridged *bridged)
{
    struct tls_bridge *bridge = bridged->bridge;
    if (!flush(bridged, &bridged->out, put_encrypted))
        return false;
    while (is_empty(&bridged->out) && !bridged->plain.ended) {
        ssize_t got = recv(bridged->plain.fd, bridge->scratch, PIECE_BYTES, MSG_DONTWAIT);
        if (got < 0)
            return is_later(got);
        bridged->plain.ended = got == 0;
        if (got > 0 &&
            !pass_on(bridged, bridge->scratch, (size_t)got, &bridged->out, put_encrypted))
            return false;
    }
    return !(bridged->plain.ended && is_empty(&bridged->out));
}

/* Closing a socket with unread bytes sends a reset, which would overtake the answer. */
static void discard_unread(struct bridged *bridged)
{
    char *scratch = bridged->bridge->scratch;
    for (int i = 0; i < 64 && recv(bridged->client.fd, scratch, PIECE_BYTES, MSG_DONTWAIT) > 0; i++)
        ;
}

/* While bytes wait for the client, it goes unnoticed that libmicrohttpd has closed. */
static void on_unread(void *context)
{
    struct bridged *bridged = context;
    struct loop *loop = bridged->bridge->options.loop;
    if (is_empty(&bridged->out))
        return;
    if (loop_now_ns(loop) - bridged->taken_ns >= UNREAD_NS)
        close_bridged(bridged);
    else
        loop_set_timer(loop, &bridged->timer, bridged->taken_ns + UNREAD_NS);
}

static void limit_unread(struct bridged *bridged)
{
    struct loop *loop = bridged->bridge->options.loop;
    if (is_empty(&bridged->out) || bridged->timer.slot != 0)
        return;
    bridged->timer.expired = on_unread;
    loop_set_timer(loop, &bridged->timer, loop_now_ns(loop) + UNREAD_NS);
}

static void on_bytes(void *context, uint32_t events);

static void move(struct bridged *bridged)
{
    if (!move_in(bridged) || !move_out(bridged)) {
        discard_unread(bridged);
        close_bridged(bridged);
        return;
    }
    limit_unread(bridged);
    bool reads_client = is_empty(&bridged->in) && !bridged->client.ended;
    bool reads_plain = is_empty(&bridged->out) && !bridged->plain.ended;
    expect(bridged, &bridged->client,
           (reads_client ? EPOLLIN : 0U) | (is_empty(&bridged->out) ? 0U : EPOLLOUT), on_bytes);
    expect(bridged, &bridged->plain,
           (reads_plain ? EPOLLIN : 0U) | (is_empty(&bridged->in) ? 0U : EPOLLOUT), on_bytes);
}

static void on_bytes(void *context, uint32_t events)
{
    (void)events;
    move(context);
}

/* ---- the handshake ---- */

static void begin_http1(struct bridged *bridged)
{
    const struct tls_bridge_options *options = &bridged->bridge->options;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        log_error("http: socketpair: %s", strerror(errno));
        close_bridged(bridged);
        return;
    }
    bridged->plain.fd = ends[0];
    options->http1(options->context, ends[1], (struct sockaddr *)&bridged->address,
                   bridged->address_size);
    move(bridged);
}

static void begin_http2(struct bridged *bridged)
{
    const struct tls_bridge_options options = bridged->bridge->options;
    struct transport *transport = bridged->transport;
    forget(bridged);
    options.http2(options.context, transport);
}

static void on_handshake(void *context, uint32_t events)
{
    struct bridged *bridged = context;
    struct transport *transport = bridged->transport;
    (void)events;
    struct status status = transport->type->handshake(transport, &bridged->wants);
    if (!status_is_ok(status)) {
        log_debug("http: %s", status.message);
        close_bridged(bridged);
        return;
    }
    if (bridged->wants != TRANSPORT_DONE) {
        expect(bridged, &bridged->client,
               bridged->wants == TRANSPORT_WANTS_READ ? EPOLLIN : EPOLLOUT, on_handshake);
        return;
    }
    loop_clear_timer(bridged->bridge->options.loop, &bridged->timer);
    unwatch(bridged, &bridged->client); /* it is watched with another function from now on */
    bridged->client.events = 0;
    if (bridged->bridge->options.http2 != NULL && tls_chose_http2(transport))
        begin_http2(bridged);
    else
        begin_http1(bridged);
}

static bool has_room(const struct tls_bridge *bridge)
{
    if (bridge->count >= bridge->options.connections_max) {
        log_debug("http: a connection is refused: there are %u", bridge->count);
        return false;
    }
    struct status status = budget_take_reserved(bridge->options.budget, CONNECTION_BYTES);
    if (!status_is_ok(status))
        log_debug("http: a connection is refused: %s", status.message);
    return status_is_ok(status);
}

void tls_bridge_accept(struct tls_bridge *bridge, int fd, const struct sockaddr *address,
                       socklen_t address_size)
{
    struct loop *loop = bridge->options.loop;
    struct transport *transport;
    if (!has_room(bridge)) {
        close(fd);
        return;
    }
    if (!status_is_ok(bridge->options.tls->make(bridge->options.tls, fd, NULL, &transport))) {
        budget_give(bridge->options.budget, CONNECTION_BYTES);
        return;
    }
    struct bridged *bridged = zalloc(sizeof *bridged);
    *bridged = (struct bridged){ .bridge = bridge,
                                 .transport = transport,
                                 .client.fd = fd,
                                 .plain.fd = -1,
                                 .wants = TRANSPORT_WANTS_READ,
                                 .address_size = address_size };
    memcpy(&bridged->address, address, address_size);
    bridged->timer = (struct loop_timer){ .expired = on_slow_handshake, .context = bridged };
    list_push(&bridge->connections, &bridged->link);
    bridge->count++;
    loop_set_timer(loop, &bridged->timer, loop_now_ns(loop) + HANDSHAKE_NS);
    on_handshake(bridged, EPOLLIN);
}

struct tls_bridge *tls_bridge_create(const struct tls_bridge_options *options)
{
    struct tls_bridge *bridge = zalloc(sizeof *bridge);
    bridge->options = *options;
    return bridge;
}

int tls_bridge_connections(const struct tls_bridge *bridge)
{
    return bridge != NULL ? (int)bridge->count : 0;
}

bool tls_bridge_sends(const struct tls_bridge *bridge)
{
    for (struct list_link *at = bridge != NULL ? bridge->connections : NULL; at != NULL;
         at = at->next)
        if (!is_empty(&CONTAINER_OF(at, struct bridged, link)->out))
            return true;
    return false;
}

void tls_bridge_destroy(struct tls_bridge *bridge)
{
    if (bridge == NULL)
        return;
    while (bridge->connections != NULL)
        close_bridged(CONTAINER_OF(bridge->connections, struct bridged, link));
    free(bridge);
}
