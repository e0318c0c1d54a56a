#include "server/rest/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/list.h"
#include "base/log.h"

#define BACKLOG          4096
#define ACCEPTS_PER_TURN 64                /* limit per event, so that others get their turn */
#define SILENCE_MAX_NS   (60 * NS_PER_S)   /* for the first byte */
#define TLS_HANDSHAKE    22                /* no method of HTTP/1 begins with this byte */
#define PAUSE_NS         (100 * NS_PER_MS) /* after descriptors ran out */

/* A connection that has sent nothing yet. */
struct pending_connection {
    struct listener *listener;
    int fd;
    struct loop_watch *watch;
    struct loop_timer timer;
    struct sockaddr_storage address;
    socklen_t address_size;
    struct list_link link;
};

struct listener {
    struct loop *loop;
    int fd;
    struct loop_watch *watch;
    struct loop_timer pause;
    listener_accept *accepted;
    void *context;
    struct list_link *silent, *oldest; /* by age, the newest first; `oldest` is the last */
    int silent_count, silent_max;
};

/* Recognises HTTP/2 with prior knowledge, and a TLS handshake. Returns false if more bytes are
 * needed. */
static bool tell_protocol(int fd, enum listener_protocol *out)
{
    static const char preface[] = "PRI * HTTP/2";
    char first[sizeof preface - 1];
    ssize_t size = recv(fd, first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    *out = LISTENER_HTTP1;
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size > 0 && memcmp(first, preface, (size_t)size) == 0) {
        *out = LISTENER_HTTP2;
        /* no method of HTTP/1 begins like this, but a single P could start POST */
        return size >= 4;
    }
    if (size > 0 && first[0] == TLS_HANDSHAKE)
        *out = LISTENER_TLS;
    return true; /* even if it is closed, which the next reader notices */
}

/* The links point forward only; the previous one is found from the address of its `next`. */
static struct list_link *link_before(const struct listener *listener, const struct list_link *link)
{
    return link->from == &listener->silent ? NULL
                                           : CONTAINER_OF(link->from, struct list_link, next);
}

static void forget_silent(struct pending_connection *silent)
{
    struct listener *listener = silent->listener;
    loop_unwatch(listener->loop, silent->watch);
    loop_clear_timer(listener->loop, &silent->timer);
    if (listener->oldest == &silent->link)
        listener->oldest = link_before(listener, &silent->link);
    list_remove(&silent->link);
    listener->silent_count--;
    free(silent);
}

/* A client that has disconnected sends no more bytes; the next reader notices that. */
static void on_first_bytes(void *context, uint32_t events)
{
    struct pending_connection *silent = context;
    struct listener *listener = silent->listener;
    enum listener_protocol protocol;
    if (!tell_protocol(silent->fd, &protocol)) {
        if ((events & EPOLLRDHUP) == 0)
            return;
        protocol = LISTENER_HTTP1;
    }
    int fd = silent->fd;
    struct sockaddr_storage address = silent->address;
    socklen_t size = silent->address_size;
    forget_silent(silent);
    listener->accepted(listener->context, fd, protocol, (struct sockaddr *)&address, size);
}

static void on_silence(void *context)
{
    struct pending_connection *silent = context;
    int fd = silent->fd;
    forget_silent(silent);
    close(fd);
}

/* False: there is none. */
static bool close_oldest(struct listener *listener)
{
    if (listener->oldest == NULL)
        return false;
    on_silence(CONTAINER_OF(listener->oldest, struct pending_connection, link));
    return true;
}

