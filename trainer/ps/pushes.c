#include "trainer/ps/pushes_internal.h"

#include <stdlib.h>

#include "trainer/ps/apply.h"
#include "trainer/ps/generation.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pull.h"
#include "trainer/ps/shares.h"
#include "trainer/ps/snapshots.h"
#include "trainer/ps/staleness.h"
#include "trainer/ps/totals.h"

struct pushes *pushes_create(void)
{
    struct pushes *pushes = zalloc(sizeof *pushes);

    pushes->progress = zalloc(PS_WORKERS_MAX * sizeof *pushes->progress);
    pthread_cond_init(&pushes->idle, NULL);
    return pushes;
}

void pushes_destroy(struct pushes *pushes)
{
    assert(pushes->applying == 0);
    pthread_cond_destroy(&pushes->idle);
    free(pushes->progress);
    free(pushes);
}

uint64_t pushes_step(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->pushes->step;
}

uint64_t pushes_begun(const struct ps *ps)
{
    return pushes_step(ps) + (uint64_t)ps->pushes->applying;
}

uint64_t ps_global_step(struct ps *ps)
{
    ps_lock(ps);
    uint64_t step = pushes_step(ps);
    ps_unlock(ps);
    return step;
}

bool pushes_is_idle(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->pushes->applying == 0;
}

void pushes_wait_until_idle(struct ps *ps)
{
    while (!pushes_is_idle(ps))
        ps_wait(ps, &ps->pushes->idle);
}

bool pushes_is_empty(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->pushes->waiting == NULL;
}

struct waiting *pushes_take_all(struct ps *ps)
{
    struct waiting *all = ps->pushes->waiting;

    ASSERT_LOCKED(ps);
    ps->pushes->waiting = NULL;
    return all;
}

struct push_progress *pushes_progress_of(const struct ps *ps, const struct worker *worker)
{
    assert(!worker->reader && worker->index < PS_WORKERS_MAX);
    return &ps->pushes->progress[worker->index];
}

/* Takes a worker process's pending pushes with sequence numbers up to `until`. */
static struct waiting *take_until(struct ps *ps, const struct worker *worker, uint64_t until)
{
    struct waiting *taken = NULL;

    for (struct waiting **at = &ps->pushes->waiting; *at != NULL;) {
        struct push *push = (struct push *)*at;
        if (push->worker != worker || push->incarnation != worker->incarnation ||
            push->sequence > until) {
            at = &push->waiting.next;
            continue;
        }
        *at = push->waiting.next;
        push->waiting.next = NULL;
        waiting_append(&taken, &push->waiting);
    }
    return taken;
}

struct waiting *pushes_forget(struct ps *ps, const struct worker *worker)
{
    ASSERT_LOCKED(ps);
    if (worker->reader)
        return NULL;
    *pushes_progress_of(ps, worker) = (struct push_progress){ 0 };
    return take_until(ps, worker, UINT64_MAX);
}

void pushes_begin(struct ps *ps, uint64_t step)
{
    ASSERT_LOCKED(ps);
    assert(pushes_is_idle(ps));
    memset(ps->pushes->progress, 0, PS_WORKERS_MAX * sizeof *ps->pushes->progress);
    ps->pushes->step = step;
}

/* ---- for a snapshot (snapshots.h) ---- */

void pushes_hold(struct ps *ps)
{
    struct pushes *pushes = ps->pushes;

    ASSERT_LOCKED(ps);
    pushes->held = true;
    pushes->permitted_step = pushes->step + (uint64_t)pushes->applying;
    for (uint32_t i = 0; i < membership_count(ps); i++)
        pushes->progress[i].permitted = pushes->progress[i].applied;
}

void pushes_release(struct ps *ps)
{
    ASSERT_LOCKED(ps);
    ps->pushes->held = false;
}

void pushes_permit(struct ps *ps, const struct applied_push *until)
{
    const struct worker *worker = membership_find(ps, until->worker);

    ASSERT_LOCKED(ps);
    if (worker == NULL || worker->incarnation != until->incarnation)
        return;
    struct push_progress *progress = pushes_progress_of(ps, worker);
    if (until->sequence > progress->permitted)
        progress->permitted = until->sequence;
}

void pushes_permit_step(struct ps *ps, uint64_t step)
{
    ASSERT_LOCKED(ps);
    if (step > ps->pushes->permitted_step)
        ps->pushes->permitted_step = step;
}

