#include "trainer/job/monitor.h"

#include <stdio.h>
#include <string.h>

#define SNAPSHOT_TIMEOUT_MS 30000
#define LOOK_MS             5 /* between two checks of an evaluation that the chief waits for */
#define JUDGED_MS           1 /* the same, if all workers wait for its verdict */

void monitor_init(struct monitor *monitor, const struct monitor_options *options,
                  const struct checkpoint_layout *layout, const struct ps_client *client,
                  bool waits)
{
    *monitor = (struct monitor){ .options = options, .layout = *layout, .waits = waits };
    monitor->last_step =
        options->evaluated_step > 0 ? options->evaluated_step : client->global_step;
    struct ps_client_options mine = client->options;
    mine.second = true; /* its snapshot does not wait for a checkpoint's */
    client_init(&monitor->client, &mine);
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

/* The chief may go on: what is left of the evaluation is to write the best values. */
static void judge(const struct evaluating *evaluating)
{
    evaluating->monitor->verdict = evaluating->verdict;
    atomic_store(&evaluating->monitor->judged, true);
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
    judge(evaluating);
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
    judge(evaluating);
    options->settled(options->context, true);
    return status_ok();
}

static bool takes_snapshot(const struct monitor *monitor, const struct saver *saver)
{
    return placement_has_sparse(monitor->layout.placement) ||
           (monitor->options->best != NULL && saver != NULL);
}

/* Evaluates these values of a step, or those of a snapshot. Only the best values are written with
 * their slots. */
static struct status evaluate(struct evaluating *evaluating, uint64_t step,
                              const void *const *values, struct ps_client *client,
                              struct saver *saver)
{
    if (!takes_snapshot(evaluating->monitor, saver))
        return evaluate_values(evaluating, step, values);
    if (saver != NULL)
        return saver_snapshot(saver, client, evaluating->monitor->options->best != NULL,
                              evaluate_snapshot, evaluating);
    return evaluate_rows(evaluating, client);
}

/* Pulls the values for the chief's next step again, because its client has read the snapshot. */
static struct status evaluate_here(struct evaluating *evaluating, struct ps_client *client)
{
    TRY(evaluate_rows(evaluating, client));
    return client_pull_again(client);
}

/* ---- in a thread, while the chief continues or waits for the verdict ---- */

static void *run(void *context)
{
    struct monitor *monitor = context;
    struct evaluating evaluating = { monitor, monitor->layout.placement, &monitor->enough, { 0 } };

    monitor->status = status_hold(
        evaluate(&evaluating, monitor->step, monitor->shown, &monitor->client, monitor->saver));
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
    monitor->shown = client->values; /* they stay as they are while the chief waits */
    if (!monitor->waits && !takes_snapshot(monitor, saver)) {
        copy_values(monitor, client);
        monitor->shown = (const void *const *)monitor->values->data;
    }
    client_follow(&monitor->client, client);
    monitor->saver = saver;
    monitor->step = client->global_step;
    monitor->verdict = (struct verdict){ 0 };
    atomic_store(&monitor->enough, false);
    atomic_store(&monitor->judged, false);
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

/* Waits for the evaluation, and not for what it then writes: a disk may be slow. */
static struct status await_verdict(struct monitor *monitor, const _Atomic bool *enough,
                                   struct verdict *verdict)
{
    while (!atomic_load(&monitor->judged) && !atomic_load(&monitor->over)) {
        if (atomic_load(enough))
            interrupt(monitor);
        clock_sleep(monitor->client.calls.clock, JUDGED_MS);
    }
    if (!atomic_load(&monitor->judged))
        return end_behind(monitor, verdict);
    *verdict = monitor->verdict;
    return status_ok();
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

/* ---- a step ---- */

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

/* The workers of a synchronous job stop at the step at which the verdict says so. */
static struct status step_waiting(struct monitor *monitor, struct ps_client *client,
                                  struct saver *saver, const _Atomic bool *enough)
{
    struct evaluating evaluating = { monitor, client->options.placement, enough, { 0 } };
    struct verdict verdict = { 0 };

    if (!monitor_is_due(monitor, client->global_step))
        return status_ok();
    TRY(wait_behind(monitor, enough, &verdict)); /* it may still write the best values */
    if (takes_snapshot(monitor, saver) && saver == NULL) {
        TRY(evaluate_here(&evaluating, client));
        verdict = evaluating.verdict;
    } else {
        TRY(begin_behind(monitor, client, saver));
        TRY(await_verdict(monitor, enough, &verdict));
    }
    monitor->last_step = client->global_step;
    return verdict.stop ? client_stop(client) : status_ok();
}

struct status monitor_step(struct monitor *monitor, struct ps_client *client, struct saver *saver,
                           const _Atomic bool *enough)
{
    return monitor->waits ? step_waiting(monitor, client, saver, enough)
                          : step_behind(monitor, client, saver, enough);
}
