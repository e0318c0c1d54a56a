#include "trainer/job/monitor.h"

#include <stdio.h>

#define SNAPSHOT_TIMEOUT_MS 30000

void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, uint64_t step)
{
    *monitor = (struct monitor){ .options = options, .layout = *layout };
    monitor->last_step = options->evaluated_step > 0 ? options->evaluated_step : step;
}

void monitor_finish(struct monitor *monitor)
{
    all_values_destroy(monitor->values);
    monitor->values = NULL;
}

bool monitor_is_due(const struct monitor *monitor, uint64_t step)
{
    uint64_t every = monitor->options->every_steps;

    return every > 0 && step / every > monitor->last_step / every;
}

struct evaluating {
    struct monitor *monitor;
    const struct placement *placement;
    const _Atomic bool *enough;
    struct verdict verdict;
};

struct best_writer {
    const struct checkpoint_layout *layout;
    struct client_snapshot *snapshot;
};

static struct status write_best(void *context, const char *prefix)
{
    const struct best_writer *writer = context;

    return checkpoint_write(writer->layout, writer->snapshot, prefix);
}

/* A full disk costs this one checkpoint, not the job. */
static void keep_best(const struct monitor *monitor, struct client_snapshot *snapshot)
{
    const struct monitor_options *options = monitor->options;
    struct best_writer writer = { &monitor->layout, snapshot };
    char text[1024];

    if (checkpoint_dir_has_step(options->best, snapshot->global_step)) {
        options->settled(options->context, true);
        return;
    }
    struct status status =
        checkpoint_dir_add(options->best, snapshot->global_step, write_best, &writer);
    if (!status_is_ok(status)) {
        snprintf(text, sizeof text, "the best checkpoint, of step %llu, was not written: %s",
                 (unsigned long long)snapshot->global_step, status.message);
        options->warn(options->context, text);
    }
    options->settled(options->context, status_is_ok(status));
}

static struct status evaluate_snapshot(void *context, struct client_snapshot *snapshot)
{
    struct evaluating *evaluating = context;
    struct monitor *monitor = evaluating->monitor;
    const struct monitor_options *options = monitor->options;

    if (monitor->values == NULL)
        monitor->values = all_values_create(evaluating->placement, false);
    TRY(all_values_read(monitor->values, &snapshot->source, evaluating->enough));
    TRY(options->evaluate(options->context, snapshot->global_step,
                          (const void *const *)monitor->values->data, snapshot, evaluating->enough,
                          &evaluating->verdict));
    if (evaluating->verdict.best && options->best != NULL)
        keep_best(monitor, snapshot);
    else
        options->settled(options->context, true);
    return status_ok();
}

static bool has_sparse(const struct placement *placement)
{
    for (int v = 0; v < placement->variables_count; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            return true;
    return false;
}

/* Of a table, the chief has only the rows of its next batch: the evaluation reads those of its own
 * batches from a snapshot. The values that the next step needs are pulled again, as reading the
 * snapshot has used the client. */
static struct status evaluate_rows(struct evaluating *evaluating, struct ps_client *client)
{
    struct client_snapshot snapshot;

    TRY(client_snapshot_begin(client, false, SNAPSHOT_TIMEOUT_MS, &snapshot));
    struct status held = status_hold(evaluate_snapshot(evaluating, &snapshot));
    client_snapshot_end(&snapshot);
    TRY(status_resume(held));
    return client_pull_again(client);
}

static struct status evaluate_values(struct evaluating *evaluating, const struct ps_client *client)
{
    const struct monitor_options *options = evaluating->monitor->options;

    TRY(options->evaluate(options->context, client->global_step, client->values, NULL,
                          evaluating->enough, &evaluating->verdict));
    options->settled(options->context, true);
    return status_ok();
}

struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough)
{
    struct evaluating evaluating = { monitor, client->options.placement, enough, { 0 } };

    if (!monitor_is_due(monitor, client->global_step))
        return status_ok();
    if (monitor->options->best != NULL && saver != NULL)
        TRY(saver_snapshot(saver, evaluate_snapshot, &evaluating));
    else if (has_sparse(client->options.placement))
        TRY(evaluate_rows(&evaluating, client));
    else
        TRY(evaluate_values(&evaluating, client));
    monitor->last_step = client->global_step;
    return evaluating.verdict.stop ? client_stop(client) : status_ok();
}
