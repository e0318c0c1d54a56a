#include "trainer/job/chief.h"

#include <stdio.h>

#include "base/arena.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/saver.h"

#define RETRY_MS 50
#define CHECK_MS 1000 /* between two checks of the ps tasks while the chief waits for workers */

struct chief {
    const struct chief_options *options;
    struct ps_client *client;
    struct gradient_source *source;
    struct progress *progress;
    struct saver *saver; /* NULL: no checkpoints, or training has not begun */
    struct monitor monitor;
    bool watches;       /* the monitor is initialised */
    uint64_t stop_step; /* the options', or an earlier one at which the job stops */
};

static unsigned long long step_of(const struct chief *chief)
{
    return chief->client->global_step;
}

/* ---- the step at which the job begins ---- */

/* The position at which a synchronous job begins in its rows. A checkpoint without one is
 * assumed to come from the current number of workers. */
static struct row_place place_of(const struct client_job *job, struct row_place given)
{
    if (given.readers > 0)
        return given;
    return (struct row_place){ job->workers, 0, job->global_step * job->units_per_step };
}

static struct status begin_anew(struct chief *chief)
{
    const struct chief_options *options = chief->options;
    struct arena *arena = arena_create(0);
    struct client_job job = options->job;
    struct initial_values first = { .fill_rows = options->fill_rows,
                                    .taken_begin = options->taken_begin,
                                    .taken_next = options->taken_next,
                                    .context = options->context };

    job.stop_step = chief->stop_step;
    job.place = place_of(&job, (struct row_place){ 0 });
    struct status status = options->initial_values(options->context, arena, &first.whole);
    if (status_is_ok(status))
        status = client_create_from(chief->client, &job, &first);
    else /* the text may be in the arena */
        status = status_error(status.code, "the first values: %s", status.message);
    arena_destroy(arena);
    return status;
}

static struct status begin_from(struct chief *chief, const char *prefix)
{
    struct client_job job = chief->options->job;
    struct checkpoint_layout layout;
    struct checkpoint *checkpoint;

    TRY(checkpoint_layout_init(&layout, chief->client->options.placement, &job));
    TRY(checkpoint_open(&layout, prefix, &checkpoint));
    job.global_step = checkpoint->global_step;
    job.stop_step = chief->stop_step;
    job.scalars = checkpoint->scalars;
    job.loss_scale = checkpoint->loss_scale;
    job.position = checkpoint->position;
    job.position_count = job.sync ? 0 : checkpoint->position_count;
    job.place = place_of(&job, checkpoint->place);
    struct status status = client_begin(chief->client, &job, &checkpoint->state);
    if (status_is_ok(status)) {
        progress_say(chief->progress, "Restored %s, step %llu", prefix, step_of(chief));
        if (step_of(chief) >= chief->stop_step)
            progress_say(chief->progress, "No step is left: the last one is step %llu",
                         (unsigned long long)chief->stop_step);
        if (!checkpoint->has_global_step)
            progress_say(chief->progress, "%s has no global_step: counting from 0", prefix);
        if (checkpoint->slots_missing > 0)
            progress_say(chief->progress,
                         "%s has no '%s' (%d such slots of %s are missing): they start with their "
                         "initial values",
                         prefix, checkpoint->slot_missing, checkpoint->slots_missing,
                         layout.optimizers[0].optimizer->name);
    }
    checkpoint_close(checkpoint);
    return status;
}

/* Is the checkpoint damaged, so that an earlier one may be intact? */
static bool is_damage(struct status status)
{
    return status.code == STATUS_NOT_FOUND || status.code == STATUS_DATA_LOSS ||
           status.code == STATUS_OUT_OF_RANGE;
}

static struct status begin_from_last(struct chief *chief)
{
    const struct checkpoint_dir *dir = chief->options->checkpoints.dir;
    struct arena *arena = arena_create(0);
    struct status status = status_ok();

    for (int i = 0; i < checkpoint_dir_count(dir); i++) {
        status = begin_from(chief, checkpoint_dir_at(dir, i, arena));
        if (!is_damage(status))
            break;
        if (i < checkpoint_dir_count(dir) - 1) /* the steps since then are lost */
            chief->options->warn(chief->options->context,
                                 arena_printf(arena, "%s; trying the one before", status.message));
    }
    arena_destroy(arena);
    return status;
}

