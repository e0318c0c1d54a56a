/* Who takes part in a job, and who is refused. */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

/* Who has that place; NULL: nobody has joined. */
static struct worker *find_worker(struct ps *ps, uint32_t index, bool reader)
{
    struct worker *worker = reader                      ? &ps->reader
                            : index < ps->workers_count ? &ps->workers[index]
                                                        : NULL;

    return worker != NULL && worker->joined ? worker : NULL;
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
                            worker == &ps->reader ? "reader" : "worker", index);
    return status_ok();
}

struct status ps_check_member(struct ps *ps, uint32_t index, uint64_t incarnation)
{
    return check_member(ps, find_worker(ps, index, false), index, incarnation);
}

/* ABORTED: who joins again takes part again. */
struct status ps_admit(struct ps *ps, const Slipway__Training__Ticket *ticket, struct worker **out)
{
    if (ticket == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    if (ps->over && ps->outcome != STATUS_OK)
        return ps_over_status((struct status){ (enum status_code)ps->outcome, ps->outcome_text });
    if (ticket->ps_incarnation != 0 && ticket->ps_incarnation != ps->options.incarnation)
        return status_error(STATUS_ABORTED, "ps %u was started anew", ps->options.index);
    if (!ps->open)
        return status_error(STATUS_ABORTED, "ps %u waits for the chief to give it its variables",
                            ps->options.index);
    if (ticket->generation != ps->generation)
        return status_error(STATUS_ABORTED,
                            "from generation %" PRIu64 " of the job, which is at %" PRIu64,
                            ticket->generation, ps->generation);
    *out = find_worker(ps, ticket->worker, ticket->reader);
    return check_member(ps, *out, ticket->worker, ticket->incarnation);
}

struct status ps_admit_worker(struct ps *ps, const Slipway__Training__Ticket *ticket,
                              struct worker **out)
{
    if (ticket != NULL && ticket->reader)
        return status_error(STATUS_PERMISSION_DENIED, "a task that only reads changes nothing");
    return ps_admit(ps, ticket, out);
}

/* Is there nothing left to do for who joins now? */
static bool is_finished(const struct ps *ps)
{
    return ps->over || (ps->stop_step > 0 && ps->global_step >= ps->stop_step);
}

struct status ps_check_place(struct ps *ps, const Slipway__Training__Identity *identity)
{
    const struct worker *worker = find_worker(ps, identity->index, identity->reader);

    if (worker == NULL || worker->incarnation == identity->incarnation)
        return status_ok();
    return status_error(STATUS_FAILED_PRECONDITION, "%s has been replaced by a later process",
                        identity->task);
}

static struct worker *place_of(struct ps *ps, const Slipway__Training__Identity *identity)
{
    if (identity->reader)
        return &ps->reader;
    if (ps->workers == NULL) /* does not move: pushes that wait point to their worker */
        ps->workers = zalloc(PS_WORKERS_MAX * sizeof *ps->workers);
    if (identity->index >= ps->workers_count)
        ps->workers_count = identity->index + 1;
    return &ps->workers[identity->index];
}

/* Its place, begun anew when another process than before has it. Nobody waits for who comes when
 * the last step is done: it is told so, and has nothing to report.
 * Returns what the process before waits for: its pushes must not count as the new one's, its hold
 * must not last. */
static struct waiting *enter(struct ps *ps, const Slipway__Training__Identity *identity,
                             struct worker **out)
{
    struct worker *worker = *out = place_of(ps, identity);
    struct cutter *cutter = ps_cutter(ps, worker);

    if (worker->joined && worker->incarnation == identity->incarnation)
        return NULL;
    struct waiting *stale = pushes_take(ps, worker, UINT64_MAX);
    if (cutter->worker == worker)
        waiting_append(&stale, ps_cutter_leave(ps, cutter));
    *worker = (struct worker){ .joined = true,
                               .finished = is_finished(ps),
                               .index = identity->index,
                               .incarnation = identity->incarnation };
    return stale;
}

/* Who is waited for is not told that the job is done, even when its steps are: it has to report. A
 * worker whose first reply was lost would otherwise never do. */
struct message ps_join_reply(struct ps *ps, const struct worker *worker)
{
    Slipway__Training__JoinReply reply = SLIPWAY__TRAINING__JOIN_REPLY__INIT;

    reply.incarnation = ps->options.incarnation;
    reply.generation = ps->generation;
    reply.open = ps->open;
    reply.global_step = ps->global_step;
    reply.begin_step = ps->begin_step;
    reply.stop_step = ps->stop_step;
    reply.finished = worker->finished || ps->over;
    reply.over = ps->over;
    return protocol_pack(&reply);
}

static struct status join(struct ps *ps, struct call *call,
                          const Slipway__Training__JoinRequest *request, struct message *reply,
                          bool *waits, struct waiting **stale)
{
    TRY(ps_check_identity(ps, request->identity));
    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    if (request->again)
        TRY(ps_check_place(ps, request->identity));
    if (request->wait_until_created && !ps->open && ps->over && ps->outcome != STATUS_OK)
        return ps_over_status((struct status){ (enum status_code)ps->outcome, ps->outcome_text });
    struct worker *worker;
    *stale = enter(ps, request->identity, &worker);
    *waits = !ps->open && !ps->over && request->wait_until_created;
    if (!*waits) {
        *reply = ps_join_reply(ps, worker);
        return status_ok();
    }
    struct waiting *waiting = waiting_create(ps, call);
    waiting->worker = worker;
    waiting_append(&ps->joins, waiting);
    return status_ok();
}

void ps_join(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__JoinRequest *request;
    struct message reply = { 0 };
    struct waiting *stale = NULL;
    bool waits = false;

    struct status status =
        protocol_unpack(message, &slipway__training__join_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = join(ps, call, request, &reply, &waits, &stale);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    waiting_fail_all(stale,
                     status_error(STATUS_ABORTED, "a later process has this worker's place"));
    ps_pump(ps); /* who held the ps may be gone */
    if (!status_is_ok(status))
        call_fail(call, status);
    else if (waits)
        call_when_left(call, ps_forget, ps);
    else
        call_reply(call, &reply);
    arena_destroy(arena);
}
