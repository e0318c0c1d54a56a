/*
 * Measures a unary call over core/rpc, and over a socket with framing made by hand: a request of
 * SIZE bytes, an empty reply.
 *
 *     rpc_call serve|raw-serve PORT
 *     rpc_call call|raw-call PORT SIZE CALLS        prints "us X", the mean
 */
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "rpc/server.h"

#define PATH "/slipway.bench.Call/Push"

static void check(struct status status)
{
    if (status_is_ok(status))
        return;
    fprintf(stderr, "%s\n", status.message);
    exit(1);
}

/* ---- core/rpc ---- */

static void push(void *instance, struct call *call, struct message *request)
{
    struct message reply = { 0 };
    (void)instance;
    message_release(request);
    call_reply(call, &reply);
}

static const struct method methods[] = { { PATH, push, METHOD_UNARY, true } };
static const struct service service = { methods, COUNT(methods) };

static void serve(const char *address)
{
    struct rpc_server_options options = { .message_max_bytes = (size_t)1 << 30 };
    struct rpc_server *server;
    struct loop *loop;

    check(loop_create(&loop));
    check(rpc_server_create(loop, &options, &server));
    rpc_server_add(server, &service, NULL);
    check(rpc_server_listen(server, address, NULL));
    check(loop_run(loop));
}

static void call(const char *address, char *bytes, size_t size, int count)
{
    struct channel *channel;
    struct call_group calls;
    struct bytes piece = { bytes, size };

    check(remote_open(address, &(struct remote_options){ .payload = true }, &channel));
    call_group_init(&calls, clock_monotonic(), 1);
    for (int i = 0; i < count; i++) {
        struct message request = { .pieces = &piece, .pieces_count = 1 };
        call_group_begin(&calls);
        call_group_add(&calls, channel, PATH, &request, CLOCK_NEVER);
        check(call_group_wait(&calls));
    }
    call_group_finish(&calls);
    channel_close(channel);
}

/* ---- the bare socket: 4 bytes of size, then the message ---- */

static int raw_socket(const char *address, struct socket_address *where)
{
    struct address parsed;
    int one = 1, count;

    check(address_parse(address, &parsed));
    check(address_resolve(&parsed, where, 1, &count));
    int fd = socket(where->any.sa_family, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void read_all(int fd, char *to, size_t size)
{
    while (size > 0) {
        ssize_t part = read(fd, to, size);
        if (part <= 0)
            exit(part < 0);
        to += part;
        size -= (size_t)part;
    }
}

/* Reads a frame. One read gets the size and the first bytes, as a buffered reader would. */
static void read_frame(int fd, char *to, size_t room)
{
    uint32_t size;
    size_t have = 0;

    while (have < sizeof size) {
        ssize_t part = read(fd, to + have, room - have);
        if (part <= 0)
            exit(part < 0);
        have += (size_t)part;
    }
    memcpy(&size, to, sizeof size);
    read_all(fd, to + have, sizeof size + size - have);
}

static void write_frame(int fd, char *bytes, uint32_t size)
{
    struct iovec runs[] = { { &size, sizeof size }, { bytes, size } };
    int first = 0;

    while (first < 2) {
        ssize_t part = writev(fd, runs + first, 2 - first);
        if (part < 0)
            exit(1);
        for (; first < 2 && (size_t)part >= runs[first].iov_len; first++)
            part -= (ssize_t)runs[first].iov_len;
        if (first < 2) {
            runs[first].iov_base = (char *)runs[first].iov_base + part;
            runs[first].iov_len -= (size_t)part;
        }
    }
}

#define RAW_ROOM ((size_t)128 << 20)

static void raw_serve(const char *address)
{
    struct socket_address where;
    int listening = raw_socket(address, &where), one = 1;
    char *room = malloc(RAW_ROOM);

    if (bind(listening, &where.any, where.size) != 0 || listen(listening, 16) != 0)
        exit((perror(address), 1));
    for (;;) {
        int fd = accept(listening, NULL, NULL);
        if (fork() != 0) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        for (;;) {
            read_frame(fd, room, RAW_ROOM);
            write_frame(fd, room, 0);
        }
    }
}

static void raw_call(const char *address, char *bytes, size_t size, int count)
{
    struct socket_address where;
    int fd = raw_socket(address, &where);
    char reply[64];

    if (connect(fd, &where.any, where.size) != 0)
        exit((perror(address), 1));
    for (int i = 0; i < count; i++) {
        write_frame(fd, bytes, (uint32_t)size);
        read_frame(fd, reply, sizeof reply);
    }
    close(fd);
}

static double measure(void (*run)(const char *, char *, size_t, int), const char *address,
                      size_t size, int count)
{
    char *bytes = zalloc(size);

    memset(bytes, 'x', size);
    run(address, bytes, size, 1 + count / 20);
    int64_t before_ns = clock_now_ns(clock_monotonic());
    run(address, bytes, size, count);
    int64_t after_ns = clock_now_ns(clock_monotonic());
    free(bytes);
    return (double)(after_ns - before_ns) / 1e3 / count;
}

int main(int argc, char **argv)
{
    char address[32];
    bool raw = argc > 1 && strncmp(argv[1], "raw-", 4) == 0;

    if (argc < 3)
        return 2;
    snprintf(address, sizeof address, "127.0.0.1:%s", argv[2]);
    if (argc == 3) {
        raw ? raw_serve(address) : serve(address);
        return 0;
    }
    printf("us %.2f\n", measure(raw ? raw_call : call, address, strtoul(argv[3], NULL, 10),
                                (int)strtol(argv[4], NULL, 10)));
    return 0;
}
