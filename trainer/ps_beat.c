/* Who is there: tasks say so once a second. What a ps does about one that has gone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/ps_internal.h"

#define REQUEST_ARENA_MAX ((size_t)1 << 20)
#define SILENT_MS         3000 /* three beats: worth a word */
#define NOBODY            UINT32_MAX

void ps_mark_told(struct ps *ps, uint32_t rank)
{
    if (rank < PS_WORKERS_MAX && ps->over)
        ps_member(ps, rank)->told = true;
}

/* ---- Whom does it wait for? ---- */

/* A task that has not come: its address tells where to look for it. */
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
    const struct member *member = ps->members != NULL ? &ps->members[rank] : NULL;
    int64_t silent_ms = member == NULL || member->heard_ns == 0
                            ? 0
                            : (clock_now_ns(ps->options.clock) - member->heard_ns) / NS_PER_MS;

    if (out->size > 0)
        buffer_append_text(out, ", ");
    if (member != NULL && *member->name != '\0')
        buffer_append_text(out, member->name);
    else
        append_stranger(ps, rank, out);
    if (member == NULL || member->heard_ns == 0)
        buffer_append_text(out, " (never heard of)");
    else if (member->left != NULL)
        buffer_append_text(out, " (has left)");
    else if (silent_ms > SILENT_MS)
        buffer_printf(out, " (last heard of %" PRId64 " s ago)", silent_ms / 1000);
}

static bool has_push(const struct ps *ps, uint32_t rank)
{
    for (const struct waiting *push = ps->pushes; push != NULL; push = push->next)
        if (push->worker->index == rank)
            return true;
    return false;
}

/* Those who have to push for the step that others wait for. */
static void append_late(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    for (uint32_t rank = 0; rank < ps->sync_workers; rank++)
        if (!has_push(ps, rank) && rank != asker)
            append_member(ps, rank, out);
}

/* Those who have joined and not finished, when others have. */
static void append_unfinished(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    for (uint32_t rank = 0; rank < ps->workers_count; rank++)
        if (ps->workers[rank].joined && !ps->workers[rank].finished && rank != asker)
            append_member(ps, rank, out);
}

static bool any_finished(const struct ps *ps)
{
    for (uint32_t rank = 0; rank < ps->workers_count; rank++)
        if (ps->workers[rank].joined && ps->workers[rank].finished)
            return true;
    return false;
}

/* For a task that asks, without itself: it knows what it does. */
static void note(const struct ps *ps, uint32_t asker, struct buffer *out)
{
    if (ps->over)
        return;
    if (!ps->open) {
        if (asker != 0)
            append_member(ps, 0, out);
        buffer_append_text(out, out->size > 0 ? " to make the variables" : "");
    } else if (ps->sync && ps->pushes != NULL) {
        append_late(ps, asker, out);
        if (out->size > 0)
            buffer_printf(out, " to push for step %" PRIu64, ps->global_step + 1);
    } else if (any_finished(ps) && ps_all_finished(ps)) {
        buffer_append_text(out, "the chief to save what was learnt");
    } else if (any_finished(ps)) {
        append_unfinished(ps, asker, out);
        buffer_append_text(out, out->size > 0 ? " to finish" : "");
    }
}

void ps_note(struct ps *ps, char *out, size_t size)
{
    struct buffer text = { 0 };

    pthread_mutex_lock(&ps->lock);
    note(ps, NOBODY, &text);
    pthread_mutex_unlock(&ps->lock);
    snprintf(out, size, "%.*s", (int)text.size, text.size > 0 ? text.data : "");
    buffer_finish(&text);
}

/* ---- The beat. ---- */

static struct message beat_reply(struct ps *ps, uint32_t rank)
{
    Slipway__Training__BeatReply reply = SLIPWAY__TRAINING__BEAT_REPLY__INIT;
    struct buffer text = { 0 };

    note(ps, rank, &text);
    buffer_append_char(&text, '\0');
    reply.incarnation = ps->options.incarnation;
    reply.generation = ps->generation;
    reply.global_step = ps->global_step;
    reply.over = ps->over;
    reply.code = ps->outcome;
    reply.text = ps->outcome_text != NULL ? ps->outcome_text : reply.text;
    reply.note = text.data;
    ps_mark_told(ps, rank);
    struct message message = protocol_pack(&reply);
    buffer_finish(&text);
    return message;
}

void ps_beat(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__BeatRequest *request;
    struct message reply = { 0 };

    struct status status =
        protocol_unpack(message, &slipway__training__beat_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = ps_check_identity(ps, request->identity);
        if (status_is_ok(status)) {
            if (!request->identity->reader)
                ps_hear(ps, request->identity);
            reply = beat_reply(ps, request->identity->reader ? NOBODY : request->identity->index);
        }
        pthread_mutex_unlock(&ps->lock);
    }
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
    arena_destroy(arena);
}

