#include "trainer/ps/outcome.h"

#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/identity.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/staleness.h"

struct outcome {
    bool known;
    enum status_code code;
    char *text; /* on the heap; NULL before it is known */
    struct waiting *awaits;
};

struct waiting_await {
    struct waiting waiting; /* first */
    uint32_t rank;          /* of its caller; PS_WORKERS_MAX: it has no rank */
    bool job;               /* it waits for the outcome rather than for the end of all workers */
};

struct outcome *outcome_create(void)
{
    return zalloc(sizeof(struct outcome));
}

void outcome_destroy(struct outcome *outcome)
{
    free(outcome->text);
    free(outcome);
}

bool outcome_is_known(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->outcome->known;
}

struct status outcome_status(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return (struct status){ ps->outcome->code, ps->outcome->known ? ps->outcome->text : "" };
}

static struct status over_status(struct status outcome)
{
    return status_error(STATUS_CANCELLED, "the job ended: %s", outcome.message);
}

struct status outcome_check(const struct ps *ps)
{
    struct status outcome = outcome_status(ps);

    return status_is_ok(outcome) ? outcome : over_status(outcome);
}

bool ps_outcome(struct ps *ps, struct status *out)
{
    ps_lock(ps);
    bool known = outcome_is_known(ps);
    *out = outcome_status(ps);
    ps_unlock(ps);
    return known;
}

struct waiting *outcome_take_awaits(struct ps *ps)
{
    struct waiting *awaits = ps->outcome->awaits;

    ASSERT_LOCKED(ps);
    ps->outcome->awaits = NULL;
    return awaits;
}

/* With the lock: takes the awaits that can be answered now. */
static struct waiting *awaits_due(struct ps *ps)
{
    struct waiting *due = NULL;
    bool over = ps->outcome->known, workers = membership_all_finished(ps) || over;

    for (struct waiting **at = &ps->outcome->awaits; *at != NULL;) {
        struct waiting_await *await = (struct waiting_await *)*at;
        if (await->job ? !over : !workers) {
            at = &await->waiting.next;
            continue;
        }
        *at = await->waiting.next;
        await->waiting.next = due;
        due = &await->waiting;
    }
    return due;
}

