#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/rest_internal.h"

#define IDLE_NS    (600 * NS_PER_S)
#define SILENCE_NS (30 * NS_PER_S)
#define DRAIN_LINGER_NS \
    (300 * (int64_t)NS_PER_MS)          /* idle clients may have sent their next request already */
#define DRAIN_READING_NS (2 * NS_PER_S) /* requests that come in slowly while draining */

int rest_connections(const struct rest *rest)
{
    return http1_connections(rest->http);
}

bool rest_answer(struct rest *rest)
{
    return http1_resume(rest->http);
}

/* In the words of the protocol that is spoken here. What stands unread at the end would make a
 * reset of it, which overtakes them. */
static void turn_away(int fd)
{
    static const char words[] = "HTTP/1.1 505 HTTP Version Not Supported\r\n"
                                "Content-Type: text/plain\r\nConnection: close\r\n\r\n"
                                "This port is for REST, over HTTP/1.1 and without TLS.\n";
    char unread[4096];
    ssize_t size = recv(fd, unread, sizeof unread, MSG_DONTWAIT);
    size = send(fd, words, sizeof words - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)size;
    close(fd);
}

void rest_accept(void *context, int fd, enum listener_protocol protocol,
                 const struct sockaddr *address, socklen_t address_size)
{
    struct rest *rest = context;
    (void)address, (void)address_size;
    if (protocol == LISTENER_HTTP1) {
        http1_accept(rest->http, fd);
        return;
    }
    log_debug("http: a client that speaks %s is turned away",
              protocol == LISTENER_TLS ? "TLS" : "HTTP/2 only");
    turn_away(fd);
}

static int connections_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1000;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t others = 64; /* descriptors that are no connections */
    if (limit.rlim_cur > 100000 + others)
        return 100000;
    return limit.rlim_cur > others ? (int)(limit.rlim_cur - others) : 1;
}

struct rest *rest_create(struct server_context *server)
{
    static const struct http1_events events = { .begin = rest_on_begin,
                                                .body = rest_on_body,
                                                .whole = rest_on_whole,
                                                .left = rest_on_left,
                                                .end = rest_on_end };
    struct rest *rest = zalloc(sizeof *rest);
    struct http1_options options = { .loop = server->loop,
                                     .budget = &server->budget,
                                     .connections_max = connections_max(),
                                     .idle_ns = IDLE_NS,
                                     .silence_ns = SILENCE_NS,
                                     .events = &events,
                                     .context = rest };
    rest->server = server;
    rest->http = http1_create(&options);
    return rest;
}

void rest_destroy(struct rest *rest)
{
    if (rest == NULL)
        return;
    loop_clear_timer(rest->server->loop, &rest->drain_timer);
    http1_destroy(rest->http);
    while (rest->idle != NULL) {
        struct request *next = rest->idle->next;
        rest_request_free(rest->idle);
        rest->idle = next;
    }
    free(rest);
}

/* Requests that run are waited for; those that come in slowly, or might come on idle connections,
 * for a while. */
static void check_drained(void *context)
{
    struct rest *rest = context;
    int64_t now = clock_now_ns(clock_monotonic());
    if (rest->requests > 0)
        rest->drain_idle_since_ns = now;
    bool idle = rest->requests == 0 && now - rest->drain_idle_since_ns >= DRAIN_LINGER_NS;
    bool stuck = rest->requests == rest->reading && now - rest->drain_began_ns >= DRAIN_READING_NS;
    if (rest_connections(rest) == 0 || idle || stuck)
        rest->drained(rest->drained_context);
    else
        loop_set_timer(rest->server->loop, &rest->drain_timer, now + 10 * NS_PER_MS);
}

void rest_drain(struct rest *rest, void (*drained)(void *context), void *context)
{
    rest->draining = true;
    rest->drained = drained;
    rest->drained_context = context;
    rest->drain_began_ns = rest->drain_idle_since_ns = clock_now_ns(clock_monotonic());
    rest->drain_timer = (struct loop_timer){ .expired = check_drained, .context = rest };
    check_drained(rest);
}
