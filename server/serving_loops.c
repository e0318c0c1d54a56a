#include "server/serving_loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/container.h"

/* ---- making and running them ---- */

struct status serving_loops_create(struct serving_loops *loops,
                                   const struct serving_options *options, int count)
{
    struct status status = status_ok();
    loops->items = zalloc((size_t)count * sizeof(struct serving_loop *));
    while (status_is_ok(status) && loops->count < count) {
        status = serving_loop_create(options, loops->count, &loops->items[loops->count]);
        loops->count++; /* even after a failure: serving_loops_close ends the loops that exist */
    }
    return status_in(status, "event loop %d of %d (--rest_api_num_threads)", loops->count, count);
}

struct status serving_loops_start(struct serving_loops *loops)
{
    for (int i = 1; i < loops->count; i++)
        TRY(serving_loop_start(loops->items[i], serving_loops_main(loops)));
    return status_ok();
}

struct status serving_loops_run(struct serving_loops *loops)
{
    struct status status = serving_loop_run(loops->items[0]);
    for (int i = 1; i < loops->count; i++) {
        struct status other = serving_loop_join(loops->items[i]);
        if (status_is_ok(status))
            status = other;
    }
    return status;
}

void serving_loops_set_manager(struct serving_loops *loops, struct manager *manager)
{
    for (int i = 0; i < loops->count; i++)
        loops->items[i]->context.manager = manager;
}

void serving_loops_changed(struct serving_loops *loops)
{
    for (int i = 0; i < loops->count; i++)
        serving_loop_post_changed(loops->items[i]);
}

/* ---- connections ---- */

/* A connection on its way to a loop. */
struct connection_handoff {
    struct loop_task task;
    struct serving_loop *to;
    struct serving_connection connection;
};

static void take(struct loop_task *task)
{
    struct connection_handoff *dealt = CONTAINER_OF(task, struct connection_handoff, task);
    serving_loop_take(dealt->to, &dealt->connection);
    free(dealt);
}

/* The loop with the fewest connections of this protocol; among equals, the one with the fewest
 * of both protocols, then the first. */
static struct serving_loop *choose(const struct serving_loops *loops,
                                   enum serving_protocol protocol)
{
    struct serving_loop *best = NULL;
    int best_load = 0, best_total = 0;
    for (int i = 0; i < loops->count; i++) {
        int load = serving_loop_load(loops->items[i], protocol);
        int total = serving_loop_load(loops->items[i], SERVING_REST) +
                    serving_loop_load(loops->items[i], SERVING_GRPC);
        if (best != NULL && (load > best_load || (load == best_load && total >= best_total)))
            continue;
        best = loops->items[i];
        best_load = load;
        best_total = total;
    }
    return best;
}

static void deal(struct serving_loops *loops, const struct serving_connection *connection)
{
    struct serving_loop *to = choose(loops, connection->protocol);
    to->dealt[connection->protocol]++;
    if (to == loops->items[0]) {
        serving_loop_take(to, connection);
        return;
    }
    struct connection_handoff *dealt = zalloc(sizeof *dealt);
    *dealt = (struct connection_handoff){ .task.work = take, .to = to, .connection = *connection };
    loop_post(to->context.loop, &dealt->task);
}

void serving_loops_accept_rest(void *context, int fd, enum listener_protocol protocol,
                               const struct sockaddr *address, socklen_t address_size)
{
    struct serving_connection connection = {
        .protocol = SERVING_REST, .speaks = protocol, .fd = fd, .address_size = address_size
    };
    memcpy(&connection.address, address, address_size);
    deal(context, &connection);
}

void serving_loops_accept_grpc(void *context, int fd)
{
    deal(context, &(struct serving_connection){ .protocol = SERVING_GRPC, .fd = fd });
}

/* If REST is encrypted, the TLS handshake identifies the protocol. */
void serving_loops_accept_either(void *context, int fd, enum listener_protocol protocol,
                                 const struct sockaddr *address, socklen_t address_size)
{
    const struct serving_loops *loops = context;
    bool encrypted = protocol == LISTENER_TLS && loops->items[0]->context.rest_tls != NULL;
    if (protocol == LISTENER_HTTP1 || encrypted)
        serving_loops_accept_rest(context, fd, protocol, address, address_size);
    else
        serving_loops_accept_grpc(context, fd);
}

/* ---- the end ---- */

static void on_drained(void *context)
{
    struct serving_loops *loops = context;
    if (--loops->draining == 0)
        loops->drained(loops->drained_context);
}

/* Until the ports open, only the first loop runs. The others would never report that they
 * drained. */
static int count_running(const struct serving_loops *loops)
{
    int count = 1;
    while (count < loops->count && loops->items[count]->has_thread)
        count++;
    return count;
}

void serving_loops_drain(struct serving_loops *loops, void (*drained)(void *context), void *context)
{
    loops->drained = drained;
    loops->drained_context = context;
    int running = count_running(loops);
    loops->draining = running;
    for (int i = 0; i < running; i++)
        serving_loop_post_drain(loops->items[i], serving_loops_main(loops), on_drained, loops);
}

void serving_loops_close(struct serving_loops *loops)
{
    for (int i = 0; i < loops->count; i++)
        serving_loop_end_calls(loops->items[i]);
    for (int i = 0; i < loops->count; i++)
        serving_loop_close_connections(loops->items[i]);
}

void serving_loops_destroy(struct serving_loops *loops)
{
    for (int i = 0; i < loops->count; i++)
        serving_loop_destroy(loops->items[i]);
    free(loops->items);
    *loops = (struct serving_loops){ 0 };
}