/* The previous chief may have died after its push had reached only some ps tasks. The first
 * checkpoint needs all of them at the same step. */
static struct status complete_step(struct chief *chief)
{
    struct ps_client *client = chief->client;

    TRY(client_pull(client));
    if (!client->torn)
        return status_ok();
    return worker_steps(client, chief->source, client->global_step + 1, chief->progress, NULL);
}

static bool has_checkpoint(const struct chief *chief)
{
    const struct checkpoint_dir *dir = chief->options->checkpoints.dir;

    return dir != NULL && checkpoint_dir_count(dir) > 0;
}

/* The workers end at the last step that the earlier chief has set. A chief that stopped before
 * would leave them alone, and a synchronous step cannot be made without it. */
static void keep_last_step(struct chief *chief)
{
    uint64_t last = chief->client->stop_step;

    if (last <= chief->stop_step)
        return;
    progress_say(chief->progress, "Training ends at step %llu, as it was begun, and not at %llu",
                 (unsigned long long)last, (unsigned long long)chief->stop_step);
    chief->stop_step = last;
}

/* The ps tasks keep the optimizers of the chief that made the variables. */
static void compare_optimizers(const struct chief *chief)
{
    struct arena *arena = arena_create(0);
    const char *mine = client_job_text(&chief->options->job, arena),
               *theirs = chief->client->trains;

    if (strcmp(mine, theirs) != 0)
        chief->options->warn(
            chief->options->context,
            arena_printf(arena,
                         "training goes on with '%s', as it was begun. The flags say '%s': they "
                         "take effect only if training continues from a checkpoint "
                         "(--checkpoint_dir)",
                         theirs, mine));
    arena_destroy(arena);
}

/* Begins with the last checkpoint; without one, with the values that the ps tasks hold from an
 * earlier chief; without these, with initial values. */
static struct status begin(struct chief *chief)
{
    if (has_checkpoint(chief))
        return begin_from_last(chief);
    if (!chief->client->open)
        return begin_anew(chief);
    progress_say(chief->progress,
                 "The ps tasks hold the variables of step %llu: continuing with them",
                 step_of(chief));
    keep_last_step(chief);
    compare_optimizers(chief);
    return complete_step(chief);
}

/* Begins again if a ps is lost before it has its variables. */
static struct status begin_with_retries(struct chief *chief)
{
    struct clock *clock = chief->client->calls.clock;
    int64_t until = clock_deadline_ns(clock, chief->options->recovery_timeout_ms);
    struct status status = begin(chief);

    while (worker_can_rejoin(status, chief->client, chief->progress) &&
           clock_now_ns(clock) < until) {
        clock_sleep(clock, RETRY_MS);
        TRY(client_join(chief->client, false, chief->options->recovery_timeout_ms));
        status = begin(chief);
    }
    return status;
}

static struct status start_saver(struct chief *chief)
{
    const struct chief_options *options = chief->options;
    const struct chief_checkpoints *checkpoints = &options->checkpoints;
    struct saver_options saver = { .dir = checkpoints->dir,
                                   .every_ms = checkpoints->every_ms,
                                   .every_steps = checkpoints->every_steps,
                                   .channels = checkpoints->channels,
                                   .warn = options->warn,
                                   .context = options->context };

    if (checkpoints->dir == NULL || chief->saver != NULL)
        return status_ok();
    TRY(checkpoint_layout_init(&saver.layout, chief->client->options.placement, &options->job));
    return saver_start(&saver, chief->client, &chief->saver);
}

/* ---- the end of the job ---- */

/* Waits for the workers, and checks the ps tasks periodically: if one is lost, the workers
 * cannot finish, and the wait would not end. */
static struct status await_workers(struct chief *chief)
{
    struct ps_client *client = chief->client;
    int64_t until = clock_deadline_ns(client->calls.clock, chief->options->finish_timeout_ms);

