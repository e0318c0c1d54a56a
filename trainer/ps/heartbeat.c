/* Receives the heartbeats that each training task sends once a second. Reports what the ps waits
 * for, and ends the job if a task that it needs is lost. */
#include <inttypes.h>
#include <stdio.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/identity.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/outcome.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/staleness.h"

#define SILENT_MS 3000 /* three heartbeats: worth a line */
#define NOBODY    UINT32_MAX

/* ---- which tasks does the ps wait for? ---- */

/* A task that has not come is named with its address, so that people know where to look. */
static void append_stranger(const struct ps *ps, uint32_t rank, struct buffer *out)
{
    if (rank == 0)
        buffer_append_text(out, "the chief");
    else if (rank < ps->options.trainers_count)
        buffer_append_text(out, ps->options.trainers[rank]);
    else
        buffer_printf(out, "the task of rank %u", rank);
}

static void append_member(const struct ps *ps, uint32_t rank, struct buffer *out)
{
    const struct member *member = liveness_find(ps, rank);
    int64_t now_ns = clock_now_ns(ps->options.clock);
    int64_t silent_ms = member == NULL ? 0 : (now_ns - member->heard_ns) / NS_PER_MS;

    if (out->size > 0)
        buffer_append_text(out, ", ");
    if (member != NULL)
        buffer_append_text(out, member->name);
    else
        append_stranger(ps, rank, out);
    if (member == NULL)
        buffer_append_text(out, liveness_is_refused(ps, rank) ? " (was refused)"
                                                              : " (never heard from)");
    else if (member->left != NULL)
        buffer_append_text(out, " (has left)");
    else if (silent_ms > SILENT_MS)
        buffer_printf(out, " (last heard from %" PRId64 " s ago)", silent_ms / 1000);
}

/* Appends the workers whose push the others wait for. */
static void append_late(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    for (uint32_t rank = 0; rank < generation_of(ps)->sync_workers; rank++)
        if (!pushes_has_whole(ps, rank) && rank != asker)
            append_member(ps, rank, out);
}

/* Appends the workers that have joined and not finished. */
static void append_unfinished(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    for (uint32_t rank = 0; rank < membership_count(ps); rank++) {
        const struct worker *worker = membership_find(ps, rank);
        if (worker != NULL && !worker->finished && rank != asker)
            append_member(ps, rank, out);
    }
}

/* Describes what the ps waits for, except for the asking task, which knows its own state. */
static void note(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    if (outcome_is_known(ps))
        return;
    if (!generation_of(ps)->open) {
        if (asker != 0)
            append_member(ps, 0, out);
        buffer_append_text(out, out->size > 0 ? " to make the variables" : "");
    } else if (generation_of(ps)->sync && !pushes_is_empty(ps)) {
        append_late(ps, asker, out);
        if (out->size > 0)
            buffer_printf(out, " to push for step %" PRIu64, pushes_step(ps) + 1);
    } else if (!generation_of(ps)->sync && !staleness_is_empty(ps)) {
        staleness_note(ps, out);
    } else if (membership_any_finished(ps) && membership_all_finished(ps)) {
        buffer_append_text(out, "the chief to save what was learnt");
    } else if (membership_any_finished(ps)) {
        append_unfinished(ps, asker, out);
        buffer_append_text(out, out->size > 0 ? " to finish" : "");
    }
}

void ps_describe_wait(struct ps *ps, char *out, size_t size)
{
    struct buffer text = { 0 };

    ps_lock(ps);
    note(ps, NOBODY, &text);
    ps_unlock(ps);
    snprintf(out, size, "%.*s", (int)text.size, text.size > 0 ? text.data : "");
    buffer_finish(&text);
}

/* ---- the heartbeat ---- */

/* Keeps why a process of this job was refused, for those who wait for it. */
static void note_refusal(struct ps *ps, const struct identity *identity, struct status why)
{
    if (identity != NULL && !identity->reader && identity->index < PS_WORKERS_MAX &&
        why.code == STATUS_FAILED_PRECONDITION && status_is_ok(identity_check_job(ps, identity)))
        liveness_record_refusal(ps, identity, why.message);
}

