/* The session's export: chooses the directory, and checks whether it already holds the export. */
#include "exporter/export.h"
#include "base/log.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/optimizers/average.h"
#include "trainer/options/finetune.h"
#include "trainer/session/session.h"

#define SNAPSHOT_TIMEOUT_MS 30000
#define EXPORT_PAUSE_MS     3000 /* before an export is tried again */
#define STOP_LOOK_MS        50

/* Did the job begin at its last step? Then an earlier chief may have exported it. */
static bool began_at_end(const struct session *session)
{
    return atomic_load(&session->progress.first_step) >= session->options.job.stop_step;
}

/* The SavedModel that was trained further; NULL: the model is a description. */
static const struct trainable *original_of(const struct session *session)
{
    const struct finetune *finetune = session->options.finetune;

    return finetune != NULL ? finetune_trainable(finetune) : NULL;
}

static struct export_request request_of(const struct session *session, const char *directory,
                                        bool again)
{
    struct buffer text = { 0 };

    layers_print_compiled(session->options.model, &text);
    struct bytes compiled = { arena_memdup(session->arena, text.data, text.size), text.size };
    buffer_finish(&text);
    return (struct export_request){ .recipe = session->graph.recipe,
                                    .original = original_of(session),
                                    .directory = directory,
                                    .format = session->options.export_format,
                                    .compile_config = compiled,
                                    .again = again };
}

static struct status export_to(struct session *session, char *directory, bool again,
                               struct value_source *source)
{
    struct options *options = &session->options;
    struct export_request request = request_of(session, directory, again);

    TRY(export_model(&request, source));
    options->export_directory = directory;
    return status_ok();
}

static char *version_path(const struct session *session, int64_t version)
{
    return export_version_path(session->options.export_base, version,
                               session->options.export_format, session->arena);
}

/* Exports as the next version, determined now: another job may have used the number that was
 * next at the start. */
static struct status export_next(struct session *session, struct value_source *source)
{
    const char *base = session->options.export_base;
    int64_t version = export_next_version(base), tried = 0;
    struct status status = status_error(STATUS_ALREADY_EXISTS, "no version was tried");

    if (version > 1 && began_at_end(session))
        status = export_to(session, version_path(session, version - 1), true, source);
    while (status.code == STATUS_ALREADY_EXISTS && version > tried) {
        status = export_to(session, version_path(session, version), false, source);
        tried = version;
        version = export_next_version(base);
    }
    return status;
}

struct status session_snapshot(struct ps_client *client, bool slots, struct client_snapshot *out)
{
    return worker_name_wait(client_snapshot_begin(client, slots, SNAPSHOT_TIMEOUT_MS, out),
                            SNAPSHOT_TIMEOUT_MS, "a snapshot of all ps tasks");
}

static struct status export_now(struct session *session, struct value_source *source)
{
    const struct options *options = &session->options;

    return options->export_base != NULL
               ? export_next(session, source)
               : export_to(session, options->export_directory, began_at_end(session), source);
}

/* The checkpoint of the last step; NULL: none was written. */
static const char *last_checkpoint(const struct session *session)
{
    const struct checkpoint_dir *dir = session->checkpoints;
    uint64_t step;

    return dir != NULL && checkpoint_dir_last_step(dir, &step) &&
                   step >= session->options.job.stop_step
               ? checkpoint_dir_at(dir, 0, session->arena)
               : NULL;
}

/* Can somebody else make the export possible: empty a disk, or take a directory away? */
static bool may_be_mended(struct status status)
{
    return status.code == STATUS_RESOURCE_EXHAUSTED || status.code == STATUS_ALREADY_EXISTS ||
           status.code == STATUS_PERMISSION_DENIED || status.code == STATUS_NOT_FOUND ||
           status.code == STATUS_FAILED_PRECONDITION;
}

/* Returns false if the task is stopped meanwhile. */
static bool pause_export(const struct session *session)
{
    const _Atomic bool *stop = &session->progress.stop;

    for (int ms = 0; ms < EXPORT_PAUSE_MS && !atomic_load(stop); ms += STOP_LOOK_MS)
        clock_sleep(clock_monotonic(), STOP_LOOK_MS);
    return !atomic_load(stop);
}

/* Without a checkpoint of the last step, a job that ends loses what it has learnt. */
static struct status export_again(struct session *session, struct status status,
                                  struct value_source *source)
{
    double limit_s = session->options.flags.export_retry_secs;
    int64_t until_ns = clock_deadline_ns(clock_monotonic(), (int64_t)(limit_s * 1000));

