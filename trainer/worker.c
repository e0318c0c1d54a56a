#include "trainer/worker.h"

#include <math.h>

#define RETRY_MS 200

static void note_step(struct progress *progress, const struct client *client, float loss)
{
    uint64_t seen = atomic_load_explicit(&progress->global_step, memory_order_relaxed);

    while (seen < client->global_step &&
           !atomic_compare_exchange_weak(&progress->global_step, &seen, client->global_step))
        ;
    atomic_store_explicit(&progress->loss, loss, memory_order_relaxed);
}

static void note_begin(struct progress *progress, const struct client *client)
{
    int64_t none = 0;

    if (atomic_compare_exchange_strong(&progress->began_ns, &none,
                                       clock_now_ns(client->calls.clock)))
        atomic_store(&progress->first_step, client->global_step);
}

struct status worker_steps(struct client *client, struct gradient_source *source,
                           uint64_t stop_step, struct progress *progress)
{
    const float *const *gradients;
    float loss;

    TRY(client_pull(client));
    note_begin(progress, client);
    while (client->global_step < stop_step) {
        if (atomic_load_explicit(&progress->stop, memory_order_relaxed))
            return status_error(STATUS_CANCELLED, "stopped at step %llu",
                                (unsigned long long)client->global_step);
        TRY(source->step(source, client->values, &gradients, &loss));
        if (!isfinite(loss))
            return status_error(STATUS_OUT_OF_RANGE,
                                "the loss is %g at step %llu: try a smaller --learning_rate",
                                (double)loss, (unsigned long long)client->global_step);
        TRY(client_push(client, gradients, true));
        note_step(progress, client, loss);
    }
    return status_ok();
}

/* The job's outcome by ps 0, told on to the other ps tasks: the chief may not have reached them. */
static struct status await_outcome(struct client *client, const struct progress *progress)
{
    struct status outcome = client_await(client, true, -1);

    while (outcome.code == STATUS_UNAVAILABLE && !client->told && !atomic_load(&progress->stop)) {
        clock_sleep(client->calls.clock, RETRY_MS);
        outcome = client_await(client, true, -1);
    }
    if (client->told)
        status_ignore(client_report(client, outcome, true));
    return outcome;
}

struct status worker_run(struct client *client, struct gradient_source *source, uint64_t stop_step,
                         int64_t start_timeout_ms, struct progress *progress)
{
    TRY(status_in(client_join(client, true, start_timeout_ms), "worker %u waits for the variables",
                  client->options.index));
    if (client->finished)
        return await_outcome(client, progress); /* it came too late: the steps are done */
    struct status status = worker_steps(client, source, stop_step, progress);
    if (status.code == STATUS_CANCELLED && !atomic_load(&progress->stop))
        return await_outcome(client, progress); /* the job ended before its last step */
    /* Who cannot report any more is missed at the end by the chief, which says so. */
    status_ignore(client_report(client, status, false));
    return status_is_ok(status) ? await_outcome(client, progress) : status;
}
