#include "server/round.h"

#include "base/clock.h"
#include "base/container.h"

#define ROUND_NS NS_PER_MS /* limit of the polling for more calls in a round */

/* Limit of the concurrent calls: one per HTTP/1 connection, and for gRPC the recent peak or one
 * per connection, whichever is larger. */
static int most_waiting(const struct round *round)
{
    int most = round->rest != NULL ? rest_connections(round->rest) : 0;
    if (round->grpc == NULL)
        return most;
    int expected = grpc_service_recent_calls_peak(round->grpc);
    int connections = round->port != NULL ? grpc_port_connections(round->port) : 0;
    return most + (expected > connections ? expected : connections);
}

/* Could another poll bring a call that shares the run? Not if every client already waits for an
 * answer. */
static bool worth_another_poll(struct round *round, int waiting)
{
    int64_t now = clock_now_ns(clock_monotonic());
    if (round->seen_waiting == 0)
        round->began_ns = now;
    if (waiting <= round->seen_waiting)
        return false;
    struct inference *inference = round->server->inference;
    inference_expect(inference, most_waiting(round));
    return !inference_is_complete(inference) && !inference_is_full(inference) &&
           now - round->began_ns < ROUND_NS;
}

/* Updates a server-wide gauge with this loop's connections. */
static void count_connections(const char *protocol, int now, const struct metric_series **level,
                              int *counted)
{
    if (now == *counted)
        return;
    if (*level == NULL)
        *level = metric_series(METRIC_CONNECTIONS, METRIC_LABELS(bytes_of(protocol)));
    metric_add(*level, (uint64_t)(int64_t)(now - *counted));
    *counted = now;
}

static void count(struct loop_task *task)
{
    struct round *round = CONTAINER_OF(task, struct round, count);
    if (round->rest != NULL)
        count_connections("REST", rest_connections(round->rest), &round->rest_level,
                          &round->rest_counted);
    if (round->port != NULL)
        count_connections("GRPC", grpc_port_connections(round->port), &round->grpc_level,
                          &round->grpc_counted);
}

bool round_run(void *context)
{
    struct round *round = context;
    count(&round->count);
    round->count.work = count; /* again, after the connections that end now */
    loop_defer(round->server->loop, &round->count);
    struct inference *inference = round->server->inference;
    int waiting = inference_waiting(inference);
    if (waiting > 0) {
        bool again = worth_another_poll(round, waiting);
        round->seen_waiting = waiting;
        if (again)
            return true;
        inference_run(inference);
    }
    round->seen_waiting = 0;
    bool unfinished = round->rest != NULL && rest_answer(round->rest);
    if (round->rest != NULL)
        rest_set_leader(round->rest,
                        round->port == NULL || grpc_port_connections(round->port) == 0);
    return unfinished || inference_waiting(inference) > 0;
}
