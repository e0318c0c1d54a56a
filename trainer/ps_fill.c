/* Write and Open: what a generation begins with comes in chunks, and then it begins. */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)1 << 20)

/* Is it being filled, and by this chief? */
static struct status check_filling(const struct ps *ps, uint64_t generation, uint64_t incarnation)
{
    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    if (ps->generation == 0 || generation != ps->generation || incarnation != ps->creator)
        return status_error(STATUS_ABORTED,
                            "ps %u is at generation %" PRIu64 " of another, not at %" PRIu64,
                            ps->options.index, ps->generation, generation);
    return status_ok();
}

static struct status write_part(struct ps *ps, const Slipway__Training__WriteRequest *request,
                                const struct message *message)
{
    TRY(check_filling(ps, request->generation, request->incarnation));
    if (ps->open)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u has been opened already: its values are the workers' now",
                            ps->options.index);
    struct slice *slice = ps_find_slice(ps, request->piece);
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    return status_in(slice_fill(slice, request->part, request->offset, message), "ps %u",
                     ps->options.index);
}

void ps_write(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__WriteRequest *request;
    Slipway__Training__WriteReply header = SLIPWAY__TRAINING__WRITE_REPLY__INIT;

    struct status status =
        protocol_unpack(message, &slipway__training__write_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = write_part(ps, request, message);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    arena_destroy(arena);
    ps_answer(call, status, &header);
}

static struct status open_generation(struct ps *ps, const Slipway__Training__OpenRequest *request)
{
    TRY(check_filling(ps, request->generation, request->incarnation));
    for (int i = 0; i < ps->slices_count && !ps->open; i++)
        TRY(status_in(slice_check_filled(&ps->slices[i]), "ps %u", ps->options.index));
    ps->open = true;
    if (ps->opened_ns == 0)
        ps->opened_ns = clock_now_ns(ps->options.clock);
    return status_ok();
}

void ps_answer_joins(struct ps *ps, struct waiting *joins)
{
    while (joins != NULL) {
        struct waiting *next = joins->next;
        pthread_mutex_lock(&ps->lock);
        struct message reply = ps_join_reply(ps, joins->worker);
        pthread_mutex_unlock(&ps->lock);
        call_reply(joins->call, &reply);
        free(joins);
        joins = next;
    }
}

void ps_open(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__OpenRequest *request;
    Slipway__Training__OpenReply header = SLIPWAY__TRAINING__OPEN_REPLY__INIT;
    struct waiting *joins = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__open_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = open_generation(ps, request);
        if (status_is_ok(status)) {
            joins = ps->joins;
            ps->joins = NULL;
        }
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    ps_answer(call, status, &header);
    ps_answer_joins(ps, joins);
}
