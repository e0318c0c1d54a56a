/* The method Push: decides whether a worker may push, and admits its push. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes_internal.h"
#include "trainer/ps/shares.h"
#include "trainer/ps/totals.h"

static void forget_push(void *context, struct call *call)
{
    struct ps *ps = context;

    ps_lock(ps);
    struct waiting *push = waiting_take(&ps->pushes->waiting, call);
    ps_unlock(ps);
    waiting_fail_all(push, status_error(STATUS_CANCELLED, "the call was cancelled"));
}

static struct status check_step(const struct ps *ps, const struct push_request *request)
{
    const struct generation *generation = generation_of(ps);

    if (generation->sync && request->ticket->worker >= generation->sync_workers)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "worker %u pushed, but the synchronous job has the workers 0 to %u",
                            request->ticket->worker, generation->sync_workers - 1);
    /* With backup workers, the caller may have missed several steps at this ps but not at ps 0,
     * whose step it knows. The pushes that this ps lacks are in flight. */
    if (generation->sync && generation->backup_workers == 0 &&
        request->local_step > ps->pushes->step)
        return status_error(STATUS_ABORTED,
                            "worker %u pushed for the values of step %" PRIu64
                            ", but ps %u is still at step %" PRIu64,
                            request->ticket->worker, request->local_step, ps->options.index,
                            ps->pushes->step);
    return status_ok();
}

/* Finds the lists of rows after the gradients, and checks them. */
static struct status read_lists(const struct ps *ps, const struct push_request *request,
                                const struct message *message, struct push *push)
{
    size_t size = message_payload_size(message);

    if (request->ids_bytes > size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a push of %zu bytes, of which %" PRIu64 " for rows", size,
                            request->ids_bytes);
    push->rows = (struct row_list){ .message = message,
                                    .offset = size - request->ids_bytes,
                                    .count = request->rows };
    TRY(row_list_check(ps->variables, push->range, true, &push->rows));
    size_t end = push->rows.offset + push->rows.list_bytes;
    TRY(key_lists_check(ps, push->range, message, end, &request->keys, &push->keys));
    push->pull_rows = (struct row_list){ .message = message,
                                         .offset = end + push->keys.list_bytes,
                                         .count = request->pull_rows };
    TRY(row_list_check(ps->variables, push->range, false, &push->pull_rows));
    end = push->pull_rows.offset + push->pull_rows.list_bytes;
    TRY(key_lists_check(ps, push->range, message, end, &request->pull_keys, &push->pull_keys));
    size_t used = end + push->pull_keys.list_bytes - push->rows.offset;
    if (used != request->ids_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a push with lists of %" PRIu64 " bytes, and its rows take %zu",
                            request->ids_bytes, used);
    return status_ok();
}

/* Moves the message into the push. */
static void keep_message(struct push *push, struct message *message)
{
    push->waiting.request = message_move(message);
    push->rows.message = push->pull_rows.message = &push->waiting.request;
    key_lists_move(&push->keys, &push->waiting.request);
    key_lists_move(&push->pull_keys, &push->waiting.request);
}

/* Adds a push to the pending ones, or finds that it was applied before. A copy of a pending push
 * is kept too, because it is unknown which of the two callers still listens. */
static struct status admit_push(struct ps *ps, const struct push_request *request,
                                struct message *message, struct push *push, bool *repeated)
{
    TRY(membership_admit_worker(ps, request->ticket, &push->worker));
    TRY(piece_range_read(request->first_piece, request->end_piece, &push->range));
    TRY(check_step(ps, request));
    TRY(read_lists(ps, request, message, push));
    *repeated = generation_of(ps)->sync
                    ? request->local_step < ps->pushes->step
                    : request->sequence <= pushes_progress_of(ps, push->worker)->done;
    if (*repeated) {
        keep_message(push, message);
        return status_ok();
    }
    size_t wanted = variables_gradient_bytes(ps->variables, push->range) + push->rows.rows_bytes +
                    push->keys.rows_bytes;
    if (push->rows.offset != wanted)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "worker %u pushed gradients of %zu bytes, but the pieces that ps %u "
                            "trains have %zu",
                            request->ticket->worker, push->rows.offset, ps->options.index, wanted);
    if (request->turn > 0 && request->sequence > pushes_progress_of(ps, push->worker)->applied)
        TRY(shares_check_turn(ps, push->worker, request->turn - 1));
    TRY(loss_scaling_check_push(ps, request));
    TRY(totals_take(ps, request, push));
    push->overflowed = request->overflowed;
    push->turn = request->turn;
    push->incarnation = push->worker->incarnation;
    push->sequence = request->sequence;
    push->local_step = request->local_step;
    keep_message(push, message);
    waiting_append(&ps->pushes->waiting, &push->waiting);
    return status_ok();
}

void ps_push(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct push_request request;
    struct push *push = zalloc(sizeof *push);
    struct push_reply reply = { 0 };
    bool repeated = false;

    push->waiting.call = call;
    push->waiting.finish = push_finish;
    struct status status = unpack_push_request(message, arena, &request);
    if (status_is_ok(status)) {
        push->pull = request.pull;
        ps_lock(ps);
        status = admit_push(ps, &request, message, push, &repeated);
        reply = push_reply_of(ps, true);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    message_release(message); /* a no-op if the push owns it now */
    if (!status_is_ok(status)) {
        push_finish(&push->waiting);
        free(push);
        call_fail(call, status);
    } else if (repeated) {
        push_answer(ps, push, &reply);
    } else {
        pushes_apply_ready(ps);
        call_when_cancelled(call, forget_push, ps);
    }
}
