#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "server/rest_internal.h"

#define STALL_NS      (10 * NS_PER_S) /* without any part of the request */
/* libmicrohttpd 0.9.75 spins on a chunk extension that fills its buffer: MHD_run wants to run again
 * and calls nothing of ours. While it does, chunked requests have less time. */
#define SPIN_RUNS     64
#define SPIN_STALL_NS NS_PER_S
#define SPIN_CHECK_NS (NS_PER_S / 4)

/* ---- Links. ---- */

struct rest_link *rest_link_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* libmicrohttpd takes it for a connection that was reset. */
static void cut(struct rest_link *link)
{
    shutdown(link->fd, SHUT_RDWR);
}

static void forget_left(struct rest_link *link)
{
    struct rest_link **at = &link->rest->left;
    while (*at != link)
        at = &(*at)->next_left;
    *at = link->next_left;
    link->is_listed = false;
}

static bool is_in_pool(const struct request *request)
{
    return request->state == REQUEST_POOLED || request->state == REQUEST_SUSPENDED;
}

static void on_left(void *context, uint32_t events)
{
    struct rest_link *link = context;
    (void)events;
    if (link->has_left)
        return;
    link->has_left = link->is_listed = true;
    link->next_left = link->rest->left;
    link->rest->left = link;
    if (link->request != NULL && is_in_pool(link->request))
        inference_leave(&link->request->exchange.call);
}

static struct rest_link *link_create(struct rest *rest, struct MHD_Connection *connection)
{
    struct rest_link *link = zalloc(sizeof *link);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *link = (struct rest_link){ .rest = rest, .fd = info->connect_fd };
    /* Without a watch the client's leaving is seen late: by the stall timer, or at the run's end.
     */
    status_ignore(loop_watch(rest->server->loop, link->fd, EPOLLRDHUP | EPOLLET, on_left, link,
                             &link->watch));
    rest->connections++;
    budget_charge(&rest->server->budget, REST_CONNECTION_BYTES);
    return link;
}

static void link_destroy(struct rest_link *link)
{
    struct rest *rest = link->rest;
    if (link->request != NULL) /* libmicrohttpd does not tell of each request that it gives up */
        rest_request_leave(link->request);
    if (link->is_listed)
        forget_left(link);
    loop_unwatch(rest->server->loop, link->watch);
    rest->connections--;
    budget_give(&rest->server->budget, REST_CONNECTION_BYTES);
    free(link);
}

void rest_on_connection(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *state = link_create(context, connection);
    } else {
        link_destroy(*state);
        *state = NULL;
    }
}

/* ---- Requests that are being read. ---- */

void rest_link_reads(struct rest_link *link)
{
    struct rest *rest = link->rest;
    link->progress_ns = loop_now_ns(rest->server->loop);
    link->chunked = false;
    link->previous = NULL;
    link->next = rest->links_reading;
    if (link->next != NULL)
        link->next->previous = link;
    rest->links_reading = link;
    rest->progressed = true;
}

void rest_link_progressed(struct rest_link *link)
{
    link->progress_ns = loop_now_ns(link->rest->server->loop);
    link->rest->progressed = true;
}

void rest_link_has_read(struct rest_link *link)
{
    if (link->next != NULL)
        link->next->previous = link->previous;
    if (link->previous != NULL)
        link->previous->next = link->next;
    else
        link->rest->links_reading = link->next;
    link->rest->progressed = true;
}

static void arm(struct rest *rest)
{
    bool spins = rest->idle_runs >= SPIN_RUNS;
    if (rest->links_reading != NULL && (rest->stall_timer.slot == 0 || spins != rest->spins))
        loop_set_timer(rest->server->loop, &rest->stall_timer,
                       loop_now_ns(rest->server->loop) + (spins ? SPIN_CHECK_NS : STALL_NS / 2));
    rest->spins = spins;
}

static void on_stall_timer(void *context)
{
    struct rest *rest = context;
    int64_t now = loop_now_ns(rest->server->loop);
    for (struct rest_link *link = rest->links_reading; link != NULL; link = link->next)
        if (now - link->progress_ns >= (rest->spins && link->chunked ? SPIN_STALL_NS : STALL_NS))
            cut(link);
    arm(rest);
}

void rest_links_start(struct rest *rest)
{
    rest->stall_timer = (struct loop_timer){ .expired = on_stall_timer, .context = rest };
}

void rest_links_stop(struct rest *rest)
{
    loop_clear_timer(rest->server->loop, &rest->stall_timer);
}

void rest_links_after_run(struct rest *rest)
{
    rest->idle_runs = rest->unfinished && !rest->progressed ? rest->idle_runs + 1 : 0;
    rest->progressed = false;
    arm(rest);
}

/* ---- Clients that have left. ---- */

/* What it has sent is read, and its request is not whole; or there is none. */
static bool wants_nothing(const struct rest_link *link)
{
    int unread = 0;
    if (link->request != NULL && link->request->state >= REQUEST_RUNNING)
        return false;
    return ioctl(link->fd, FIONREAD, &unread) != 0 || unread == 0;
}

void rest_links_end_left(struct rest *rest)
{
    struct rest_link *link = rest->left;
    for (struct rest_link *next; link != NULL; link = next) {
        next = link->next_left;
        if (!wants_nothing(link))
            continue;
        forget_left(link);
        cut(link);
    }
}
