/*
 * Snapshots that no push lies on both sides of. A push goes to all ps tasks at once, so while
 * pushes go on some ps have it and others not yet. The chief holds all ps tasks, which tell what
 * they have applied; the furthest of these is where each ps is cut: it applies what it has not yet
 * (held, or still on its way), takes one reference of each slice's values (and slots), and goes on.
 * Updates after that write elsewhere (slice.h).
 *
 * The chief numbers its snapshots, so that a request that comes again, or late, is known for what
 * it is: a hold of an earlier number would hold a ps that nobody lets go.
 */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)1 << 20)

static struct message hold_reply(struct ps *ps)
{
    Slipway__Training__HoldReply header = SLIPWAY__TRAINING__HOLD_REPLY__INIT;
    Slipway__Training__Applied *rows = zalloc((ps->workers_count + 1) * sizeof *rows);
    Slipway__Training__Applied **pointers = zalloc((ps->workers_count + 1) * sizeof(void *));

    for (uint32_t i = 0; i < ps->workers_count; i++) {
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

/* Has the snapshot that was begun last been taken, and is it still there? */
static bool is_taken(const struct ps *ps)
{
    return ps->snapshot.states != NULL && ps->snapshot.number == ps->number;
}

static struct message cut_reply(struct ps *ps)
{
    Slipway__Training__CutReply header = SLIPWAY__TRAINING__CUT_REPLY__INIT;

    header.snapshot = ps->snapshot.id;
    header.global_step = ps->snapshot.global_step;
    for (int i = 0; i < ps->slices_count && is_taken(ps) && ps->cut_slots; i++)
        if (ps->slices[i].trainable) { /* all slices have had the same updates */
            header.scalars = ps->snapshot.states[i].scalars;
            header.n_scalars = (size_t)ps->optimizer->scalars_count;
        }
    return protocol_pack(&header);
}

static void take_snapshot(struct ps *ps)
{
    ps_snapshot_drop(ps);
    ps->snapshot.id = ++ps->snapshots_taken;
    ps->snapshot.number = ps->number;
    ps->snapshot.global_step = ps->global_step;
    ps->snapshot.states = zalloc((size_t)(ps->slices_count + 1) * sizeof *ps->snapshot.states);
    for (int i = 0; i < ps->slices_count; i++)
        slice_hold(&ps->slices[i], ps->cut_slots, &ps->snapshot.states[i]);
    ps->held = false;
}

static bool cut_reached(const struct ps *ps)
{
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
    if (ps->cuts == NULL)
        return due;
    if (ps->held && cut_reached(ps))
        take_snapshot(ps);
    if (is_taken(ps)) {
        waiting_append(&due, ps->cuts);
        ps->cuts = NULL;
    }
    return due;
}

void ps_answer_cuts(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        pthread_mutex_lock(&ps->lock);
        struct message reply = due->hold ? hold_reply(ps) : cut_reply(ps);
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
    ps->held = false;
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
    if (waiting != NULL && ps->holds == NULL && ps->cuts == NULL)
        ps->held = false;
    pthread_mutex_unlock(&ps->lock);
    if (waiting == NULL)
        return;
    waiting_fail_all(waiting, status_error(STATUS_CANCELLED, "the caller has left"));
    ps_pump(ps);
}

static struct status given_up(const struct ps *ps)
{
    return status_error(STATUS_NOT_FOUND, "ps %u: snapshot %" PRIu64 " was given up",
                        ps->options.index, ps->number);
}

static struct status hold_begin(struct ps *ps, const Slipway__Training__HoldRequest *request,
                                struct waiting **earlier)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    if (ps->holder == worker && request->number < ps->number)
        return status_error(STATUS_ABORTED,
                            "ps %u: snapshot %" PRIu64 " comes after snapshot %" PRIu64,
                            ps->options.index, request->number, ps->number);
    if (ps->holder == worker && request->number == ps->number)
        return ps->held || is_taken(ps) ? status_ok() : given_up(ps);
    *earlier = ps_let_go(ps);
    ps->held = true;
    ps->holder = worker;
    ps->number = request->number;
    for (uint32_t i = 0; i < ps->workers_count; i++)
        ps->workers[i].permitted = ps->workers[i].applied;
    return status_ok();
}

static struct status cut_begin(struct ps *ps, const Slipway__Training__CutRequest *request)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    if (ps->holder != worker || request->number != ps->number)
        return status_error(STATUS_ABORTED, "ps %u was not held for snapshot %" PRIu64,
                            ps->options.index, request->number);
    if (!ps->held)
        return is_taken(ps) ? status_ok() : given_up(ps);
    for (size_t i = 0; i < request->n_until; i++) {
        const Slipway__Training__Applied *until = request->until[i];
        if (until->worker >= ps->workers_count)
            continue;
        struct worker *applied = &ps->workers[until->worker];
        if (applied->incarnation == until->incarnation && until->sequence > applied->permitted)
            applied->permitted = until->sequence;
    }
    ps->cut_slots = request->slots;
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

static void append(struct ps *ps, struct call *call, struct waiting **list)
{
    struct waiting *waiting = waiting_create(ps, call);

    waiting->hold = list == &ps->holds;
    waiting_append(list, waiting);
}

void ps_hold(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__HoldRequest *request;
    struct waiting *earlier = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__hold_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = hold_begin(ps, request, &earlier);
        if (status_is_ok(status))
            append(ps, call, &ps->holds);
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

    struct status status =
        protocol_unpack(message, &slipway__training__cut_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = cut_begin(ps, request);
        if (status_is_ok(status))
            append(ps, call, &ps->cuts);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        wait_for_cut(ps, call);
    else
        call_fail(call, status);
}