/* ---- For the process. ---- */

int64_t ps_heard_ns(struct ps *ps)
{
    int64_t heard_ns = 0;

    pthread_mutex_lock(&ps->lock);
    for (uint32_t rank = 0; ps->members != NULL && rank < PS_WORKERS_MAX; rank++)
        heard_ns = ps->members[rank].heard_ns > heard_ns ? ps->members[rank].heard_ns : heard_ns;
    pthread_mutex_unlock(&ps->lock);
    return heard_ns;
}

void ps_forgive(struct ps *ps, int64_t stood_still_ns)
{
    pthread_mutex_lock(&ps->lock);
    for (uint32_t rank = 0; ps->members != NULL && rank < PS_WORKERS_MAX; rank++)
        if (ps->members[rank].heard_ns != 0)
            ps->members[rank].heard_ns += stood_still_ns;
    if (ps->opened_ns != 0)
        ps->opened_ns += stood_still_ns;
    pthread_mutex_unlock(&ps->lock);
}

/* With the lock: one whom the job cannot go on without, and who has gone. NULL: none. */
static const struct member *find_lost(const struct ps *ps, int64_t lost_ms)
{
    int64_t since_ns = clock_now_ns(ps->options.clock) - lost_ms * NS_PER_MS;

    for (uint32_t rank = 0; ps->members != NULL && ps_is_needed(ps, rank); rank++) {
        const struct member *member = &ps->members[rank];
        bool finished = rank > 0 && rank < ps->workers_count && ps->workers[rank].finished &&
                        member->left == NULL;
        if (member->heard_ns != 0 && member->heard_ns < since_ns && !finished)
            return member;
    }
    return NULL;
}

/* With the lock: whom a synchronous job waits for and has never seen; NOBODY: all have come. */
static uint32_t find_absent(const struct ps *ps, int64_t start_ms)
{
    int64_t since_ns = clock_now_ns(ps->options.clock) - start_ms * NS_PER_MS;

    if (ps->opened_ns == 0 || ps->opened_ns > since_ns)
        return NOBODY;
    for (uint32_t rank = 1; ps->members != NULL && ps_is_needed(ps, rank); rank++)
        if (ps->members[rank].heard_ns == 0)
            return rank;
    return NOBODY;
}

/* With the lock: why the job cannot go on; false: it can. */
static bool find_reason(const struct ps *ps, int64_t lost_ms, int64_t start_ms, struct buffer *out)
{
    const struct member *lost = find_lost(ps, lost_ms);
    uint32_t absent = find_absent(ps, start_ms);

    if (lost != NULL) {
        buffer_printf(out, "%s has not been heard of for %" PRId64 " s", lost->name,
                      lost_ms / 1000);
    } else if (absent != NOBODY) {
        append_stranger(ps, absent, out);
        buffer_printf(out, " has not come within %" PRId64 " s, and --sync needs all workers",
                      start_ms / 1000);
    }
    buffer_append_char(out, '\0');
    return lost != NULL || absent != NOBODY;
}

void ps_watch(struct ps *ps, int64_t lost_ms, int64_t start_ms)
{
    struct ending ending = { 0 };
    struct buffer why = { 0 };

    pthread_mutex_lock(&ps->lock);
    if (!ps->over && find_reason(ps, lost_ms, start_ms, &why))
        ending = ps_set_outcome(ps, STATUS_UNAVAILABLE, why.data);
    pthread_mutex_unlock(&ps->lock);
    buffer_finish(&why);
    ps_tell(ps, &ending);
}

void ps_end(struct ps *ps, struct status outcome)
{
    pthread_mutex_lock(&ps->lock);
    struct ending ending = ps_set_outcome(ps, outcome.code, outcome.message);
    pthread_mutex_unlock(&ps->lock);
    ps_tell(ps, &ending);
}

bool ps_outcome(struct ps *ps, struct status *out)
{
    pthread_mutex_lock(&ps->lock);
    bool over = ps->over;
    *out = (struct status){ (enum status_code)ps->outcome, over ? ps->outcome_text : "" };
    pthread_mutex_unlock(&ps->lock);
    return over;
}

uint32_t ps_untold(struct ps *ps, uint32_t trainers)
{
    uint32_t untold = 0;

    pthread_mutex_lock(&ps->lock);
    for (uint32_t rank = 0; rank < trainers && rank < PS_WORKERS_MAX; rank++)
        untold += ps->members == NULL || !(ps->members[rank].told || ps->members[rank].left);
    pthread_mutex_unlock(&ps->lock);
    return untold;
}
