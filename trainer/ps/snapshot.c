/* Reads snapshots: chunks of slices as they were when ps/cut.c took the snapshot. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/snapshots.h"

void snapshot_drop(struct ps *ps, struct snapshot *snapshot)
{
    if (snapshot->states == NULL)
        return;
    for (int i = 0; i < ps->variables->slices_count; i++)
        slice_let_go(&snapshot->states[i]);
    free(snapshot->states);
    *snapshot = (struct snapshot){ 0 };
}

/* NULL: it was dropped. */
static struct cutter *find_taken(struct ps *ps, uint64_t id)
{
    for (size_t i = 0; i < COUNT(ps->snapshots->cutters); i++)
        if (ps->snapshots->cutters[i].snapshot.states != NULL &&
            ps->snapshots->cutters[i].snapshot.id == id)
            return &ps->snapshots->cutters[i];
    return NULL;
}

/* A part of one slice, by reference. */
struct chunk {
    struct values_buffer *values;
    struct bytes piece;
};

static void release_chunk(void *owner)
{
    struct chunk *chunk = owner;

    values_buffer_release(chunk->values);
    free(chunk);
}

static struct status read_chunk(struct ps *ps, const struct read_request *request,
                                struct message *reply)
{
    const struct slice *slice = variables_find(ps->variables, request->piece);
    struct cutter *cutter = find_taken(ps, request->snapshot);

    TRY(ps_check_running(ps));
    if (cutter == NULL) /* for instance because the ps was restarted */
        return status_error(STATUS_ABORTED, "ps %u has no snapshot %" PRIu64, ps->options.index,
                            request->snapshot);
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    struct values_buffer *part =
        request->part < SLICE_PARTS_MAX
            ? cutter->snapshot.states[slice - ps->variables->slices].parts[request->part]
            : NULL;
    if (part == NULL)
        return status_error(STATUS_NOT_FOUND, "snapshot %" PRIu64 " has no part %u of piece %u",
                            request->snapshot, request->part, request->piece);
    if (request->offset > slice->size_bytes)
        return status_error(STATUS_OUT_OF_RANGE,
                            "piece %u has %zu bytes, it cannot be read from offset %" PRIu64,
                            request->piece, slice->size_bytes, request->offset);
    cutter->heard_ns = clock_now_ns(ps->options.clock);
    size_t rest = slice->size_bytes - request->offset;
    struct chunk *chunk = zalloc(sizeof *chunk);
    chunk->values = part;
    atomic_fetch_add_explicit(&chunk->values->references, 1, memory_order_relaxed);
    chunk->piece.data = (const char *)chunk->values->data + request->offset;
    chunk->piece.size = request->size > 0 && request->size < rest ? request->size : rest;
    *reply = (struct message){ .header = { "", 0 },
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
    struct read_request request;
    struct message reply = { 0 };

    struct status status = unpack_read_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = read_chunk(ps, &request, &reply);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
}

/* With the lock: drops the caller's snapshot, and ends its hold if no cut has followed. */
static struct status drop(struct ps *ps, const struct drop_request *request, struct waiting **left)
{
    const struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    struct cutter *cutter = snapshots_cutter(ps, worker);
    if (cutter->worker != worker || request->number != cutter->number)
        return status_ok(); /* an earlier snapshot, which is gone already */
    if (ps->snapshots->held == cutter)
        *left = snapshots_let_go(ps);
    snapshot_drop(ps, &cutter->snapshot);
    return status_ok();
}

void ps_drop(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct drop_request request;
    struct waiting *left = NULL;

    struct status status = unpack_drop_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = drop(ps, &request, &left);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    waiting_fail_all(left, status_error(STATUS_CANCELLED, "the snapshot is no longer wanted"));
    ps_pump(ps);
    ps_answer(call, status, pack_done());
}