bool pushes_reached(const struct ps *ps)
{
    const struct pushes *pushes = ps->pushes;

    ASSERT_LOCKED(ps);
    if (generation_of(ps)->sync)
        return pushes->step >= pushes->permitted_step;
    for (uint32_t i = 0; i < membership_count(ps); i++)
        if (membership_find(ps, i) != NULL &&
            pushes->progress[i].applied < pushes->progress[i].permitted)
            return false;
    return true;
}

uint64_t pushes_applied(const struct ps *ps, const struct worker *worker)
{
    ASSERT_LOCKED(ps);
    return pushes_progress_of(ps, worker)->applied;
}

/* ---- whole pushes ---- */

/* Finds the chunk of the same push as `chunk` that begins with the piece `first`. NULL: it has
 * not arrived. */
static struct push *find_chunk(const struct ps *ps, const struct push *chunk, uint32_t first)
{
    for (struct waiting *at = ps->pushes->waiting; at != NULL; at = at->next) {
        struct push *other = (struct push *)at;
        if (other->range.first == first && other->worker == chunk->worker &&
            other->incarnation == chunk->incarnation && other->sequence == chunk->sequence)
            return other;
    }
    return NULL;
}

/* Is this the first chunk of a push all of whose chunks have arrived? */
static bool is_whole(const struct ps *ps, const struct push *first)
{
    const struct push *chunk = first->range.first == 0 ? first : NULL;

    while (chunk != NULL && chunk->range.end != PIECES_END)
        chunk = find_chunk(ps, first, chunk->range.end);
    return chunk != NULL;
}

/* Removes a whole push from the pending ones; returns its chunks in order. */
static struct push *take_whole(struct ps *ps, struct push *first)
{
    struct waiting **list = &ps->pushes->waiting;
    struct push *push = (struct push *)waiting_take(list, first->waiting.call), *last = push;

    while (last->range.end != PIECES_END) {
        struct push *next = find_chunk(ps, push, last->range.end);
        assert(next != NULL);
        last->waiting.next = waiting_take(list, next->waiting.call);
        last = next;
    }
    return push;
}

/* ---- choosing the pushes of the next update ---- */

/* The next push to apply. A copy of one that is being applied stays in the list: see
 * take_copies. */
static struct push *asynchronous_push(struct ps *ps)
{
    for (struct waiting *at = ps->pushes->waiting; at != NULL; at = at->next) {
        struct push *push = (struct push *)at;
        struct push_progress *progress = pushes_progress_of(ps, push->worker);
        bool permitted = !ps->pushes->held || push->sequence <= progress->permitted;
        if (push->sequence <= progress->applied || !permitted || !is_whole(ps, push))
            continue;
        progress->applied = push->sequence;
        if (push->turn > 0)
            shares_count(ps, push->worker, push->turn - 1);
        totals_add(ps, push);
        return take_whole(ps, push);
    }
    return NULL;
}

static struct push *push_of(const struct ps *ps, uint32_t index)
{
    for (struct waiting *at = ps->pushes->waiting; at != NULL; at = at->next) {
        struct push *push = (struct push *)at;
        bool now = push->local_step == ps->pushes->step;
        if (now && push->worker->index == index && is_whole(ps, push))
            return push;
    }
    return NULL;
}

bool pushes_has_whole(const struct ps *ps, uint32_t index)
{
    ASSERT_LOCKED(ps);
    return push_of(ps, index) != NULL;
}

/* The pushes of a synchronous step, once enough workers have a whole one: all that are there by
 * then, as in TensorFlow's SyncReplicasOptimizer. */
static struct push *synchronous_pushes(struct ps *ps)
{
    const struct pushes *pushes = ps->pushes;
    const struct generation *generation = generation_of(ps);
    uint32_t workers = generation->sync_workers, ready = 0;
    bool permitted = !pushes->held || pushes->step < pushes->permitted_step;
    struct push *taken = NULL, **end = &taken;

    if (pushes->applying > 0 || !permitted)
        return NULL;
    for (uint32_t w = 0; w < workers; w++)
        ready += push_of(ps, w) != NULL;
    if (ready < workers - generation->backup_workers)
        return NULL;
    for (uint32_t w = 0; w < workers; w++) {
        struct push *push = push_of(ps, w);
        if (push == NULL)
            continue;
        totals_add(ps, push);
        *end = take_whole(ps, push);
        end = &(*end)->next_push;
    }
    return taken;
}

/* One push, or those of a synchronous step. NULL: none. */
static struct push *take_next(struct ps *ps)
{
    struct push *taken = generation_of(ps)->sync ? synchronous_pushes(ps) : asynchronous_push(ps);

