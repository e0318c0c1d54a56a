/* What a session does with what was learnt: the directory that it exports to. */
#include "exporter/export.h"
#include "trainer/checkpoint.h"
#include "trainer/session.h"

#define SNAPSHOT_TIMEOUT_MS 30000

/* Did the job begin at its last step? Then the process before this one may have exported it. */
static bool began_at_end(const struct session *session)
{
    return atomic_load(&session->progress.first_step) >= session->options.job.stop_step;
}

static struct status export_to(struct session *session, char *directory, bool again,
                               struct value_source *source)
{
    struct options *options = &session->options;
    struct export_request request = { .model = options->model,
                                      .directory = directory,
                                      .again = again };

    TRY(export_model(&request, source));
    options->export_directory = directory;
    return status_ok();
}

/* As the next version that there is by now: another job may have taken the one that was next. */
static struct status export_next(struct session *session, struct value_source *source)
{
    const char *base = session->options.export_base;
    int64_t version = export_next_version(base), tried = 0;
    struct status status = status_error(STATUS_ALREADY_EXISTS, "no version was tried");

    if (version > 1 && began_at_end(session))
        status = export_to(session, export_version_path(base, version - 1, session->arena), true,
                           source);
    while (status.code == STATUS_ALREADY_EXISTS && version > tried) {
        status =
            export_to(session, export_version_path(base, version, session->arena), false, source);
        tried = version;
        version = export_next_version(base);
    }
    return status;
}

struct status session_export(struct session *session, struct client *client)
{
    struct options *options = &session->options;
    struct client_snapshot snapshot;

    if (options->export_directory == NULL)
        return status_ok();
    TRY(client_snapshot_begin(client, false, SNAPSHOT_TIMEOUT_MS, &snapshot));
    struct status status = options->export_base != NULL
                               ? export_next(session, &snapshot.source)
                               : export_to(session, options->export_directory,
                                           began_at_end(session), &snapshot.source);
    client_snapshot_end(&snapshot);
    TRY(status);
    session->exported = true;
    report_result(&session->report, "Exported to %s", options->export_directory);
    return status_ok();
}

/* A directory that is taken is no use to a job that has steps to make. */
struct status session_check_begin(const struct session *session, uint64_t step)
{
    const struct options *options = &session->options;

    if (!options->export_taken || step >= options->job.stop_step)
        return status_ok();
    return export_check_target(options->export_directory);
}

/* Does the directory hold the model of the last checkpoint, which is one of the last step? */
static struct status check_finished(const struct session *session, const char *prefix)
{
    const struct options *options = &session->options;
    struct export_request request = { .model = options->model,
                                      .directory = options->export_directory,
                                      .again = true };
    struct checkpoint_layout layout;
    struct checkpoint *checkpoint;

    TRY(checkpoint_layout_init(&layout, &session->placement, &options->job));
    TRY(checkpoint_open(&layout, prefix, &checkpoint));
    struct status status = session_check_begin(session, checkpoint->global_step);
    if (status_is_ok(status))
        status = export_model(&request, &checkpoint->source);
    checkpoint_close(checkpoint);
    return status;
}

bool session_was_finished(struct session *session)
{
    const struct checkpoint_dir *dir = session->checkpoints;

    if (!session->options.export_taken || dir == NULL || checkpoint_dir_count(dir) == 0)
        return false;
    const char *prefix = checkpoint_dir_at(dir, 0, session->arena);
    session->exported = status_is_ok(check_finished(session, prefix));
    if (session->exported)
        log_info("no ps is there any more, and %s holds the model of %s: the job was finished "
                 "before",
                 session->options.export_directory, prefix);
    return session->exported;
}
