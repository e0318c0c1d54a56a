#include "trainer/ps/membership.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/identity.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/outcome.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/shares.h"
#include "trainer/ps/snapshots.h"
#include "trainer/ps/staleness.h"

struct membership {
    struct worker *workers; /* [PS_WORKERS_MAX], by index; waiting pushes point to theirs */
    uint32_t count;         /* the largest index that joined, + 1 */
    struct worker reader;   /* not one of them: the task that only reads */
    struct waiting *joins;  /* calls that wait for the variables */
};

/* A join that waits. */
struct waiting_join {
    struct waiting waiting; /* first */
    struct worker *worker;
};

struct membership *membership_create(void)
{
    struct membership *membership = zalloc(sizeof *membership);

    membership->workers = zalloc(PS_WORKERS_MAX * sizeof *membership->workers);
    return membership;
}

void membership_destroy(struct membership *membership)
{
    for (uint32_t i = 0; i < membership->count; i++)
        free(membership->workers[i].agreed);
    free(membership->reader.agreed);
    free(membership->workers);
    free(membership);
}

uint32_t membership_count(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->membership->count;
}

const struct worker *membership_find(const struct ps *ps, uint32_t index)
{
    const struct membership *membership = ps->membership;

    ASSERT_LOCKED(ps);
    return index < membership->count && membership->workers[index].joined
               ? &membership->workers[index]
               : NULL;
}

void membership_begin(struct ps *ps)
{
    ASSERT_LOCKED(ps);
    for (uint32_t i = 0; i < ps->membership->count; i++)
        ps->membership->workers[i].finished = false;
}

void membership_finish(struct ps *ps, const struct worker *worker)
{
    ASSERT_LOCKED(ps);
    assert(!worker->reader);
    ps->membership->workers[worker->index].finished = true;
}

bool membership_all_finished(const struct ps *ps)
{
    for (uint32_t i = 0; i < membership_count(ps); i++)
        if (membership_find(ps, i) != NULL && !membership_find(ps, i)->finished)
            return false;
    return true;
}

bool membership_any_finished(const struct ps *ps)
{
    for (uint32_t i = 0; i < membership_count(ps); i++)
        if (membership_find(ps, i) != NULL && membership_find(ps, i)->finished)
            return true;
    return false;
}

/* ---- admission ---- */

/* The worker with this index, or the reader. NULL: it has not joined. */
static const struct worker *find_place(const struct ps *ps, uint32_t index, bool reader)
{
    const struct worker *the_reader = &ps->membership->reader;

    if (!reader)
        return membership_find(ps, index);
    return the_reader->joined ? the_reader : NULL;
}

static struct status check_member(const struct ps *ps, const struct worker *worker, uint32_t index,
                                  uint64_t incarnation)
{
    if (worker == NULL)
        return status_error(STATUS_ABORTED, "worker %u has not joined ps %u", index,
                            ps->options.index);
    if (worker->incarnation != incarnation)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s %u has been replaced by a later process",
                            worker->reader ? "reader" : "worker", index);
    return status_ok();
}

struct status membership_check(const struct ps *ps, uint32_t index, uint64_t incarnation)
{
    return check_member(ps, find_place(ps, index, false), index, incarnation);
}

