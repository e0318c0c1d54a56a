/* Write: the first values and slots of a generation arrive in chunks. */
#include "trainer/ps/internal.h"

static struct status write_part(struct ps *ps, const struct write_request *request,
                                const struct message *message)
{
    TRY(generation_check_filling(ps, request->generation, request->incarnation));
    if (ps_generation(ps)->open)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u has been opened already: its values are the workers' now",
                            ps->options.index);
    struct slice *slice = variables_find(ps->variables, request->piece);
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
    struct write_request request;

    struct status status = unpack_write_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = write_part(ps, &request, message);
        ps_unlock(ps);
    }
    message_release(message);
    arena_destroy(arena);
    ps_answer(call, status, pack_done());
}
