/* Adapting in a cluster: each worker summarises its share of the rows, the chief merges the
 * summaries, and all tasks get the states. */

#include "base/log.h"
#include "trainer/adapt/adapt.h"
#include "trainer/job/task_notes.h"
#include "trainer/session/adapt.h"

#define STATES "preprocessing states"

static const char *summaries_key(const struct session *session, int pass, uint32_t worker)
{
    return arena_printf(session->arena, "preprocessing pass %d of worker %u", pass, worker);
}

static const char *states_key(const struct session *session, int pass)
{
    return arena_printf(session->arena, "preprocessing pass %d", pass);
}

/* In a sparse cluster the workers are unknown, so the chief reads all rows. */
static uint32_t readers_count(const struct session *session)
{
    return session->options.map.sparse ? 1 : session->options.job.workers;
}

static struct status read_share(struct session *session, struct adapt_pass *pass, uint32_t rank)
{
    const struct batch_order share = { .worker = rank, .workers = readers_count(session) };

    return adapt_read(pass, session->data->train, &share, session_is_stopped, session);
}

static struct status timed_out(const struct session *session, const char *whom)
{
    return status_error(STATUS_DEADLINE_EXCEEDED,
                        "%s has not summarised its share of the data within --start_timeout=%d s",
                        whom, session->options.flags.start_timeout);
}

static int64_t wait_until(const struct session *session)
{
    return clock_deadline_ns(clock_monotonic(),
                             (int64_t)session->options.flags.start_timeout * 1000);
}

/* DEADLINE_EXCEEDED: `whom` does not post the note. */
static struct status await_note(const struct session *session, struct task_notes *notes,
                                const char *key, const char *whom, struct buffer *out)
{
    int64_t until_ns = wait_until(session);

    for (;;) {
        bool found;
        TRY(task_notes_fetch(notes, key, out, &found));
        if (found)
            return status_ok();
        if (clock_now_ns(clock_monotonic()) >= until_ns)
            return timed_out(session, whom);
        TRY(task_notes_pause(notes));
    }
}

/* ---- the chief ---- */

static struct status merge_one(struct session *session, struct task_notes *notes,
                               struct adapt_pass *pass, const char *key, uint32_t worker)
{
    struct buffer note = { 0 };
    const char *whom = arena_printf(session->arena, "worker of rank %u", worker);
    struct status status = await_note(session, notes, key, whom, &note);

    if (status_is_ok(status))
        status = adapt_merge(pass, (struct bytes){ note.data, note.size });
    struct status held = status_hold(status);
    buffer_finish(&note);
    return status_resume(held);
}

static struct status lead(struct session *session, struct task_notes *notes,
                          struct adapt_pass *pass, int number, struct buffer *states)
{
    size_t before = states->size;

    TRY(read_share(session, pass, 0));
    for (uint32_t w = 1; w < readers_count(session); w++)
        TRY(merge_one(session, notes, pass, summaries_key(session, number, w), w));
    TRY(adapt_end(pass, states));
    return task_notes_post(notes, states_key(session, number),
                           (struct bytes){ states->data + before, states->size - before });
}

/* ---- a worker ---- */

/* Waits for the states of this pass. If ps 0 was restarted, it has lost the summaries. */
static struct status await_states(struct session *session, struct task_notes *notes,
                                  struct bytes summaries, uint32_t rank, int number,
                                  struct buffer *out)
{
    const char *mine = summaries_key(session, number, rank);
    int64_t until_ns = wait_until(session);
    struct buffer there = { 0 };
    bool found = false, posted = false;
    struct status status = status_ok();

