/* Snapshots as they are read: chunks of slices as they were when the ps was cut (ps_cut.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps_internal.h"

#define REQUEST_ARENA_MAX ((size_t)1 << 20)

void ps_snapshot_drop(struct ps *ps, struct snapshot *snapshot)
{
    if (snapshot->states == NULL)
        return;
    for (int i = 0; i < ps->slices_count; i++)
        slice_let_go(&snapshot->states[i]);
    free(snapshot->states);
    *snapshot = (struct snapshot){ 0 };
}

/* NULL: it is gone. */
static struct cutter *find_taken(struct ps *ps, uint64_t id)
{
    for (size_t i = 0; i < COUNT(ps->cutters); i++)
        if (ps->cutters[i].snapshot.states != NULL && ps->cutters[i].snapshot.id == id)
            return &ps->cutters[i];
    return NULL;
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

static struct status read_chunk(struct ps *ps, const Slipway__Training__ReadRequest *request,
                                struct message *reply)
{
    Slipway__Training__ReadReply header = SLIPWAY__TRAINING__READ_REPLY__INIT;
    const struct slice *slice = ps_find_slice(ps, request->piece);
    struct cutter *cutter = find_taken(ps, request->snapshot);

    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    if (cutter == NULL) /* the ps was started anew, say */
        return status_error(STATUS_ABORTED, "ps %u has no snapshot %" PRIu64, ps->options.index,
                            request->snapshot);
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    struct values *part = request->part < SLICE_PARTS_MAX
                              ? cutter->snapshot.states[slice - ps->slices].parts[request->part]
                              : NULL;
    if (part == NULL)
        return status_error(STATUS_NOT_FOUND, "snapshot %" PRIu64 " has no part %u of piece %u",
                            request->snapshot, request->part, request->piece);
    if (request->offset > slice->size_bytes)
        return status_error(STATUS_OUT_OF_RANGE, "piece %u has %zu bytes, asked from %" PRIu64,
                            request->piece, slice->size_bytes, request->offset);
    cutter->heard_ns = clock_now_ns(ps->options.clock);
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

/* With the lock: the values are given back, and a hold that no cut followed is let go. */
static struct status drop(struct ps *ps, const Slipway__Training__DropRequest *request,
                          struct waiting **left)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    struct cutter *cutter = ps_cutter(ps, worker);
    if (cutter->worker != worker || request->number != cutter->number)
        return status_ok(); /* of an earlier one: it is gone already */
    if (ps->held == cutter)
        *left = ps_let_go(ps);
    ps_snapshot_drop(ps, &cutter->snapshot);
    return status_ok();
}

void ps_drop(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__DropRequest *request;
    Slipway__Training__DropReply header = SLIPWAY__TRAINING__DROP_REPLY__INIT;
    struct waiting *left = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__drop_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = drop(ps, request, &left);
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    waiting_fail_all(left, status_error(STATUS_CANCELLED, "the snapshot is no longer wanted"));
    ps_pump(ps);
    ps_answer(call, status, &header);
}
