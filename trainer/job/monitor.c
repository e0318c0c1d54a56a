#include "trainer/job/monitor.h"

#include <stdio.h>
#include <string.h>

#define SNAPSHOT_TIMEOUT_MS 30000
#define LOOK_MS             5 /* between two checks of an evaluation that the chief waits for */

void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, const struct ps_client *client,
                  bool waits)
{
    *monitor = (struct monitor){ .options = options, .layout = *layout, .waits = waits };
    monitor->last_step =
        options->evaluated_step > 0 ? options->evaluated_step : client->global_step;
    client_init(&monitor->client, &client->options);
}

void monitor_finish(struct monitor *monitor)
{
    monitor_drop(monitor);
    all_values_destroy(monitor->values);
    client_finish(&monitor->client);
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

/* The chief has only the rows of a table for its next batch, so the evaluation reads those of
 * its own batches from a snapshot. */
static struct status evaluate_rows(struct evaluating *evaluating, struct ps_client *client)
{
    struct client_snapshot snapshot;

    TRY(client_snapshot_begin(client, false, SNAPSHOT_TIMEOUT_MS, &snapshot));
    struct status held = status_hold(evaluate_snapshot(evaluating, &snapshot));
    client_snapshot_end(&snapshot);
    return status_resume(held);
}

static struct status evaluate_values(struct evaluating *evaluating, uint64_t step,
                                     const void *const *values)
{
    const struct monitor_options *options = evaluating->monitor->options;

    TRY(options->evaluate(options->context, step, values, NULL, evaluating->enough,
                          &evaluating->verdict));
    options->settled(options->context, true);
    return status_ok();
}

static bool takes_snapshot(const struct monitor *monitor, const struct saver *saver)
{
    return placement_has_sparse(monitor->layout.placement) ||
           (monitor->options->best != NULL && saver != NULL);
}

/* Evaluates these values of a step, or those of a snapshot. A task can have one snapshot at a
 * time: the saver's if there is one, otherwise the client's. */
static struct status evaluate(struct evaluating *evaluating, uint64_t step,
                              const void *const *values, struct ps_client *client,
                              struct saver *saver)
{
    if (!takes_snapshot(evaluating->monitor, saver))
        return evaluate_values(evaluating, step, values);
    if (saver != NULL)
        return saver_snapshot(saver, evaluate_snapshot, evaluating);
    return evaluate_rows(evaluating, client);
}

/* Pulls the values for the chief's next step again if its client has read the snapshot. */
static struct status evaluate_here(struct evaluating *evaluating, struct ps_client *client,
                                   struct saver *saver)
{
    bool reads = takes_snapshot(evaluating->monitor, saver) && saver == NULL;

    TRY(evaluate(evaluating, client->global_step, client->values, client, saver));
    return reads ? client_pull_again(client) : status_ok();
}

/* ---- While the chief continues. ---- */

static void *run(void *context)
{
    struct monitor *monitor = context;
    struct evaluating evaluating = { monitor, monitor->layout.placement, &monitor->enough, { 0 } };
    const void *const *values =
        monitor->values != NULL ? (const void *const *)monitor->values->data : NULL;

    monitor->status =
        status_hold(evaluate(&evaluating, monitor->step, values, &monitor->client, monitor->saver));
    monitor->verdict = evaluating.verdict;
    atomic_store(&monitor->over, true);
    return NULL;
}

static void copy_values(struct monitor *monitor, const struct ps_client *client)
{
    const struct placement *placement = monitor->layout.placement;

    if (monitor->values == NULL)
        monitor->values = all_values_create(placement, false);
    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        memcpy(monitor->values->data[v], client->values[v],
               (size_t)shape_size(&variable->shape) * dtype_size(variable->dtype));
    }
}

static struct status begin_behind(struct monitor *monitor, const struct ps_client *client,
                                  struct saver *saver)
{
    if (!takes_snapshot(monitor, saver))
        copy_values(monitor, client);
    client_follow(&monitor->client, client);
    monitor->saver = saver;
    monitor->step = client->global_step;
    atomic_store(&monitor->enough, false);
    atomic_store(&monitor->over, false);
    monitor->runs = pthread_create(&monitor->thread, NULL, run, monitor) == 0;
    return monitor->runs ? status_ok()
                         : status_error(STATUS_RESOURCE_EXHAUSTED, "cannot start a thread");
}

/* The evaluation has ended, or is about to. */
static struct status end_behind(struct monitor *monitor, struct verdict *verdict)
{
    *verdict = (struct verdict){ 0 };
    if (!monitor->runs)
        return status_ok();
    pthread_join(monitor->thread, NULL);
    monitor->runs = false;
    atomic_store(&monitor->over, false);
    *verdict = monitor->verdict;
    return status_resume(monitor->status);
}

static void interrupt(struct monitor *monitor)
{
    atomic_store(&monitor->enough, true);
    client_interrupt(&monitor->client);
}

static struct status wait_behind(struct monitor *monitor, const _Atomic bool *enough,
                                 struct verdict *verdict)
{
    while (monitor->runs && !atomic_load(&monitor->over)) {
        if (atomic_load(enough))
            interrupt(monitor);
        clock_sleep(monitor->client.calls.clock, LOOK_MS);
    }
    return end_behind(monitor, verdict);
}

struct status monitor_wait(struct monitor *monitor, const _Atomic bool *enough)
{
    struct verdict verdict;

    return wait_behind(monitor, enough, &verdict);
}

void monitor_drop(struct monitor *monitor)
{
    struct verdict verdict;

    while (monitor->runs && !atomic_load(&monitor->over)) {
        interrupt(monitor);
        if (monitor->saver != NULL)
            saver_interrupt(monitor->saver);
        clock_sleep(monitor->client.calls.clock, LOOK_MS);
    }
    status_ignore(end_behind(monitor, &verdict));
}

/* ---- A step. ---- */

static struct status step_behind(struct monitor *monitor, struct ps_client *client,
                                 struct saver *saver, const _Atomic bool *enough)
{
    struct verdict verdict = { 0 };
    bool due = monitor_is_due(monitor, client->global_step);

    if (due || atomic_load(&monitor->over))
        TRY(wait_behind(monitor, enough, &verdict));
    if (due)
        monitor->last_step = client->global_step;
    if (verdict.stop)
        return client_stop(client);
    return due ? begin_behind(monitor, client, saver) : status_ok();
}

struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough)
{
    struct evaluating evaluating = { monitor, client->options.placement, enough, { 0 } };

    if (!monitor->waits)
        return step_behind(monitor, client, saver, enough);
    if (!monitor_is_due(monitor, client->global_step))
        return status_ok();
    TRY(evaluate_here(&evaluating, client, saver));
    monitor->last_step = client->global_step;
    return evaluating.verdict.stop ? client_stop(client) : status_ok();
}