    if (!may_be_mended(status) || limit_s <= 0)
        return status;
    log_warning("%s. The trained values are in no checkpoint: trying again every %d s, for %g s "
                "(--export_retry_secs)",
                status.message, EXPORT_PAUSE_MS / 1000, limit_s);
    while (may_be_mended(status) && clock_now_ns(clock_monotonic()) < until_ns) {
        if (!pause_export(session)) /* the other tasks then end as with any stopped chief */
            return status_error(STATUS_CANCELLED, "stopped: %s", status.message);
        status = export_now(session, source);
    }
    return status;
}

struct status session_export(struct session *session, struct value_source *source)
{
    const struct options *options = &session->options;
    const char *checkpoint = last_checkpoint(session);

    if (options->export_directory == NULL)
        return status_ok();
    struct status status = export_now(session, source);
    if (!status_is_ok(status) && checkpoint == NULL)
        status = export_again(session, status, source);
    else if (!status_is_ok(status))
        status = status_error(status.code,
                              "%s; the trained values are in %s: started again, the same job "
                              "exports them",
                              status.message, checkpoint);
    TRY(status);
    session->exported = true;
    report_result(&session->report, "Exported to %s", options->export_directory);
    return status_ok();
}

/* A job that has steps left cannot use a directory that is taken. */
struct status session_check_begin(const struct session *session, uint64_t step)
{
    const struct options *options = &session->options;

    if (!options->export_taken || step >= options->job.stop_step)
        return status_ok();
    return export_check_target(options->export_directory);
}

/* The directory of an earlier export of this job; NULL: none. */
static char *find_own_export(const struct session *session)
{
    const struct options *options = &session->options;

    if (options->export_base == NULL)
        return options->export_taken ? options->export_directory : NULL;
    int64_t next = export_next_version(options->export_base);
    return next > 1 ? version_path(session, next - 1) : NULL;
}

/* Reads every value, which verifies its checksum. */
static struct status check_values(struct checkpoint *checkpoint)
{
    const struct placement *placement = checkpoint->layout->placement;
    struct value_source *source = &checkpoint->source;
    struct bytes chunk;

    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        TRY(source->begin(source, variable->by_keys
                                      ? arena_printf(checkpoint->arena, "%s/values", variable->name)
                                      : variable->name));
        do
            TRY(source->next(source, &chunk));
        while (chunk.size > 0);
    }
    return status_ok();
}

/* Does the directory contain the export of these values? */
static struct status check_export(const struct session *session, const char *directory,
                                  struct checkpoint *checkpoint)
{
    struct export_request request = request_of(session, directory, true);
    struct checkpoint_layout layout;
    struct checkpoint *best;

    checkpoint->trained_part =
        optimizer_average_part(optimizer_find(session->options.job.optimizer));
    TRY(session_open_best(session, &layout, &best));
    struct status status = export_model(&request, &(best != NULL ? best : checkpoint)->source);
    checkpoint_close(best);
    return status;
}

/* OK: the checkpoint is of the last step and complete, and the directory, if given, has its
 * model. */
static struct status check_results(const struct session *session, const char *prefix,
                                   const char *directory)
{
    const struct options *options = &session->options;
    struct checkpoint_layout layout;
    struct checkpoint *checkpoint;
    struct status status;

    TRY(checkpoint_layout_init(&layout, &session->placement, &options->job));
    TRY(checkpoint_open(&layout, prefix, &checkpoint));
    if (checkpoint->global_step < options->job.stop_step)
        status = status_error(STATUS_FAILED_PRECONDITION, "the job has steps left to make");
    else if (directory != NULL)
        status = check_export(session, directory, checkpoint);
    else
        status = check_values(checkpoint);
    checkpoint_close(checkpoint);
    return status;
}

void session_check_finished(struct session *session)
{
    const struct checkpoint_dir *dir = session->checkpoints;
    bool exports = session->options.export_directory != NULL;
    char *directory = exports ? find_own_export(session) : NULL;

    if ((exports && directory == NULL) || dir == NULL || checkpoint_dir_count(dir) == 0)
        return;
    const char *prefix = checkpoint_dir_at(dir, 0, session->arena);
    if (!status_is_ok(check_results(session, prefix, directory)))
        return;
    session->finished = true;
    session->exported = exports;
    session->options.export_directory = directory;
    log_info("an earlier run has finished the job: %s is of the last step%s%s; waiting up to %d s "
             "for ps tasks that do not know it",
             prefix, exports ? ", and its model is in " : "", exports ? directory : "",
             FINISHED_WAIT_MS / 1000);
}

struct status session_explain_alone(const struct session *session, struct status why)
{
    const struct options *options = &session->options;

    if (!options->export_taken)
        return why;
    return status_error(STATUS_ALREADY_EXISTS,
                        "%s; '%s' already holds an export. If it is this job's, nothing is left "
                        "to do; if not, remove it. With --checkpoint_dir a chief that is started "
                        "again can tell",
                        why.message, options->export_directory);
}