/* ABORTED tells the caller to join again. */
struct status membership_admit(struct ps *ps, const struct ticket *ticket,
                               const struct worker **out)
{
    if (ticket == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    TRY(ps_check_running(ps));
    TRY(outcome_check(ps));
    if (ticket->ps_incarnation != 0 && ticket->ps_incarnation != ps->options.incarnation)
        return status_error(STATUS_ABORTED, "ps %u was restarted", ps->options.index);
    if (!generation_of(ps)->open)
        return status_error(STATUS_ABORTED, "ps %u waits for the chief to give it its variables",
                            ps->options.index);
    if (ticket->generation != generation_of(ps)->number)
        return status_error(STATUS_ABORTED,
                            "the request is from generation %" PRIu64
                            " of the job, ps %u is at generation %" PRIu64,
                            ticket->generation, ps->options.index, generation_of(ps)->number);
    *out = find_place(ps, ticket->worker, ticket->reader);
    return check_member(ps, *out, ticket->worker, ticket->incarnation);
}

struct status membership_admit_worker(struct ps *ps, const struct ticket *ticket,
                                      const struct worker **out)
{
    if (ticket != NULL && ticket->reader)
        return status_error(STATUS_PERMISSION_DENIED, "a task that only reads changes nothing");
    return membership_admit(ps, ticket, out);
}

/* ---- joining ---- */

/* Is there nothing left to do for a task that joins now? */
static bool is_finished(const struct ps *ps)
{
    uint64_t stop_step = generation_of(ps)->stop_step;

    return outcome_is_known(ps) || (stop_step > 0 && pushes_step(ps) >= stop_step);
}

struct status membership_check_place(const struct ps *ps, const struct identity *identity)
{
    const struct worker *worker = find_place(ps, identity->index, identity->reader);

    if (worker == NULL || worker->incarnation == identity->incarnation)
        return status_ok();
    return status_error(STATUS_FAILED_PRECONDITION, "%s has been replaced by a later process",
                        identity->task);
}

static struct worker *place_of(struct membership *membership, const struct identity *identity)
{
    if (identity->reader)
        return &membership->reader;
    if (identity->index >= membership->count)
        membership->count = identity->index + 1;
    return &membership->workers[identity->index];
}

/* Registers the caller, and resets its entry if another process had it. A task that joins after
 * the last step counts as finished at once, because no task waits for it and it has nothing to
 * report. Returns the calls of the previous process, whose pushes must not count as the new
 * one's and whose hold must end. */
static struct waiting *enter(struct ps *ps, const struct identity *identity, struct worker **out)
{
    struct worker *worker = place_of(ps->membership, identity);
    struct waiting *stale = NULL;

    *out = worker;
    if (worker->joined && worker->incarnation == identity->incarnation)
        return NULL;
    if (worker->joined) {
        stale = pushes_forget(ps, worker);
        waiting_append(&stale, snapshots_forget(ps, worker));
        waiting_append(&stale, staleness_forget(ps, worker));
        shares_forget(ps, worker);
    }
    free(worker->agreed);
    *worker = (struct worker){ .joined = true,
                               .finished = is_finished(ps),
                               .reader = identity->reader,
                               .index = identity->index,
                               .incarnation = identity->incarnation,
                               .placement_hash = identity->placement_hash,
                               .agreed = xstrdup(identity->agreed) };
    snprintf(worker->name, sizeof worker->name, "%s", identity->task);
    staleness_join(ps, worker);
    return stale;
}

/* A worker that others wait for is not told that the job is finished, even after the last step:
 * it must report first. If its first reply was lost, it would otherwise never report. */
static struct message join_reply(struct ps *ps, const struct worker *worker)
{
    const struct generation *generation = generation_of(ps);
    struct join_reply reply = { .incarnation = ps->options.incarnation,
                                .generation = generation->number,
                                .open = generation->open,
                                .global_step = pushes_step(ps),
                                .begin_step = generation->begin_step,
                                .stop_step = generation->stop_step,
                                .place = generation->place,
                                .finished = worker->finished || outcome_is_known(ps),
                                .over = outcome_is_known(ps),
                                .lead_is_limited = generation->lead_max > 0,
                                .spare = generation->backup_workers > 0,
                                .trains = generation->trains };

    return pack_join_reply(&reply);
}

struct waiting *membership_take_joins(struct ps *ps)
{
    struct waiting *joins = ps->membership->joins;

    ASSERT_LOCKED(ps);
    ps->membership->joins = NULL;
    return joins;
}

/* With the lock. */
static struct status admit_waiting(const struct ps *ps, struct worker *worker)
{
    const struct identity given = { .task = worker->name,
                                    .reader = worker->reader,
                                    .placement_hash = worker->placement_hash,
                                    .agreed = worker->agreed };
    struct status status = identity_check_settings(ps, &given);

    worker->joined &= status_is_ok(status);
    return status;
}

void membership_answer_joins(struct ps *ps, struct waiting *joins)
{
    while (joins != NULL) {
        struct waiting *next = joins->next;
        struct worker *worker = ((struct waiting_join *)joins)->worker;
        struct message reply = { 0 };
        ps_lock(ps);
        struct status status = admit_waiting(ps, worker);
        if (status_is_ok(status))
            reply = join_reply(ps, worker);
        ps_unlock(ps);
        ps_answer(joins->call, status, reply);
        free(joins);
        joins = next;
    }
}

static void forget_join(void *context, struct call *call)
{
    struct ps *ps = context;

    ps_lock(ps);
    struct waiting *join = waiting_take(&ps->membership->joins, call);
    ps_unlock(ps);
    waiting_fail_all(join, status_error(STATUS_CANCELLED, "the call was cancelled"));
}

static struct status join(struct ps *ps, struct call *call, const struct join_request *request,
                          struct message *reply, bool *waits, struct waiting **stale)
{
    TRY(identity_check(ps, request->identity));
    TRY(ps_check_running(ps));
    if (request->again)
        TRY(membership_check_place(ps, request->identity));
    if (request->wait_until_created && !generation_of(ps)->open)
        TRY(outcome_check(ps));
    struct worker *worker;
    *stale = enter(ps, request->identity, &worker);
    *waits = request->wait_until_created && !generation_of(ps)->open && !outcome_is_known(ps);
    if (!*waits) {
        *reply = join_reply(ps, worker);
        return status_ok();
    }
    struct waiting_join *join = zalloc(sizeof *join);
    join->waiting.call = call;
    join->worker = worker;
    waiting_append(&ps->membership->joins, &join->waiting);
    return status_ok();
}

void ps_join(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(LONG_REQUEST_ARENA_MAX);
    struct join_request request;
    struct message reply = { 0 };
    struct waiting *stale = NULL;
    bool waits = false;

    struct status status = unpack_join_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = join(ps, call, &request, &reply, &waits, &stale);
        ps_unlock(ps);
    }
    message_release(message);
    waiting_fail_all(stale,
                     status_error(STATUS_ABORTED, "a later process has this worker's place"));
    pushes_apply_ready(ps); /* the process that held the ps may have been replaced */
    if (!status_is_ok(status))
        call_fail(call, status);
    else if (waits)
        call_when_cancelled(call, forget_join, ps);
    else
        call_reply(call, &reply);
    arena_destroy(arena);
}
