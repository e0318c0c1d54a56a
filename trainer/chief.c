#include "trainer/chief.h"

#include "base/arena.h"

static struct status create_variables(struct client *client, const struct chief_options *options)
{
    struct arena *arena = arena_create(0);
    struct status status =
        client_create(client, &options->job, options->first_values(options->context, arena));

    arena_destroy(arena);
    return status;
}

static struct status chief_work(struct client *client, struct gradient_source *source,
                                const struct chief_options *options, struct progress *progress)
{
    TRY(create_variables(client, options));
    TRY(worker_steps(client, source, options->job.stop_step, progress));
    TRY(client_report(client, status_ok(), false));
    struct status waited = client_await(client, false, options->finish_timeout_ms);
    atomic_store(&progress->ended_ns, clock_now_ns(client->calls.clock));
    if (waited.code == STATUS_DEADLINE_EXCEEDED)
        options->warn(options->context, "a worker has not finished in time; going on without it");
    else
        TRY(waited);
    TRY(client_pull(client));
    return options->conclude(options->context, client);
}

struct status chief_run(struct client *client, struct gradient_source *source,
                        const struct chief_options *options, struct progress *progress)
{
    TRY(status_in(client_join(client, false, options->start_timeout_ms), "the chief joins"));
    struct status status = chief_work(client, source, options, progress);
    /* If no ps can be told, each ends by its own time limits; what counts here is how the work
     * went. */
    status_ignore(client_report(client, status, true));
    return status;
}
