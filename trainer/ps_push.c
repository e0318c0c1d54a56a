/* Pulls and pushes: how values leave a ps and gradients come in. */
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "trainer/ps_internal.h"

#define REQUEST_ARENA_MAX ((size_t)1 << 20)

/* ---- Values out. ---- */

/* The references that a message of values holds. */
struct value_references {
    int count;
    struct bytes header;
    struct values **values; /* [count] */
    struct bytes *pieces;   /* [count] */
};

static void release_references(void *owner)
{
    struct value_references *references = owner;

    for (int i = 0; i < references->count; i++)
        values_release(references->values[i]);
    free((void *)(uintptr_t)references->header.data);
    free(references);
}

/* Every slice as it is now, or as it was before the last step: false, if it was not kept. The
 * slices do not move once they are made, so the ps' lock is not needed. */
static bool values_message(struct ps *ps, const void *header, bool before, struct message *out)
{
    size_t count = (size_t)ps->slices_count;
    struct value_references *references =
        zalloc(sizeof *references + count * (sizeof(struct values *) + sizeof(struct bytes)));
    struct buffer buffer = { 0 };

    references->pieces = (struct bytes *)(references + 1);
    references->values = (struct values **)(references->pieces + count);
    for (size_t i = 0; i < count; i++, references->count++) {
        struct slice *slice = &ps->slices[i];
        struct values *values = before ? slice_acquire_before(slice) : slice_acquire(slice);
        if (values == NULL) {
            release_references(references);
            return false;
        }
        references->values[i] = values;
        references->pieces[i] = (struct bytes){ values->data, slice->size_bytes };
    }
    proto_pack(header, &buffer);
    references->header = (struct bytes){ buffer.data, buffer.size };
    *out = (struct message){ .header = references->header,
                             .pieces = references->pieces,
                             .pieces_count = ps->slices_count,
                             .release = release_references,
                             .owner = references };
    return true;
}

/* With the lock, so that the values are those of the step that the reply names: a synchronous step
 * that is being made is waited for. */
static struct status pull(struct ps *ps, const Slipway__Training__PullRequest *request,
                          struct message *reply)
{
    Slipway__Training__PullReply header = SLIPWAY__TRAINING__PULL_REPLY__INIT;
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    while (ps->sync && ps->applying > 0)
        pthread_cond_wait(&ps->idle, &ps->lock);
    header.global_step = ps->global_step - request->before;
    header.sync = ps->sync;
    if (!values_message(ps, &header, request->before, reply))
        return status_error(STATUS_ABORTED, "ps %u has no values of before step %" PRIu64,
                            ps->options.index, ps->global_step);
    return status_ok();
}