    for (;;) {
        struct status status = client_await(client, false, CHECK_MS);
        /* A check that times out may end with either code. */
        if (status.code != STATUS_DEADLINE_EXCEEDED && status.code != STATUS_UNAVAILABLE)
            return status;
        TRY(client_check(client));
        if (clock_now_ns(client->calls.clock) >= until)
            return status_error(STATUS_DEADLINE_EXCEEDED,
                                "the workers have not finished within %lld s",
                                (long long)chief->options->finish_timeout_ms / 1000);
    }
}

static void warn_of_workers(struct chief *chief)
{
    const struct chief_options *options = chief->options;
    char whom[256], text[512];

    client_describe_wait(chief->client, 0, whom, sizeof whom);
    snprintf(text, sizeof text, "--finish_timeout (%lld s) has passed: no longer waiting for %s",
             (long long)options->finish_timeout_ms / 1000, *whom != '\0' ? whom : "the workers");
    options->warn(options->context, text);
}

/* Did a save fail because of its disk? The export may still succeed: it may be smaller, or go to
 * another disk. */
static bool is_disk_failure(struct status status)
{
    return status.code != STATUS_ABORTED && status.code != STATUS_CANCELLED &&
           status.code != STATUS_UNAVAILABLE;
}

/* Writes the last checkpoint, then tests and exports. If only this or the first checkpoint fails,
 * the job fails, but the model is exported. */
static struct status save_and_conclude(struct chief *chief)
{
    const struct chief_options *options = chief->options;
    char text[1024];

    TRY(client_pull(chief->client));
    TRY(client_check_values(chief->client));
    struct status saved = chief->saver != NULL ? saver_finish(chief->saver) : status_ok();
    if (!status_is_ok(saved) && !is_disk_failure(saved))
        return saved;
    snprintf(text, sizeof text, "%s", saved.message);
    TRY(options->conclude(options->context, chief->client));
    return status_is_ok(saved) ? saved : status_error(saved.code, "%s", text);
}

/* Evaluates the values of the step just made, which are client->values, if that is due. */
static struct status evaluate(struct chief *chief)
{
    struct ps_client *client = chief->client;

    TRY(monitor_step(&chief->monitor, client, chief->saver, &chief->progress->stop));
    chief->stop_step = worker_last_step(client, chief->stop_step);
    return status_ok();
}

static struct status check(void *context)
{
    const struct chief *chief = context;

    return chief->saver != NULL ? saver_check(chief->saver) : status_ok();
}

static struct status stepped(void *context, uint64_t global_step, const float *loss)
{
    struct chief *chief = context;

    if (chief->saver != NULL)
        saver_step(chief->saver, global_step);
    if (chief->options->stepped != NULL)
        chief->options->stepped(chief->options->context, chief->client, loss);
    return evaluate(chief);
}

/* A chief that was killed during an evaluation repeats it. */
static struct status start_monitor(struct chief *chief)
{
    struct ps_client *client = chief->client;
    struct checkpoint_layout layout;

    if (!chief->watches) {
        TRY(checkpoint_layout_init(&layout, client->options.placement, &chief->options->job));
        monitor_init(&chief->monitor, &chief->options->monitor, &layout, client,
                     chief->options->job.sync);
        chief->watches = true;
    }
    if (!monitor_is_due(&chief->monitor, client->global_step))
        return status_ok();
    TRY(client_pull(client));
    return evaluate(chief);
}

static struct status work(struct chief *chief)
{
    const struct step_hook hook = { stepped, chief, check };
    const struct chief_options *options = chief->options;
    struct ps_client *client = chief->client;

    TRY(start_saver(chief));
    TRY(start_monitor(chief));
    TRY(worker_steps(client, chief->source, chief->stop_step, chief->progress, &hook));
    if (chief->saver != NULL)
        saver_let_finish(chief->saver);
    chief->stop_step = worker_last_step(client, chief->stop_step);
    if (chief->stop_step < options->job.stop_step)
        progress_say(chief->progress, "Training stops early, at step %llu of %llu", step_of(chief),
                     (unsigned long long)options->job.stop_step);
    TRY(worker_name_wait(client_report(client, status_ok(), false), client->options.call_timeout_ms,
                         "the ps tasks to take the chief's report"));
    struct status waited = await_workers(chief);
    atomic_store(&chief->progress->ended_ns, clock_now_ns(client->calls.clock));
    if (waited.code == STATUS_DEADLINE_EXCEEDED)
        warn_of_workers(chief);
    else
        TRY(waited);
    TRY(monitor_wait(&chief->monitor, &chief->progress->stop));
    return save_and_conclude(chief);
}

