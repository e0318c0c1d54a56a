/* Answers pulls: sends all values or some of them, by reference. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/internal.h"

struct status piece_range_read(uint32_t first, uint32_t end, struct piece_range *out)
{
    *out = (struct piece_range){ first, end != 0 ? end : PIECES_END };
    if (first >= out->end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "pieces from %u up to, but not including, %u: must be at least one",
                            first, end);
    return status_ok();
}

/* The references that a message of values holds. */
struct value_references {
    int count;
    struct message header;
    struct values_buffer **values; /* [count] */
    struct bytes *pieces;          /* [count] */
};

static void release_references(void *owner)
{
    struct value_references *references = owner;

    for (int i = 0; i < references->count; i++)
        values_buffer_release(references->values[i]);
    message_release(&references->header);
    free(references);
}

bool attach_values(const struct variables *variables, struct piece_range range, bool before,
                   struct message *reply)
{
    int first = variables_find_from(variables, range.first);
    size_t count = (size_t)(variables_find_from(variables, range.end) - first);
    struct value_references *references = zalloc(
        sizeof *references + count * (sizeof(struct values_buffer *) + sizeof(struct bytes)));

    references->pieces = (struct bytes *)(references + 1);
    references->values = (struct values_buffer **)(references->pieces + count);
    for (size_t i = 0; i < count; i++, references->count++) {
        struct slice *slice = &variables->slices[(size_t)first + i];
        struct values_buffer *values = before ? slice_acquire_before(slice) : slice_acquire(slice);
        if (values == NULL) {
            release_references(references);
            return false;
        }
        references->values[i] = values;
        references->pieces[i] = (struct bytes){ values->data, slice->size_bytes };
    }
    references->header = message_move(reply);
    *reply = (struct message){ .header = references->header.header,
                               .pieces = references->pieces,
                               .pieces_count = references->count,
                               .release = release_references,
                               .owner = references };
    return true;
}

/* With the lock, so that the values are those of the step that the reply names. Waits for a
 * synchronous step that is being applied. */
static struct status pull(struct ps *ps, const struct pull_request *request, struct message *reply)
{
    const struct worker *worker;
    struct piece_range range;

    TRY(ps_admit(ps, request->ticket, &worker));
    TRY(piece_range_read(request->first_piece, request->end_piece, &range));
    if (ps_generation(ps)->sync)
        pushes_wait_until_idle(ps);
    struct pull_reply header = { .global_step = pushes_step(ps) - request->before,
                                 .sync = ps_generation(ps)->sync };
    *reply = pack_pull_reply(&header);
    if (!attach_values(ps->variables, range, request->before, reply))
        return status_error(STATUS_ABORTED,
                            "ps %u no longer has the values from before step %" PRIu64,
                            ps->options.index, pushes_step(ps));
    return status_ok();
}

void ps_pull(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct pull_request request;
    struct message reply = { 0 };

    struct status status = unpack_pull_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = pull(ps, &request, &reply);
        ps_unlock(ps);
    }
    message_release(message);
    ps_answer(call, status, reply);
    arena_destroy(arena);
}