static void wait_for_first_bytes(struct listener *listener, int fd,
                                 const struct sockaddr_storage *address, socklen_t size)
{
    if (listener->silent_count >= listener->silent_max)
        close_oldest(listener);
    struct pending_connection *silent = zalloc(sizeof *silent);
    *silent = (struct pending_connection){ .listener = listener,
                                           .fd = fd,
                                           .address = *address,
                                           .address_size = size,
                                           .timer = { .expired = on_silence, .context = silent } };
    /* Edge-triggered, because bytes that do not identify the protocol yet stay in the socket. */
    if (!status_is_ok(loop_watch(listener->loop, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, on_first_bytes,
                                 silent, &silent->watch))) {
        free(silent);
        close(fd);
        return;
    }
    list_push(&listener->silent, &silent->link);
    listener->silent_count++;
    if (listener->oldest == NULL)
        listener->oldest = &silent->link;
    loop_set_timer(listener->loop, &silent->timer, loop_now_ns(listener->loop) + SILENCE_MAX_NS);
}

void listener_take(struct listener *listener, int fd, const struct sockaddr_storage *address,
                   socklen_t size)
{
    enum listener_protocol protocol;
    if (tell_protocol(fd, &protocol))
        listener->accepted(listener->context, fd, protocol, (const struct sockaddr *)address, size);
    else
        wait_for_first_bytes(listener, fd, address, size);
}

static void pause_accepting(struct listener *listener, int error)
{
    log_error("accept: %s", strerror(error));
    status_ignore(loop_rewatch(listener->loop, listener->watch, 0));
    loop_set_timer(listener->loop, &listener->pause, loop_now_ns(listener->loop) + PAUSE_NS);
}

/* False: none is waiting. */
static bool accept_one(struct listener *listener)
{
    struct sockaddr_storage address = { 0 };
    socklen_t size = sizeof address;
    int on = 1;
    int fd =
        accept4(listener->fd, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        bool full = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
        if (full && close_oldest(listener))
            return true;
        if (full)
            pause_accepting(listener, error);
        return error == ECONNABORTED || error == EINTR;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    listener_take(listener, fd, &address, size);
    return true;
}

static void on_connections(void *context, uint32_t events)
{
    struct listener *listener = context;
    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && accept_one(listener); i++)
        ;
}

static void resume(void *context)
{
    struct listener *listener = context;
    /* it was watched before */
    status_ignore(loop_rewatch(listener->loop, listener->watch, EPOLLIN));
}

static struct status bind_port(int family, int port, int *out)
{
    struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
    struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    bool six = family == AF_INET6;
    int on = 1, off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return status_errno(errno, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (six)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const struct sockaddr *address = six ? (struct sockaddr *)&any6 : (struct sockaddr *)&any4;
    if (bind(fd, address, six ? sizeof any6 : sizeof any4) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        return status_errno(error, "listen on port %d", port);
    }
    *out = fd;
    return status_ok();
}

/* A part of the process's descriptors, to leave some for requests and files. */
static int silent_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 100;
    rlim_t part = limit.rlim_cur / LISTENER_SILENT_PART;
    return part < 1 ? 1 : part > 100000 ? 100000 : (int)part;
}

struct status listener_open(struct loop *loop, int port, listener_accept *accepted, void *context,
                            struct listener **out)
{
    int fd;
    struct status status = bind_port(AF_INET6, port, &fd);
    if (!status_is_ok(status))
        status = bind_port(AF_INET, port, &fd);
    TRY(status);
    struct listener *listener = zalloc(sizeof *listener);
    *listener = (struct listener){ .loop = loop,
                                   .fd = fd,
                                   .accepted = accepted,
                                   .context = context,
                                   .silent_max = silent_max(),
                                   .pause = { .expired = resume, .context = listener } };
    status = loop_watch(loop, fd, EPOLLIN, on_connections, listener, &listener->watch);
    if (!status_is_ok(status)) {
        close(fd);
        free(listener);
        return status;
    }
    *out = listener;
    return status_ok();
}

void listener_close(struct listener *listener)
{
    if (listener == NULL)
        return;
    while (accept_one(listener))
        ;
    while (listener->silent != NULL)
        on_silence(CONTAINER_OF(listener->silent, struct pending_connection, link));
    loop_clear_timer(listener->loop, &listener->pause);
    loop_unwatch(listener->loop, listener->watch);
    close(listener->fd);
    free(listener);
}
