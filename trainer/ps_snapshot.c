/*
 * Snapshots that no push lies on both sides of. A push goes to all ps tasks at once, so while
 * pushes go on some ps have it and others not yet. The chief holds all ps tasks, which tell what
 * they have applied; the furthest of these is where each ps is cut: it applies what it has not yet
 * (held, or still on its way), takes one reference of each slice's values (and slots), and goes on.
 * Updates after that write elsewhere (slice.h).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps_internal.h"

#define REQUEST_ARENA_MAX ((size_t)1 << 20)

void ps_snapshot_drop(struct ps *ps)
{
    if (ps->snapshot.states == NULL)
        return;
    for (int i = 0; i < ps->slices_count; i++)
        slice_let_go(&ps->snapshot.states[i]);
    free(ps->snapshot.states);
    ps->snapshot = (struct snapshot){ 0 };
}

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

static struct message take_snapshot(struct ps *ps)
{
    Slipway__Training__CutReply header = SLIPWAY__TRAINING__CUT_REPLY__INIT;

    ps_snapshot_drop(ps);
    ps->snapshot.id = ++ps->snapshots_taken;
    ps->snapshot.states = zalloc((size_t)(ps->slices_count + 1) * sizeof *ps->snapshot.states);
    for (int i = 0; i < ps->slices_count; i++) {
        struct slice_state *state = &ps->snapshot.states[i];
        slice_hold(&ps->slices[i], ps->cut_slots, state);
        if (ps->cut_slots && ps->slices[i].trainable) { /* all slices have had the same updates */
            header.scalars = state->scalars;
            header.n_scalars = (size_t)ps->optimizer->scalars_count;
        }
    }
    header.snapshot = ps->snapshot.id;
    header.global_step = ps->global_step;
    return protocol_pack(&header);
}

static bool cut_reached(const struct ps *ps)
{
    for (uint32_t i = 0; i < ps->workers_count; i++)
        if (ps->workers[i].joined && ps->workers[i].applied < ps->workers[i].permitted)
            return false;
    return true;
}

struct cut_reply ps_cut_progress(struct ps *ps)
{
    struct cut_reply reply = { 0 };

    if (ps->applying > 0)
        return reply;
    if (ps->hold != NULL) {
        reply = (struct cut_reply){ ps->hold, hold_reply(ps) };
        ps->hold = NULL;
    } else if (ps->cut != NULL && cut_reached(ps)) {
        reply = (struct cut_reply){ ps->cut, take_snapshot(ps) };
        ps->cut = NULL;
        ps->held = false;
    }
    return reply;
}

/* The chief has given up waiting: training goes on. */
static void cut_left(void *context, struct call *call)
{
    struct ps *ps = context;

    pthread_mutex_lock(&ps->lock);
    bool mine = ps->hold == call || ps->cut == call;
    if (mine) {
        ps->hold = ps->cut = NULL;
        ps->held = false;
    }
    pthread_mutex_unlock(&ps->lock);
    if (!mine)
        return;
    call_fail(call, status_error(STATUS_CANCELLED, "the caller has left"));
    ps_pump(ps);
}

static struct status check_generation(const struct ps *ps, uint64_t generation)
{
    if (ps->stopped)
        return status_error(STATUS_UNAVAILABLE, "ps %u is stopping", ps->options.index);
    if (ps->generation == 0)
        return status_error(STATUS_FAILED_PRECONDITION, "ps %u has no variables yet",
                            ps->options.index);
    if (generation != ps->generation)
        return status_error(STATUS_ABORTED,
                            "from generation %" PRIu64 " of the job, which is at %" PRIu64,
                            generation, ps->generation);
    return status_ok();
}

/* After hold or cut was set, without the lock: answers if it is time, lets permitted pushes go on.
 */
static void progress(struct ps *ps, struct call *call)
{
    pthread_mutex_lock(&ps->lock);
    struct cut_reply reply = ps_cut_progress(ps);
    pthread_mutex_unlock(&ps->lock);
    if (reply.call != NULL)
        call_reply(reply.call, &reply.message);
    else
        call_when_left(call, cut_left, ps);
    ps_pump(ps);
}

