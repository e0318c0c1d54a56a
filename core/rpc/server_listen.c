#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "rpc/server_internal.h"

#define BACKLOG          512
#define ACCEPTS_PER_TURN 32
#define PAUSE_MS         100 /* after descriptors ran out */

static void resume(void *context)
{
    struct server_listener *listener = context;

    status_ignore(loop_rewatch(listener->server->loop, listener->watch, EPOLLIN));
}

/* accept fails until a descriptor is closed, and the loop would spin meanwhile. */
static void pause_accepting(struct server_listener *listener)
{
    struct loop *loop = listener->server->loop;

    status_ignore(loop_rewatch(loop, listener->watch, 0));
    loop_set_timer(loop, &listener->pause, loop_now_ns(loop) + (int64_t)PAUSE_MS * NS_PER_MS);
}

static void on_connection(void *context, uint32_t events)
{
    struct server_listener *listener = context;
    const struct rpc_server_options *options = &listener->server->options;
    (void)events;

    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            pause_accepting(listener);
        if (fd < 0)
            return; /* no connection is left, or the first one was reset */
        if (options->accepted != NULL)
            options->accepted(options->accepted_context, fd);
        else
            rpc_server_accept(listener->server, fd, (struct bytes){ 0 });
    }
}

/* Removes a socket that a server left and nobody listens on, but no other kind of file. */
static void remove_stale(const struct socket_address *address)
{
    struct stat there;

    if (lstat(address->local.sun_path, &there) != 0 || !S_ISSOCK(there.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, &address->any, address->size) != 0 && errno == ECONNREFUSED)
        unlink(address->local.sun_path);
    close(fd);
}

static struct status open_socket(const struct socket_address *address, int *out)
{
    int one = 1, zero = 0;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return status_errno(errno, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->any.sa_family == AF_INET6) /* "[::]" accepts IPv4 as well */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (address->any.sa_family == AF_UNIX)
        remove_stale(address);
    if (bind(fd, &address->any, address->size) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        return status_errno(error, "bind");
    }
    *out = fd;
    return status_ok();
}

static int port_of(int fd)
{
    struct socket_address address = { .size = sizeof(struct sockaddr_un) };

    if (getsockname(fd, &address.any, &address.size) != 0)
        return 0;
    if (address.any.sa_family == AF_INET)
        return ntohs(address.v4.sin_port);
    return address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port) : 0;
}

static struct status listen_at(struct rpc_server *server, const char *text, int *port)
{
    struct address address;
    struct socket_address where;
    int count, fd = -1;

    TRY(address_parse(text, &address));
    TRY(address_resolve(&address, &where, 1, &count));
    TRY(open_socket(&where, &fd));
    struct server_listener *listener = zalloc(sizeof *listener);
    listener->server = server;
    listener->fd = fd;
    listener->pause = (struct loop_timer){ .expired = resume, .context = listener };
    listener->path = address.is_unix ? xstrdup(address.host) : NULL;
    struct status status =
        loop_watch(server->loop, fd, EPOLLIN, on_connection, listener, &listener->watch);
    listener->next = server->listeners;
    server->listeners = listener; /* even after a failure: the server closes it */
    if (port != NULL)
        *port = port_of(fd);
    return status;
}

struct status rpc_server_listen(struct rpc_server *server, const char *address, int *port)
{
    return status_in(listen_at(server, address, port), "listen at %s", address);
}

void server_close_listeners(struct rpc_server *server)
{
    while (server->listeners != NULL) {
        struct server_listener *listener = server->listeners;
        server->listeners = listener->next;
        loop_unwatch(server->loop, listener->watch);
        loop_clear_timer(server->loop, &listener->pause);
        close(listener->fd);
        if (listener->path != NULL)
            unlink(listener->path);
        free(listener->path);
        free(listener);
    }
}