static void answer_awaits(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        const struct waiting_await *await = (struct waiting_await *)due;
        ps_lock(ps);
        struct status outcome = outcome_status(ps);
        struct await_reply header = { (int)outcome.code, outcome.message };
        if (await->job)
            liveness_mark_informed(ps, await->rank);
        struct message reply = pack_await_reply(&header);
        ps_unlock(ps);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

struct ending outcome_set(struct ps *ps, enum status_code code, const char *text)
{
    struct outcome *outcome = ps->outcome;
    struct ending ending = { 0 };

    ASSERT_LOCKED(ps);
    if (outcome->known)
        return ending;
    outcome->known = true;
    outcome->code = code;
    outcome->text = xstrdup(text);
    if (code != STATUS_OK) {
        ending.pushes = pushes_take_all(ps);
        waiting_append(&ending.pushes, staleness_take_all(ps));
    }
    ending.joins = membership_take_joins(ps);
    ending.awaits = awaits_due(ps);
    return ending;
}

void outcome_announce(struct ps *ps, struct ending *ending)
{
    struct status outcome;

    if (ps_outcome(ps, &outcome) && !status_is_ok(outcome)) {
        waiting_fail_all(ending->joins, over_status(outcome));
        waiting_fail_all(ending->pushes, over_status(outcome));
    } else {
        membership_answer_joins(ps, ending->joins);
    }
    answer_awaits(ps, ending->awaits);
}

void ps_end(struct ps *ps, struct status outcome)
{
    ps_lock(ps);
    struct ending ending = outcome_set(ps, outcome.code, outcome.message);
    ps_unlock(ps);
    outcome_announce(ps, &ending);
}

/* Does a task report that it has not become a part of the job, as it was refused, or has waited too
 * long? */
static bool has_not_joined(const struct ps *ps, const struct finish_request *request)
{
    return !request->job && request->code == STATUS_UNAVAILABLE && request->ticket != NULL &&
           request->ticket->generation != generation_of(ps)->number;
}

/* A task without a ticket, such as a chief that could not create the variables, is admitted by
 * its identity. */
static struct status admit_finish(struct ps *ps, const struct finish_request *request,
                                  const struct worker **worker)
{
    *worker = NULL;
    if (request->identity != NULL && request->identity->reader)
        return status_error(STATUS_PERMISSION_DENIED, "a task that only reads ends nothing");
    if (request->identity != NULL && request->identity->index >= PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s has index %u, must be below %d",
                            request->identity->task, request->identity->index, PS_WORKERS_MAX);
    if (request->identity != NULL && has_not_joined(ps, request)) /* it changes only the log */
        return identity_check_job(ps, request->identity);
    if (generation_of(ps)->open || request->identity == NULL)
        return membership_admit_worker(ps, request->ticket, worker);
    TRY(identity_check(ps, request->identity));
    return membership_check_place(ps, request->identity);
}

/* The job's outcome according to this report. If a worker failed, the text names it. */
static struct ending end_with(struct ps *ps, const struct finish_request *request)
{
    const char *task = request->identity != NULL ? request->identity->task : "a worker";
    struct status outcome = { (enum status_code)request->code, request->text };

    if (!request->job)
        outcome = status_in(outcome, "%s ended", task);
    return outcome_set(ps, outcome.code, outcome.message);
}

static bool is_for_good(enum status_code code)
{
    return code != STATUS_OK && code != STATUS_CANCELLED && code != STATUS_UNAVAILABLE;
}

/* A synchronous job cannot continue without a worker that failed; one that was stopped may come
 * back. If the data are damaged, continuing with the other workers would hide that some rows are
 * left out. */
static bool ends_job(const struct ps *ps, const struct finish_request *request)
{
    enum status_code code = (enum status_code)request->code;

    return request->job || code == STATUS_DATA_LOSS ||
           (generation_of(ps)->sync && generation_of(ps)->backup_workers == 0 && is_for_good(code));
}

static struct status finish(struct ps *ps, const struct finish_request *request,
                            struct ending *ending)
{
    const struct worker *worker;

    if (outcome_is_known(ps)) {
        if (request->ticket != NULL && !request->ticket->reader)
            liveness_mark_informed(ps, request->ticket->worker);
        return status_ok(); /* the sender knows the outcome from another ps */
    }
    TRY(admit_finish(ps, request, &worker));
    if (worker != NULL)
        membership_finish(ps, worker);
    if (request->code != STATUS_OK && request->identity != NULL)
        liveness_record_failure(ps, request->identity, request->text);
    if (ends_job(ps, request))
        *ending = end_with(ps, request);
    if (request->job && request->identity != NULL)
        liveness_mark_informed(ps, request->identity->index);
    return status_ok();
}

void ps_finish(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(LONG_REQUEST_ARENA_MAX);
    struct finish_request request;
    struct ending ending = { 0 };
    struct waiting *due = NULL;

    struct status status = unpack_finish_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = finish(ps, &request, &ending);
        due = awaits_due(ps);
        ps_unlock(ps);
    }
    message_release(message);
    ps_answer(call, status, pack_done());
    outcome_announce(ps, &ending);
    answer_awaits(ps, due);
    staleness_check(ps); /* nobody waits for this worker any more */
    arena_destroy(arena);
}

/* If the job has returned to an earlier step, the caller is refused: it has steps to repeat. */
static struct status admit_await(struct ps *ps, const struct await_request *request)
{
    const struct worker *worker;

    return outcome_is_known(ps) ? status_ok() : membership_admit(ps, request->ticket, &worker);
}

static void forget_await(void *context, struct call *call)
{
    struct ps *ps = context;

    ps_lock(ps);
    struct waiting *await = waiting_take(&ps->outcome->awaits, call);
    ps_unlock(ps);
    waiting_fail_all(await, status_error(STATUS_CANCELLED, "the call was cancelled"));
}

static struct status begin_await(struct ps *ps, struct call *call,
                                 const struct await_request *request)
{
    struct waiting_await *await = zalloc(sizeof *await);
    struct waiting *due = NULL;

    await->waiting.call = call;
    await->job = request->job;
    await->rank = request->ticket == NULL || request->ticket->reader ? PS_WORKERS_MAX
                                                                     : request->ticket->worker;
    ps_lock(ps);
    struct status status = admit_await(ps, request);
    if (status_is_ok(status)) {
        waiting_append(&ps->outcome->awaits, &await->waiting);
        due = awaits_due(ps);
    }
    ps_unlock(ps);
    if (!status_is_ok(status)) {
        free(await);
        return status;
    }
    if (due == NULL)
        call_when_cancelled(call, forget_await, ps);
    answer_awaits(ps, due);
    return status_ok();
}

void ps_await(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(LONG_REQUEST_ARENA_MAX);
    struct await_request request;

    struct status status = unpack_await_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status))
        status = begin_await(ps, call, &request);
    if (!status_is_ok(status))
        call_fail(call, status);
    arena_destroy(arena);
}