/* ---- after the loss of a ps ---- */

static struct status go_back(struct chief *chief)
{
    struct ps_client *client = chief->client;

    TRY(worker_name_wait(client_join(client, false, chief->options->recovery_timeout_ms),
                         chief->options->recovery_timeout_ms, "all ps tasks to answer again"));
    if (client->open)
        return status_ok(); /* the values still exist: joining again was enough */
    if (has_checkpoint(chief))
        return begin_from_last(chief);
    if (chief->options->checkpoints.dir == NULL)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "a ps has lost its variables, and there is no checkpoint to go back "
                            "to: give --checkpoint_dir");
    progress_say(chief->progress, "A ps was lost before the first checkpoint: beginning again");
    return begin_anew(chief);
}

/* First ends a running evaluation, which may use the saver's snapshot. */
static void stop_threads(struct chief *chief)
{
    if (chief->watches)
        monitor_drop(&chief->monitor);
    if (chief->saver != NULL)
        saver_pause(chief->saver);
}

/* Repeats, because another ps may be lost while the first one gets its values back. */
static struct status recover(struct chief *chief)
{
    struct ps_client *client = chief->client;
    int64_t until = clock_deadline_ns(client->calls.clock, chief->options->recovery_timeout_ms);

    stop_threads(chief);
    struct status status = go_back(chief);
    while (worker_can_rejoin(status, client, chief->progress) &&
           clock_now_ns(client->calls.clock) < until) {
        clock_sleep(client->calls.clock, RETRY_MS);
        status = go_back(chief);
    }
    if (chief->saver != NULL)
        saver_resume(chief->saver, client);
    TRY(status);
    atomic_store(&chief->progress->global_step, client->global_step);
    atomic_store(&chief->progress->ended_ns, 0);
    progress_say(chief->progress, "Training continues from step %llu", step_of(chief));
    if (chief->options->recovered != NULL)
        chief->options->recovered(chief->options->context);
    return status_ok();
}

/* The saver interrupts the chief if the first checkpoint fails. */
static struct status explain_interruption(const struct chief *chief, struct status status)
{
    if (status.code != STATUS_CANCELLED || chief->saver == NULL || chief->client->told ||
        atomic_load(&chief->progress->stop))
        return status;
    struct status saved = saver_check(chief->saver);
    return status_is_ok(saved) ? status : saved;
}

static struct status begin_and_work(struct chief *chief)
{
    const struct chief_options *options = chief->options;

    TRY(begin_with_retries(chief));
    if (options->begun != NULL)
        TRY(options->begun(options->context, chief->client->global_step));
    atomic_store(&chief->progress->global_step, chief->client->global_step);
    for (;;) {
        struct status status = explain_interruption(chief, work(chief));
        if (!worker_can_rejoin(status, chief->client, chief->progress))
            return status;
        progress_say(chief->progress, "Training pauses at step %llu: %s", step_of(chief),
                     status.message);
        TRY(recover(chief));
    }
}

struct status chief_run(struct ps_client *client, struct gradient_source *source,
                        const struct chief_options *options, struct progress *progress)
{
    struct chief chief = { .options = options,
                           .client = client,
                           .source = source,
                           .progress = progress,
                           .stop_step = options->job.stop_step };

    TRY(status_in(worker_name_wait(client_join(client, false, options->start_timeout_ms),
                                   options->start_timeout_ms, "the ps tasks to answer"),
                  "the chief joins"));
    struct status status = begin_and_work(&chief);
    if (chief.watches)
        monitor_finish(&chief.monitor);
    saver_destroy(chief.saver);
    status = worker_outcome(status, client, progress);
    if (status.code == STATUS_CANCELLED && atomic_load(&progress->stop)) {
        status = worker_stopped(client, progress);
        status = status_error(status.code, "%s was %s", client->options.task, status.message);
    }
    /* If no ps can be reached, each task ends by its own timeouts. */
    return worker_report_end(client, status, true);
}