static struct message heartbeat_reply(struct ps *ps, uint32_t rank)
{
    struct status outcome = outcome_status(ps);
    struct buffer text = { 0 };

    note(ps, rank, &text);
    buffer_append_char(&text, '\0');
    struct heartbeat_reply reply = { .incarnation = ps->options.incarnation,
                                     .generation = generation_of(ps)->number,
                                     .global_step = pushes_step(ps),
                                     .over = outcome_is_known(ps),
                                     .code = (int)outcome.code,
                                     .text = outcome.message,
                                     .note = text.data };
    liveness_mark_informed(ps, rank);
    struct message message = pack_heartbeat_reply(&reply);
    buffer_finish(&text);
    return message;
}

void ps_heartbeat(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct heartbeat_request request;
    struct message reply = { 0 };

    struct status status = unpack_heartbeat_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = identity_check(ps, request.identity);
        if (status_is_ok(status)) {
            if (!request.identity->reader)
                liveness_record(ps, request.identity);
            reply =
                heartbeat_reply(ps, request.identity->reader ? NOBODY : request.identity->index);
        } else {
            note_refusal(ps, request.identity, status);
        }
        ps_unlock(ps);
    }
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
    arena_destroy(arena);
}

/* ---- for the process ---- */

/* With the lock: finds a task that the job needs and that has not been heard from since since_ns;
 * NULL: none. *spare: how many workers may be lost, reduced by the lost ones. */
static const struct member *find_lost(const struct ps *ps, int64_t since_ns, uint32_t *spare)
{
    for (uint32_t rank = 0; generation_needs(ps, rank); rank++) {
        const struct member *member = liveness_find(ps, rank);
        const struct worker *worker = rank > 0 ? membership_find(ps, rank) : NULL;
        if (member == NULL || member->heard_ns >= since_ns)
            continue;
        if (worker != NULL && worker->finished && member->left == NULL)
            continue;
        if (rank == 0 || *spare == 0)
            return member;
        --*spare;
    }
    return NULL;
}

/* With the lock: finds a worker that a synchronous job needs and that has never appeared, although
 * the variables have existed since since_ns; NOBODY: none. */
static uint32_t find_absent(const struct ps *ps, int64_t since_ns, uint32_t spare)
{
    int64_t opened_ns = generation_of(ps)->opened_ns;

    if (opened_ns == 0 || opened_ns > since_ns || !liveness_has_begun(ps))
        return NOBODY;
    for (uint32_t rank = 1; generation_needs(ps, rank); rank++)
        if (liveness_find(ps, rank) == NULL && spare-- == 0)
            return rank;
    return NOBODY;
}

/* With the lock: writes why the job cannot continue. Returns false if it can. */
static bool find_reason(const struct ps *ps, int64_t now_ns, int64_t lost_ms, int64_t start_ms,
                        struct buffer *out)
{
    uint32_t spare = generation_of(ps)->backup_workers;
    const struct member *lost = find_lost(ps, now_ns - lost_ms * NS_PER_MS, &spare);
    uint32_t absent = find_absent(ps, now_ns - start_ms * NS_PER_MS, spare);

    if (lost != NULL) {
        buffer_printf(out, "%s has not been heard from for %" PRId64 " s", lost->name,
                      lost_ms / 1000);
    } else if (absent != NOBODY) {
        append_stranger(ps, absent, out);
        buffer_printf(out, " has not come within %" PRId64 " s, and --sync needs all workers",
                      start_ms / 1000);
    }
    buffer_append_char(out, '\0');
    return lost != NULL || absent != NOBODY;
}

void ps_watch(struct ps *ps, int64_t now_ns, int64_t lost_ms, int64_t start_ms)
{
    struct ending ending = { 0 };
    struct buffer why = { 0 };

    ps_lock(ps);
    if (!outcome_is_known(ps) && find_reason(ps, now_ns, lost_ms, start_ms, &why))
        ending = outcome_set(ps, STATUS_UNAVAILABLE, why.data);
    ps_unlock(ps);
    buffer_finish(&why);
    outcome_announce(ps, &ending);
    staleness_check(ps); /* a worker may have gone silent */
}
