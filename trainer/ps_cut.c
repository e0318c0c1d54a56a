/*
 * Snapshots that no push lies on both sides of. A push goes to all ps tasks at once, so while
 * pushes go on some ps have it and others not yet. The chief holds all ps tasks, which tell what
 * they have applied; the furthest of these is where each ps is cut: it applies what it has not yet
 * (held, or still on its way), takes one reference of each slice's values (and slots), and goes on.
 * Updates after that write elsewhere (slice.h). In a synchronous job that is the latest step that
 * any ps has made: a snapshot waits until all have made it, also for a worker that died between its
 * push to one ps and to the next.
 *
 * The chief numbers its snapshots, so that a request that comes again, or late, is known for what
 * it is: a hold of an earlier number would hold a ps that nobody lets go.
 *
 * A task that only reads takes snapshots in the same way, next to the chief's, which go first. That
 * costs training no more than READER_HOLD_MS, whatever becomes of that task.
 */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)1 << 20)
#define READER_HOLD_MS    1000  /* from its hold to the cut; it may have been stopped in between */
#define READER_IDLE_MS    60000 /* between two looks into its snapshot, which costs memory */
#define SILENT_MS         5000  /* of one that trains and holds the ps: it may have been killed */

static struct message hold_reply(struct ps *ps)
{
    Slipway__Training__HoldReply header = SLIPWAY__TRAINING__HOLD_REPLY__INIT;
    Slipway__Training__Applied *rows = zalloc((ps->workers_count + 1) * sizeof *rows);
    Slipway__Training__Applied **pointers = zalloc((ps->workers_count + 1) * sizeof(void *));

    header.sync = ps->sync;
    header.global_step = ps->global_step;
    for (uint32_t i = 0; i < ps->workers_count && !ps->sync; i++) {
        if (!ps->workers[i].joined)
            continue;
        Slipway__Training__Applied *row = &rows[header.n_applied];
        *row = (Slipway__Training__Applied)SLIPWAY__TRAINING__APPLIED__INIT;
        row->worker = i;
        row->incarnation = ps->workers[i].incarnation;
        row->sequence = ps->workers[i].applied;
        pointers[header.n_applied++] = row;
    }
    header.applied = pointers;
    struct message message = protocol_pack(&header);
    free(rows);
    free(pointers);
    return message;
}

struct cutter *ps_cutter(struct ps *ps, const struct worker *worker)
{
    return &ps->cutters[worker == &ps->reader];
}

/* Has the snapshot that was begun last been taken, and is it still there? */
static bool is_taken(const struct cutter *cutter)
{
    return cutter->snapshot.states != NULL && cutter->snapshot.number == cutter->number;
}

static struct message cut_reply(const struct ps *ps, const struct cutter *cutter)
{
    Slipway__Training__CutReply header = SLIPWAY__TRAINING__CUT_REPLY__INIT;

    header.snapshot = cutter->snapshot.id;
    header.global_step = cutter->snapshot.global_step;
    for (int i = 0; i < ps->slices_count && is_taken(cutter) && cutter->slots; i++)
        if (ps->slices[i].trainable) { /* all slices have had the same updates */
            header.scalars = cutter->snapshot.states[i].scalars;
            header.n_scalars = (size_t)ps->optimizer->scalars_count;
        }
    return protocol_pack(&header);
}

/* For whom the ps is held. */
static void take_snapshot(struct ps *ps)
{
    struct cutter *cutter = ps->held;
    struct slice_state *states = zalloc((size_t)(ps->slices_count + 1) * sizeof *states);

    for (int i = 0; i < ps->slices_count; i++)
        slice_hold(&ps->slices[i], cutter->slots, &states[i]);
    ps_snapshot_drop(ps, &cutter->snapshot);
    cutter->snapshot = (struct snapshot){ .id = ++ps->snapshots_taken,
                                          .number = cutter->number,
                                          .global_step = ps->global_step,
                                          .states = states };
    ps->held = NULL;
}

