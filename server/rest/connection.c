#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/container.h"
#include "server/rest/rest_internal.h"

#define STALL_NS      (10 * NS_PER_S) /* for the next part of a request to arrive */
/* libmicrohttpd 0.9.75 spins on a chunk extension that fills its buffer: MHD_run asks to be run
 * again, and calls none of our callbacks. After SPIN_RUNS such runs, chunked requests get less
 * time. */
#define SPIN_RUNS     64
#define SPIN_STALL_NS NS_PER_S
#define SPIN_CHECK_NS (NS_PER_S / 4)

/* ---- connections ---- */

struct rest_connection *rest_connection_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* Makes libmicrohttpd see a connection that was reset, and close it. */
static void hang_up(struct rest_connection *connection)
{
    shutdown(connection->fd, SHUT_RDWR);
}

static bool is_in_pool(const struct request *request)
{
    return request->state == REQUEST_POOLED || request->state == REQUEST_SUSPENDED;
}

static void on_disconnected(void *context, uint32_t events)
{
    struct rest_connection *connection = context;
    (void)events;
    if (connection->is_disconnected)
        return;
    connection->is_disconnected = true;
    list_push(&connection->rest->disconnected, &connection->disconnected);
    if (connection->request != NULL && is_in_pool(connection->request))
        inference_cancel(&connection->request->exchange.served.call);
}

static struct rest_connection *create(struct rest *rest, struct MHD_Connection *mhd)
{
    struct rest_connection *connection = zalloc(sizeof *connection);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    *connection = (struct rest_connection){ .rest = rest, .fd = info->connect_fd };
    /* If it cannot be watched, the stall timer or the end of the run notices the disconnect. */
    status_ignore(loop_watch(rest->server->loop, connection->fd, EPOLLRDHUP | EPOLLET,
                             on_disconnected, connection, &connection->watch));
    rest->connections++;
    /* Its first request may have arrived already. */
    inference_expect_more(rest->server->inference, 1);
    budget_charge(rest->server->budget, REST_CONNECTION_BYTES);
    return connection;
}

static void destroy(struct rest_connection *connection)
{
    struct rest *rest = connection->rest;
    if (connection->request != NULL) /* libmicrohttpd does not report every request it gives up */
        rest_request_detach(connection->request);
    assert(!list_holds(&connection->reading));
    if (list_holds(&connection->disconnected))
        list_remove(&connection->disconnected);
    loop_unwatch(rest->server->loop, connection->watch);
    rest->connections--;
    inference_expect_more(rest->server->inference, -1); /* NULL at the end of the server */
    budget_give(rest->server->budget, REST_CONNECTION_BYTES);
    free(connection);
}

void rest_on_connection(void *context, struct MHD_Connection *mhd, void **state,
                        enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *state = create(context, mhd);
    } else {
        destroy(*state);
        *state = NULL;
    }
}

/* ---- connections with a partially read request ---- */

void rest_connection_begin_reading(struct rest_connection *connection)
{
    connection->chunked = false;
    list_push(&connection->rest->reading, &connection->reading);
    rest_connection_note_progress(connection);
}

void rest_connection_note_progress(struct rest_connection *connection)
{
    connection->progress_ns = loop_now_ns(connection->rest->server->loop);
    connection->rest->progressed = true;
}

void rest_connection_end_reading(struct rest_connection *connection)
{
    list_remove(&connection->reading);
    connection->rest->progressed = true;
}

static void set_stall_timer(struct rest *rest)
{
    bool spins = rest->idle_runs >= SPIN_RUNS;
    if (rest->reading != NULL && (rest->stall_timer.slot == 0 || spins != rest->spins))
        loop_set_timer(rest->server->loop, &rest->stall_timer,
                       loop_now_ns(rest->server->loop) + (spins ? SPIN_CHECK_NS : STALL_NS / 2));
    rest->spins = spins;
}

static void on_stall_timer(void *context)
{
    struct rest *rest = context;
    int64_t now = loop_now_ns(rest->server->loop);
    for (struct list_link *at = rest->reading; at != NULL; at = at->next) {
        struct rest_connection *connection = CONTAINER_OF(at, struct rest_connection, reading);
        int64_t limit_ns = rest->spins && connection->chunked ? SPIN_STALL_NS : STALL_NS;
        if (now - connection->progress_ns >= limit_ns)
            hang_up(connection);
    }
    set_stall_timer(rest);
}

void rest_connections_start(struct rest *rest)
{
    rest->stall_timer = (struct loop_timer){ .expired = on_stall_timer, .context = rest };
}

void rest_connections_stop(struct rest *rest)
{
    loop_clear_timer(rest->server->loop, &rest->stall_timer);
}

void rest_connections_after_run(struct rest *rest)
{
    rest->idle_runs = rest->unfinished && !rest->progressed ? rest->idle_runs + 1 : 0;
    rest->progressed = false;
    set_stall_timer(rest);
}

/* ---- clients that have disconnected ---- */

/* Everything that the client sent has been read, and no complete request is left. */
static bool is_abandoned(const struct rest_connection *connection)
{
    int unread = 0;
    if (connection->request != NULL && connection->request->state > REQUEST_READING)
        return false;
    return ioctl(connection->fd, FIONREAD, &unread) != 0 || unread == 0;
}

void rest_connections_close_disconnected(struct rest *rest)
{
    for (struct list_link *at = rest->disconnected, *next; at != NULL; at = next) {
        struct rest_connection *connection = CONTAINER_OF(at, struct rest_connection, disconnected);
        next = at->next;
        if (!is_abandoned(connection))
            continue;
        list_remove(at);
        hang_up(connection);
    }
}