void ps_hold(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__HoldRequest *request;
    struct call *earlier = NULL; /* of a chief that has given up, or been replaced */

    struct status status =
        protocol_unpack(message, &slipway__training__hold_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = check_generation(ps, request->generation);
        if (status_is_ok(status)) {
            earlier = ps->hold != NULL ? ps->hold : ps->cut;
            ps->cut = NULL;
            ps->held = true;
            ps->hold = call;
            for (uint32_t i = 0; i < ps->workers_count; i++)
                ps->workers[i].permitted = ps->workers[i].applied;
        }
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    if (earlier != NULL)
        call_fail(earlier, status_error(STATUS_ABORTED, "another snapshot has begun"));
    if (status_is_ok(status))
        progress(ps, call);
    else
        call_fail(call, status);
}

static struct status cut_begin(struct ps *ps, struct call *call,
                               const Slipway__Training__CutRequest *request)
{
    TRY(check_generation(ps, request->generation));
    if (ps->hold != NULL || ps->cut != NULL)
        return status_error(STATUS_UNAVAILABLE, "ps %u is being cut already", ps->options.index);
    if (!ps->held)
        return status_error(STATUS_FAILED_PRECONDITION, "ps %u was not held before the cut",
                            ps->options.index);
    for (size_t i = 0; i < request->n_until; i++) {
        const Slipway__Training__Applied *until = request->until[i];
        if (until->worker >= ps->workers_count)
            continue;
        struct worker *worker = &ps->workers[until->worker];
        if (worker->incarnation == until->incarnation && until->sequence > worker->permitted)
            worker->permitted = until->sequence;
    }
    ps->cut = call;
    ps->cut_slots = request->slots;
    return status_ok();
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
        status = cut_begin(ps, call, request);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        progress(ps, call);
    else
        call_fail(call, status);
}

/* A part of one slice, by reference. */
struct chunk {
    struct values *values;
    struct bytes piece;
    struct message header;
};

static void release_chunk(void *owner)
{
    struct chunk *chunk = owner;

    values_release(chunk->values);
    message_release(&chunk->header);
    free(chunk);
}

static const struct slice *find_slice(const struct ps *ps, uint32_t id)
{
    for (int i = 0; i < ps->slices_count; i++)
        if ((uint32_t)ps->slices[i].id == id)
            return &ps->slices[i];
    return NULL;
}

static struct status read_chunk(struct ps *ps, const Slipway__Training__ReadRequest *request,
                                struct message *reply)
{
    Slipway__Training__ReadReply header = SLIPWAY__TRAINING__READ_REPLY__INIT;
    const struct slice *slice = find_slice(ps, request->piece);

    if (ps->stopped)
        return status_error(STATUS_UNAVAILABLE, "ps %u is stopping", ps->options.index);
    if (ps->snapshot.states == NULL || ps->snapshot.id != request->snapshot)
        return status_error(STATUS_NOT_FOUND, "ps %u has no snapshot %" PRIu64, ps->options.index,
                            request->snapshot);
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    struct values *part = request->part < SLICE_PARTS_MAX
                              ? ps->snapshot.states[slice - ps->slices].parts[request->part]
                              : NULL;
    if (part == NULL)
        return status_error(STATUS_NOT_FOUND, "snapshot %" PRIu64 " has no part %u of piece %u",
                            request->snapshot, request->part, request->piece);
    if (request->offset > slice->size_bytes)
        return status_error(STATUS_OUT_OF_RANGE, "piece %u has %zu bytes, asked from %" PRIu64,
                            request->piece, slice->size_bytes, request->offset);
    size_t rest = slice->size_bytes - request->offset;
    struct chunk *chunk = zalloc(sizeof *chunk);
    chunk->values = part;
    atomic_fetch_add_explicit(&chunk->values->references, 1, memory_order_relaxed);
    chunk->piece.data = (const char *)chunk->values->data + request->offset;
    chunk->piece.size = request->size > 0 && request->size < rest ? request->size : rest;
    chunk->header = protocol_pack(&header);
    *reply = (struct message){ .header = chunk->header.header,
                               .pieces = &chunk->piece,
                               .pieces_count = 1,
                               .release = release_chunk,
                               .owner = chunk };
    return status_ok();
}

void ps_read_snapshot(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__ReadRequest *request;
    struct message reply = { 0 };

    struct status status =
        protocol_unpack(message, &slipway__training__read_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = read_chunk(ps, request, &reply);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
}

void ps_drop(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__DropRequest *request;
    Slipway__Training__DropReply header = SLIPWAY__TRAINING__DROP_REPLY__INIT;

    struct status status =
        protocol_unpack(message, &slipway__training__drop_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        if (request->snapshot == 0 && ps->hold == NULL && ps->cut == NULL)
            ps->held = false;
        else if (ps->snapshot.id == request->snapshot)
            ps_snapshot_drop(ps);
        pthread_mutex_unlock(&ps->lock);
        ps_pump(ps);
        struct message reply = protocol_pack(&header);
        call_reply(call, &reply);
    } else {
        call_fail(call, status);
    }
    arena_destroy(arena);
}