static bool cut_reached(const struct ps *ps)
{
    if (ps->sync)
        return ps->global_step >= ps->permitted_step;
    for (uint32_t i = 0; i < ps->workers_count; i++)
        if (ps->workers[i].joined && ps->workers[i].applied < ps->workers[i].permitted)
            return false;
    return true;
}

struct waiting *ps_cuts_due(struct ps *ps)
{
    if (ps->applying > 0)
        return NULL;
    struct waiting *due = ps->holds;
    ps->holds = NULL;
    for (struct waiting **at = &ps->cuts; *at != NULL;) {
        struct waiting *cut = *at;
        if (cut->cutter == ps->held && cut_reached(ps))
            take_snapshot(ps);
        if (!is_taken(cut->cutter)) {
            at = &cut->next;
            continue;
        }
        *at = cut->next;
        cut->next = NULL;
        waiting_append(&due, cut);
    }
    return due;
}

void ps_answer_cuts(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        pthread_mutex_lock(&ps->lock);
        struct message reply = due->hold ? hold_reply(ps) : cut_reply(ps, due->cutter);
        pthread_mutex_unlock(&ps->lock);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

struct waiting *ps_let_go(struct ps *ps)
{
    struct waiting *left = ps->holds;

    waiting_append(&left, ps->cuts);
    ps->holds = ps->cuts = NULL;
    ps->held = NULL;
    return left;
}

struct waiting *ps_cutter_leave(struct ps *ps, struct cutter *cutter)
{
    struct waiting *left = ps->held == cutter ? ps_let_go(ps) : NULL;

    ps_snapshot_drop(ps, &cutter->snapshot);
    *cutter = (struct cutter){ 0 };
    return left;
}

/* The chief has given up waiting: training goes on. If it asks for the same number again, it is
 * told. */
static void cut_left(void *context, struct call *call)
{
    struct ps *ps = context;

    pthread_mutex_lock(&ps->lock);
    struct waiting *waiting = waiting_take(&ps->holds, call);
    if (waiting == NULL)
        waiting = waiting_take(&ps->cuts, call);
    if (waiting != NULL && waiting->cutter == ps->held && ps->holds == NULL && ps->cuts == NULL)
        ps->held = NULL;
    pthread_mutex_unlock(&ps->lock);
    if (waiting == NULL)
        return;
    waiting_fail_all(waiting, status_error(STATUS_CANCELLED, "the caller has left"));
    ps_pump(ps);
}

static struct status given_up(const struct ps *ps, const struct cutter *cutter)
{
    return status_error(STATUS_NOT_FOUND, "ps %u: snapshot %" PRIu64 " was given up",
                        ps->options.index, cutter->number);
}

/* A reader's snapshot is not to cost those that train theirs, which take its place. */
static bool is_busy(const struct ps *ps, const struct worker *worker)
{
    bool waits = ps->holds != NULL || ps->cuts != NULL;

    return worker == &ps->reader && (waits || ps->held == &ps->cutters[0]);
}

static struct status hold_begin(struct ps *ps, const Slipway__Training__HoldRequest *request,
                                struct cutter **out, struct waiting **earlier)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    struct cutter *cutter = *out = ps_cutter(ps, worker);
    if (cutter->worker == worker && request->number < cutter->number)
        return status_error(STATUS_ABORTED,
                            "ps %u: snapshot %" PRIu64 " comes after snapshot %" PRIu64,
                            ps->options.index, request->number, cutter->number);
    if (cutter->worker == worker && request->number == cutter->number)
        return ps->held == cutter || is_taken(cutter) ? status_ok() : given_up(ps, cutter);
    if (is_busy(ps, worker))
        return status_error(STATUS_ABORTED, "ps %u: another snapshot is being taken",
                            ps->options.index);
    *earlier = ps_let_go(ps);
    ps->held = cutter;
    cutter->worker = worker;
    cutter->number = request->number;
    cutter->heard_ns = clock_now_ns(ps->options.clock);
    ps->permitted_step = ps->global_step + (uint64_t)ps->applying; /* of a synchronous job */
    for (uint32_t i = 0; i < ps->workers_count; i++)
        ps->workers[i].permitted = ps->workers[i].applied;
    return status_ok();
}

