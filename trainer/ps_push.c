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

/* Every slice as it is now. The slices do not move once they are made, so the ps' lock is not
 * needed. */
static struct message values_message(struct ps *ps, const void *header)
{
    size_t count = (size_t)ps->slices_count;
    struct value_references *references =
        zalloc(sizeof *references + count * (sizeof(struct values *) + sizeof(struct bytes)));
    struct buffer buffer = { 0 };

    references->count = ps->slices_count;
    references->pieces = (struct bytes *)(references + 1);
    references->values = (struct values **)(references->pieces + count);
    for (size_t i = 0; i < count; i++) {
        references->values[i] = slice_acquire(&ps->slices[i]);
        references->pieces[i] =
            (struct bytes){ references->values[i]->data, ps->slices[i].size_bytes };
    }
    proto_pack(header, &buffer);
    references->header = (struct bytes){ buffer.data, buffer.size };
    return (struct message){ .header = references->header,
                             .pieces = references->pieces,
                             .pieces_count = ps->slices_count,
                             .release = release_references,
                             .owner = references };
}

void ps_pull(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__PullRequest *request;
    Slipway__Training__PullReply header = SLIPWAY__TRAINING__PULL_REPLY__INIT;
    struct worker *worker;

    struct status status =
        protocol_unpack(message, &slipway__training__pull_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = ps_admit(ps, request->ticket, &worker);
        header.global_step = ps->global_step;
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (status_is_ok(status)) {
        struct message reply = values_message(ps, &header);
        call_reply(call, &reply);
    } else {
        call_fail(call, status);
    }
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
    struct message reply = push->pull ? values_message(ps, &header) : protocol_pack(&header);
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
                        gradient_next(&payload, slice->size_bytes, &scratch));
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
        slice_apply(slice, ps->optimizer, ps->rate, ps->settings, ps->sum);
    }
    for (int w = 0; w < count; w++)
        free(scratch[w]);
    free(scratch);
    free(gradients);
    free(payloads);
}

/* A push that is being applied already waits for that only: see pushes_applied. */
static bool may_apply(const struct ps *ps, const struct waiting *push)
{
    if (push->sequence <= push->worker->applied)
        return false;
    return ps->held == NULL || push->sequence <= push->worker->permitted;
}

/* With the lock: the push that worker `index` has waiting, if it may be applied. */
static struct waiting *push_of(const struct ps *ps, uint32_t index)
{
    for (struct waiting *push = ps->pushes; push != NULL; push = push->next)
        if (push->worker->index == index && may_apply(ps, push))
            return push;
    return NULL;
}

/*
 * With the lock: the pushes of a synchronous step, when every worker has one waiting.
 *
 * One that is for a later step says that its worker has no other: it died when its push had reached
 * some ps tasks and not this one, and came back to where they are. The step is then made of the
 * others', or passed over when none is for it, so that all ps tasks are at one step again.
 */
static struct waiting *sync_pushes(struct ps *ps)
{
    struct waiting *batch = NULL;
    uint64_t step = UINT64_MAX;

    for (uint32_t w = 0; w < ps->sync_workers; w++) {
        const struct waiting *push = push_of(ps, w);
        if (push == NULL)
            return NULL;
        step = push->local_step < step ? push->local_step : step;
    }
    ps->global_step = step;
    for (uint32_t w = 0; w < ps->sync_workers; w++)
        if (push_of(ps, w)->local_step == step)
            waiting_append(&batch, waiting_take(&ps->pushes, push_of(ps, w)->call));
    return batch;
}

/* With the lock: takes what is applied next: one push, or those of a synchronous step. NULL: none.
 */
static struct waiting *pushes_next(struct ps *ps)
{
    struct waiting *batch = NULL;

    if (ps->applying > 0 && ps->sync)
        return NULL;
    if (ps->sync) {
        batch = sync_pushes(ps);
    } else {
        for (struct waiting *push = ps->pushes; push != NULL && batch == NULL; push = push->next)
            if (may_apply(ps, push))
                batch = waiting_take(&ps->pushes, push->call);
    }
    for (struct waiting *push = batch; push != NULL; push = push->next)
        push->worker->applied = push->sequence;
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
        struct waiting *copies = pushes_take(ps, worker, worker->done);
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
    /* A synchronous step that was made without this push needs it no more. */
    if (ps->sync && request->local_step < ps->global_step &&
        request->sequence > push->worker->applied)
        push->worker->applied = push->worker->done = request->sequence;
    *repeated = request->sequence <= push->worker->done;
    if (*repeated)
        return status_ok();
    if (message_payload_size(message) != ps->gradient_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "push of %zu bytes, ps %u holds %zu to be trained",
                            message_payload_size(message), ps->options.index, ps->gradient_bytes);
    push->incarnation = push->worker->incarnation;
    push->sequence = request->sequence;
    push->local_step = request->local_step;
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