void ps_pull(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__PullRequest *request;
    struct message reply = { 0 };

    struct status status =
        protocol_unpack(message, &slipway__training__pull_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = pull(ps, request, &reply);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
    arena_destroy(arena);
}

/* ---- Gradients in. ---- */

static void answer_push(struct ps *ps, struct waiting *push, uint64_t global_step, bool repeated)
{
    Slipway__Training__PushReply header = SLIPWAY__TRAINING__PUSH_REPLY__INIT;

    header.global_step = global_step;
    header.repeated = repeated;
    /* The gradients are given back before the sender goes on, and before values are taken: see
     * slice.h. */
    message_release(&push->request);
    struct message reply;
    if (!push->pull || !values_message(ps, &header, false, &reply))
        reply = protocol_pack(&header);
    call_reply(push->call, &reply);
    free(push);
}

/* The next `size` bytes of a push as floats: in place where they lie in one run and are aligned,
 * else in *scratch. */
static const float *gradient_next(struct payload *payload, size_t size, float **scratch)
{
    const void *data = payload_borrow(payload, size);

    if (data != NULL && (uintptr_t)data % _Alignof(float) == 0)
        return data;
    *scratch = xrealloc(*scratch, size);
    if (data != NULL)
        memcpy(*scratch, data, size);
    else
        payload_copy(payload, *scratch, size);
    return *scratch;
}

static void apply_one(struct ps *ps, const struct waiting *push)
{
    struct payload payload = { .message = &push->request };
    float *scratch = NULL;

    for (int i = 0; i < ps->slices_count; i++) {
        struct slice *slice = &ps->slices[i];
        if (slice->trainable)
            slice_apply(slice, ps->optimizer, ps->rate, ps->settings,
                        gradient_next(&payload, slice->size_bytes, &scratch), ps->keep_before);
    }
    free(scratch);
}

/* A synchronous step: the mean of all workers' gradients, summed in the order of workers. */
static void apply_mean(struct ps *ps, const struct waiting *pushes)
{
    int count = 0;

    for (const struct waiting *push = pushes; push != NULL; push = push->next)
        count++;
    struct payload *payloads = zalloc((size_t)count * sizeof *payloads);
    float **scratch = zalloc((size_t)count * sizeof *scratch);
    const float **gradients = zalloc((size_t)count * sizeof *gradients);

    for (int w = 0; w < count; w++, pushes = pushes->next)
        payloads[w].message = &pushes->request;
    for (int i = 0; i < ps->slices_count; i++) {
        struct slice *slice = &ps->slices[i];
        if (!slice->trainable)
            continue;
        for (int w = 0; w < count; w++)
            gradients[w] = gradient_next(&payloads[w], slice->size_bytes, &scratch[w]);
        optimizer_mean(gradients, count, ps->sum, slice->size_bytes / sizeof(float));
        slice_apply(slice, ps->optimizer, ps->rate, ps->settings, ps->sum, ps->keep_before);
    }
    for (int w = 0; w < count; w++)
        free(scratch[w]);
    free(scratch);
    free(gradients);
    free(payloads);
}

/* ---- What is applied next. ---- */

/* With the lock. One that is being applied already waits for that only: see pushes_applied. */
static struct waiting *asynchronous_push(struct ps *ps)
{
    for (struct waiting *push = ps->pushes; push != NULL; push = push->next) {
        struct worker *worker = push->worker;
        bool permitted = ps->held == NULL || push->sequence <= worker->permitted;
        if (push->sequence <= worker->applied || !permitted)
            continue;
        worker->applied = push->sequence;
        return waiting_take(&ps->pushes, push->call);
    }
    return NULL;
}

static struct waiting *push_of(const struct ps *ps, uint32_t index)
{
    for (struct waiting *push = ps->pushes; push != NULL; push = push->next)
        if (push->worker->index == index)
            return push;
    return NULL;
}

/* With the lock: the pushes of a synchronous step, when every worker has one waiting. All that wait
 * are for this step: see admit_push. */
static struct waiting *synchronous_pushes(struct ps *ps)
{
    struct waiting *batch = NULL;
    bool permitted = ps->held == NULL || ps->global_step < ps->permitted_step;

    if (ps->applying > 0 || !permitted)
        return NULL;
    for (uint32_t w = 0; w < ps->sync_workers; w++)
        if (push_of(ps, w) == NULL)
            return NULL;
    for (uint32_t w = 0; w < ps->sync_workers; w++)
        waiting_append(&batch, waiting_take(&ps->pushes, push_of(ps, w)->call));
    return batch;
}

/* With the lock: one push, or those of a synchronous step. NULL: none. */
static struct waiting *pushes_next(struct ps *ps)
{
    struct waiting *batch = ps->sync ? synchronous_pushes(ps) : asynchronous_push(ps);

    ps->applying += batch != NULL;
    return batch;
}

/* With the lock, when a batch was applied: the same pushes that came again meanwhile. They had to
 * wait, because the values were neither the old nor the new ones. */
static struct waiting *pushes_applied(struct ps *ps, const struct waiting *batch)
{
    struct waiting *again = NULL;

    for (const struct waiting *push = batch; push != NULL; push = push->next) {
        struct worker *worker = push->worker;
        if (worker->incarnation != push->incarnation) /* another process has its place by now */
            continue;
        worker->done = push->sequence > worker->done ? push->sequence : worker->done;
        struct waiting *copies = pushes_take(ps, worker, ps->sync ? UINT64_MAX : worker->done);
        if (copies != NULL)
            waiting_append(&again, copies);
    }
    return again;
}

static void answer_pushes(struct ps *ps, struct waiting *pushes, uint64_t step, bool repeated)
{
    while (pushes != NULL) {
        struct waiting *next = pushes->next;
        answer_push(ps, pushes, step, repeated);
        pushes = next;
    }
}

void ps_pump(struct ps *ps)
{
    for (;;) {
        pthread_mutex_lock(&ps->lock);
        struct waiting *batch = pushes_next(ps);
        pthread_mutex_unlock(&ps->lock);
        if (batch == NULL)
            return;
        if (batch->next == NULL)
            apply_one(ps, batch);
        else
            apply_mean(ps, batch);
        pthread_mutex_lock(&ps->lock);
        if (--ps->applying == 0)
            pthread_cond_broadcast(&ps->idle);
        uint64_t step = ++ps->global_step;
        struct waiting *again = pushes_applied(ps, batch);
        struct waiting *cuts = ps_cuts_due(ps);
        pthread_mutex_unlock(&ps->lock);
        ps_answer_cuts(ps, cuts);
        answer_pushes(ps, batch, step, false);
        answer_pushes(ps, again, step, true);
    }
}

/* With the lock: is it to be applied? A second sending of a push that still waits waits beside it,
 * since nobody knows which of the two has a caller who still listens. */
static struct status admit_push(struct ps *ps, const Slipway__Training__PushRequest *request,
                                struct message *message, struct waiting *push, bool *repeated)
{
    TRY(ps_admit_worker(ps, request->ticket, &push->worker));
    if (ps->sync && request->ticket->worker >= ps->sync_workers)
        return status_error(STATUS_FAILED_PRECONDITION, "worker %u of %u in a synchronous job",
                            request->ticket->worker, ps->sync_workers);
    if (ps->sync && request->local_step > ps->global_step)
        return status_error(STATUS_ABORTED,
                            "ps %u is at step %" PRIu64 ", the push is for %" PRIu64,
                            ps->options.index, ps->global_step, request->local_step);
    *repeated =
        ps->sync ? request->local_step < ps->global_step : request->sequence <= push->worker->done;
    if (*repeated)
        return status_ok();
    if (message_payload_size(message) != ps->gradient_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "push of %zu bytes, ps %u holds %zu to be trained",
                            message_payload_size(message), ps->options.index, ps->gradient_bytes);
    push->incarnation = push->worker->incarnation;
    push->sequence = request->sequence;
    push->request = message_move(message);
    waiting_append(&ps->pushes, push);
    return status_ok();
}

void ps_push(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__PushRequest *request;
    struct waiting *push = zalloc(sizeof *push);
    bool repeated = false;
    uint64_t step = 0;

    push->call = call;
    struct status status =
        protocol_unpack(message, &slipway__training__push_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        push->pull = request->pull;
        pthread_mutex_lock(&ps->lock);
        status = admit_push(ps, request, message, push, &repeated);
        step = ps->global_step;
        pthread_mutex_unlock(&ps->lock);
    }
    arena_destroy(arena);
    message_release(message); /* unless it waits now, with the push */
    if (!status_is_ok(status)) {
        free(push);
        call_fail(call, status);
    } else if (repeated) {
        answer_push(ps, push, step, true);
    } else {
        ps_pump(ps);
        call_when_left(call, ps_forget, ps);
    }
}