static struct status cut_begin(struct ps *ps, const Slipway__Training__CutRequest *request,
                               struct cutter **out)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    struct cutter *cutter = *out = ps_cutter(ps, worker);
    if (cutter->worker != worker || request->number != cutter->number)
        return status_error(STATUS_ABORTED, "ps %u was not held for snapshot %" PRIu64,
                            ps->options.index, request->number);
    if (ps->held != cutter)
        return is_taken(cutter) ? status_ok() : given_up(ps, cutter);
    if (request->until_step > ps->permitted_step)
        ps->permitted_step = request->until_step;
    for (size_t i = 0; i < request->n_until; i++) {
        const Slipway__Training__Applied *until = request->until[i];
        if (until->worker >= ps->workers_count)
            continue;
        struct worker *applied = &ps->workers[until->worker];
        if (applied->incarnation == until->incarnation && until->sequence > applied->permitted)
            applied->permitted = until->sequence;
    }
    cutter->slots = request->slots;
    return status_ok();
}

/* After a hold or a cut was let in: it waits, unless it can be answered now. */
static void wait_for_cut(struct ps *ps, struct call *call)
{
    pthread_mutex_lock(&ps->lock);
    struct waiting *due = ps_cuts_due(ps);
    pthread_mutex_unlock(&ps->lock);
    ps_answer_cuts(ps, due);
    call_when_left(call, cut_left, ps);
    ps_pump(ps);
}

static void append(struct ps *ps, struct call *call, struct cutter *cutter, struct waiting **list)
{
    struct waiting *waiting = waiting_create(ps, call);

    waiting->cutter = cutter;
    waiting->hold = list == &ps->holds;
    waiting_append(list, waiting);
}

void ps_hold(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__HoldRequest *request;
    struct waiting *earlier = NULL;
    struct cutter *cutter;

    struct status status =
        protocol_unpack(message, &slipway__training__hold_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = hold_begin(ps, request, &cutter, &earlier);
        if (status_is_ok(status))
            append(ps, call, cutter, &ps->holds);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    waiting_fail_all(earlier, status_error(STATUS_ABORTED, "another snapshot has begun"));
    if (status_is_ok(status))
        wait_for_cut(ps, call);
    else
        call_fail(call, status);
}

void ps_cut(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__CutRequest *request;
    struct cutter *cutter;

    struct status status =
        protocol_unpack(message, &slipway__training__cut_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = cut_begin(ps, request, &cutter);
        if (status_is_ok(status))
            append(ps, call, cutter, &ps->cuts);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        wait_for_cut(ps, call);
    else
        call_fail(call, status);
}

/* ---- Time. ---- */

static bool is_late(const struct ps *ps, const struct cutter *cutter, int64_t now_ns)
{
    const struct worker *worker = cutter->worker;

    if (worker == &ps->reader)
        return now_ns - cutter->heard_ns >= (int64_t)READER_HOLD_MS * NS_PER_MS;
    int64_t heard_ns = ps->members != NULL ? ps->members[worker->index].heard_ns : 0;
    return heard_ns != 0 && now_ns - heard_ns >= (int64_t)SILENT_MS * NS_PER_MS;
}

void ps_expire(struct ps *ps)
{
    struct cutter *reader = ps_cutter(ps, &ps->reader);
    struct waiting *left = NULL;

    pthread_mutex_lock(&ps->lock);
    int64_t now_ns = clock_now_ns(ps->options.clock);
    if (ps->held != NULL && is_late(ps, ps->held, now_ns))
        left = ps_let_go(ps);
    if (now_ns - reader->heard_ns >= (int64_t)READER_IDLE_MS * NS_PER_MS)
        ps_snapshot_drop(ps, &reader->snapshot);
    pthread_mutex_unlock(&ps->lock);
    waiting_fail_all(left, status_error(STATUS_DEADLINE_EXCEEDED, "ps %u goes on without that cut",
                                        ps->options.index));
    ps_pump(ps);
}