    while (status_is_ok(status) && !found) {
        there.size = 0;
        status = task_notes_fetch(notes, mine, &there, &posted);
        if (status_is_ok(status) && !posted)
            status = task_notes_post(notes, mine, summaries);
        if (status_is_ok(status))
            status = task_notes_fetch(notes, states_key(session, number), out, &found);
        if (status_is_ok(status) && !found) /* the chief has all of them from a checkpoint */
            status = task_notes_fetch(notes, STATES, out, &found);
        if (status_is_ok(status) && !found && clock_now_ns(clock_monotonic()) >= until_ns)
            status = timed_out(session, "the chief, or a worker that it waits for,");
        else if (status_is_ok(status) && !found)
            status = task_notes_pause(notes);
    }
    struct status held = status_hold(status);
    buffer_finish(&there);
    return status_resume(held);
}

static struct status follow(struct session *session, struct task_notes *notes,
                            struct adapt_pass *pass, int number)
{
    uint32_t rank = job_map_rank(&session->options.map);
    struct buffer summaries = { 0 }, states = { 0 };

    struct status status = read_share(session, pass, rank);
    if (status_is_ok(status)) {
        adapt_write(pass, &summaries);
        status = await_states(session, notes, (struct bytes){ summaries.data, summaries.size },
                              rank, number, &states);
    }
    if (status_is_ok(status))
        status = adapt_take(pass, (struct bytes){ states.data, states.size });
    struct status held = status_hold(status);
    buffer_finish(&summaries);
    buffer_finish(&states);
    return status_resume(held);
}

/* ---- all ---- */

static struct status make_passes(struct session *session, struct task_notes *notes,
                                 struct buffer *states)
{
    for (int number = 0; adapt_needed(session->options.model); number++) {
        struct adapt_pass *pass;
        TRY(adapt_begin(session->options.model, &pass));
        struct status status = session_is_chief(session)
                                   ? lead(session, notes, pass, number, states)
                                   : follow(session, notes, pass, number);
        struct status held = status_hold(status);
        adapt_destroy(pass);
        TRY(status_resume(held));
    }
    return status_ok();
}

/* The states exist if the job has begun, or if the chief has them from a checkpoint. */
static struct status take_states(struct session *session, struct task_notes *notes, bool wait)
{
    struct buffer states = { 0 };
    bool found = wait;

    struct status status = wait ? await_note(session, notes, STATES, "the chief", &states)
                                : task_notes_fetch(notes, STATES, &states, &found);
    if (status_is_ok(status) && found)
        status = adapt_load(session->options.model, (struct bytes){ states.data, states.size });
    struct status held = status_hold(status);
    buffer_finish(&states);
    return status_resume(held);
}

static struct status take_or_make(struct session *session, struct task_notes *notes,
                                  struct buffer *states)
{
    bool chief = session_is_chief(session);
    bool reads =
        chief || (session->options.map.kind != JOB_EVALUATOR && !session->options.map.sparse);

    if (!chief)
        TRY(take_states(session, notes, !reads));
    if (states->size == 0)
        TRY(make_passes(session, notes, states));
    return chief ? task_notes_post(notes, STATES, (struct bytes){ states->data, states->size })
                 : status_ok();
}

struct status session_adapt_cluster(struct session *session, struct buffer *states)
{
    struct task_options task = session_task_options(session);
    struct task_notes *notes;

    TRY(task_notes_open(&task, session_is_stopped, session, &notes));
    log_info("adapting the preprocessing layers to the data");
    struct status held = status_hold(take_or_make(session, notes, states));
    task_notes_close(notes);
    return status_in(status_resume(held), "adapting the preprocessing layers");
}

void session_post_states(struct session *session)
{
    struct task_options task = session_task_options(session);
    struct task_notes *notes;

    if (session->states.size == 0 || session_is_local(session))
        return;
    struct status status = task_notes_open(&task, session_is_stopped, session, &notes);
    if (status_is_ok(status)) {
        struct status held = status_hold(task_notes_post(
            notes, STATES, (struct bytes){ session->states.data, session->states.size }));
        task_notes_close(notes);
        status = status_resume(held);
    }
    if (!status_is_ok(status))
        log_warning("a worker that starts now will not get the states of the preprocessing "
                    "layers: %s",
                    status.message);
}
