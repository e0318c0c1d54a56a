/* Adapts the model's preprocessing layers to the training data before training begins. */
#include "trainer/session/adapt.h"

#include <unistd.h>

#include "base/file.h"
#include "storage/tfrecord.h"
#include "trainer/adapt/adapt.h"

/* Beside the checkpoints: a job that resumes from one has the states that it began with. */
#define STATES_FILE "preprocessing.tfrecord"

bool session_is_stopped(void *context)
{
    const struct session *session = context;

    return *session->stop_signal != 0;
}

/* ---- the states of a job that resumes ---- */

static struct status read_states(struct session *session, const char *path, struct buffer *states)
{
    struct tfrecord_reader *reader;
    struct bytes record;
    bool found;

    TRY(tfrecord_reader_open(path, TFRECORD_PLAIN, &reader));
    struct status status = tfrecord_reader_next(reader, &record, &found);
    if (status_is_ok(status) && !found)
        status = status_error(STATUS_DATA_LOSS, "the file is empty");
    if (status_is_ok(status))
        status = adapt_load(session->options.model, record);
    if (status_is_ok(status))
        buffer_append(states, record.data, record.size);
    struct status held = status_hold(status_in(status, "'%s'", path));
    tfrecord_reader_close(reader);
    return status_resume(held);
}

/* Renames last, so that the file exists completely or not at all. */
static struct status save_states(struct session *session, const char *path, struct bytes states)
{
    const char *draft = arena_printf(session->arena, "%s.draft", path);
    struct tfrecord_writer *writer;

    unlink(draft); /* of a chief that was killed */
    TRY(tfrecord_writer_open(draft, TFRECORD_PLAIN, &writer));
    struct status status = tfrecord_writer_append(writer, states);
    if (!status_is_ok(status)) {
        struct status held = status_hold(status);
        tfrecord_writer_abandon(writer);
        return status_resume(held);
    }
    TRY(tfrecord_writer_finish(writer));
    TRY(file_rename(draft, path));
    return file_sync_directory(session->options.flags.checkpoint_dir);
}

/* ---- the passes ---- */

/* Reads the shares of all workers, one after the other. */
static struct status read_rows(struct session *session, struct adapt_pass *pass)
{
    uint32_t workers = session->options.job.workers;

    for (uint32_t w = 0; w < workers; w++) {
        const struct batch_order share = { .worker = w, .workers = workers };
        TRY(adapt_read(pass, session->data->train, &share, session_is_stopped, session));
    }
    return status_ok();
}

static struct status make_pass(struct session *session, struct buffer *states)
{
    struct adapt_pass *pass;

    TRY(adapt_begin(session->options.model, &pass));
    struct status status = read_rows(session, pass);
    if (status_is_ok(status))
        status = adapt_end(pass, states);
    struct status held = status_hold(status);
    adapt_destroy(pass);
    return status_resume(held);
}

/* In one process. */
static struct status make_passes(struct session *session, struct buffer *states)
{
    while (adapt_needed(session->options.model))
        TRY(make_pass(session, states));
    return status_ok();
}

static struct status adapt(struct session *session, const char *path, struct buffer *states)
{
    bool saved = path != NULL && access(path, F_OK) == 0;

    if (saved)
        TRY(read_states(session, path, states));
    TRY(session_is_local(session) ? make_passes(session, states)
                                  : session_adapt_cluster(session, states));
    return path == NULL || saved
               ? status_ok()
               : save_states(session, path, (struct bytes){ states->data, states->size });
}

struct status session_adapt(struct session *session)
{
    const char *path = session->checkpoints == NULL
                           ? NULL
                           : arena_printf(session->arena, "%s/" STATES_FILE,
                                          session->options.flags.checkpoint_dir);

    return adapt(session, path, &session->states);
}