    if (taken == NULL)
        return NULL;
    const struct training *training = &ps->variables->training;
    /* Pushes that are still being applied come before this one. */
    uint64_t step = pushes_begun(ps);
    taken->rate =
        schedule_rate(&training->schedule, training->rules[0].rate,
                      schedule_step(loss_scaling_updates(ps, step), training->batches_per_step));
    loss_scaling_take(ps, taken);
    /* Larger than the step of any earlier snapshot, as key_table requires. */
    taken->step = step + 1;
    ps->pushes->applying++;
    return taken;
}

/* Takes the copies of an update's pushes that arrived while it was being applied. They had to
 * wait, because the values were neither the old nor the new ones. */
static struct waiting *take_copies(struct ps *ps, const struct push *taken)
{
    bool sync = generation_of(ps)->sync;
    struct waiting *copies = NULL;

    for (const struct push *push = taken; push != NULL; push = push->next_push) {
        const struct worker *worker = push->worker;
        if (worker->incarnation != push->incarnation) /* another process has replaced it */
            continue;
        struct push_progress *progress = pushes_progress_of(ps, worker);
        if (push->sequence > progress->done)
            progress->done = push->sequence;
        waiting_append(&copies, take_until(ps, worker, sync ? UINT64_MAX : progress->done));
    }
    return copies;
}

/* Takes the pushes that came too late for a step of a job with backup workers: they are
 * answered, and their gradients dropped. */
static struct waiting *take_late(struct ps *ps)
{
    struct waiting *late = NULL;

    for (struct waiting **at = &ps->pushes->waiting; *at != NULL && generation_of(ps)->sync;) {
        struct waiting *push = *at;
        if (((struct push *)push)->local_step >= ps->pushes->step) {
            at = &push->next;
            continue;
        }
        *at = push->next;
        push->next = NULL;
        waiting_append(&late, push);
    }
    return late;
}

void push_finish(struct waiting *waiting)
{
    struct push *push = (struct push *)waiting;

    key_lists_finish(&push->keys);
    key_lists_finish(&push->pull_keys);
    free(push->totals);
}

void push_answer(struct ps *ps, struct push *chunk, const struct push_reply *header)
{
    struct wanted_values wanted = { .range = chunk->range,
                                    .rows = chunk->pull_rows,
                                    .keys = chunk->pull_keys };
    struct message reply = pack_push_reply(header);
    struct status status = variables_check_tables(ps);

    /* Releases the gradients before the sender continues, and before values are taken: see
     * slice.h. A list of rows is still needed. */
    if (chunk->pull_rows.count == 0 && chunk->pull_keys.count == 0)
        message_release(&chunk->waiting.request);
    if (chunk->pull && status_is_ok(status))
        status = attach_values(ps, &wanted, &reply);
    message_release(&chunk->waiting.request);
    ps_answer(chunk->waiting.call, status, reply);
    push_finish(&chunk->waiting);
    free(chunk);
}

static void answer_chunks(struct ps *ps, struct waiting *chunks, const struct push_reply *header)
{
    while (chunks != NULL) {
        struct waiting *next = chunks->next;
        push_answer(ps, (struct push *)chunks, header);
        chunks = next;
    }
}

struct push_reply push_reply_of(const struct ps *ps, bool repeated)
{
    return (struct push_reply){ .global_step = pushes_step(ps),
                                .stop_step = generation_of(ps)->stop_step,
                                .repeated = repeated,
                                .loss_scale = loss_scaling_state(ps, false),
                                .overflowed = loss_scaling_overflowed(ps) };
}

/* With the lock: an update was applied. */
static void end_update(struct pushes *pushes)
{
    assert(pushes->applying > 0);
    if (--pushes->applying == 0)
        pthread_cond_broadcast(&pushes->idle);
    pushes->step++;
}

void pushes_apply_ready(struct ps *ps)
{
    for (;;) {
        ps_lock(ps);
        struct push *taken = take_next(ps);
        ps_unlock(ps);
        if (taken == NULL)
            return;
        push_apply(ps->variables, taken);
        ps_lock(ps);
        end_update(ps->pushes);
        loss_scaling_count(ps, taken);
        struct push_reply done = push_reply_of(ps, false), repeated = push_reply_of(ps, true);
        struct waiting *copies = take_copies(ps, taken);
        waiting_append(&copies, take_late(ps));
        struct waiting *cuts = snapshots_due(ps), *passes = staleness_due(ps);
        ps_unlock(ps);
        snapshots_answer(ps, cuts);
        staleness_answer(passes);
        while (taken != NULL) {
            struct push *next = taken->next_push;
            answer_chunks(ps, &taken->waiting, &done);
            taken = next;
        }
        answer_chunks(ps, copies, &repeated);
    }
}
