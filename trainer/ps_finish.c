/* How tasks and the job end, and those who wait for it. */
#include "trainer/ps_internal.h"

#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

bool ps_all_finished(const struct ps *ps)
{
    for (uint32_t i = 0; i < ps->workers_count; i++)
        if (ps->workers[i].joined && !ps->workers[i].finished)
            return false;
    return true;
}

/* With the lock: those awaits whose event has come. */
static struct waiting *awaits_due(struct ps *ps)
{
    struct waiting *due = NULL;
    bool workers = ps_all_finished(ps) || ps->over;

    for (struct waiting **at = &ps->awaits; *at != NULL;) {
        struct waiting *waiting = *at;
        if (waiting->job ? !ps->over : !workers) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        waiting->next = due;
        due = waiting;
    }
    return due;
}

static void answer_awaits(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        Slipway__Training__AwaitReply header = SLIPWAY__TRAINING__AWAIT_REPLY__INIT;
        pthread_mutex_lock(&ps->lock);
        header.code = ps->outcome;
        header.text = ps->outcome_text != NULL ? ps->outcome_text : header.text;
        if (due->job)
            ps_mark_told(ps, due->rank);
        struct message reply = protocol_pack(&header);
        pthread_mutex_unlock(&ps->lock);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

struct status ps_over_status(struct status outcome)
{
    return status_error(STATUS_CANCELLED, "the job ended: %s", outcome.message);
}

struct ending ps_set_outcome(struct ps *ps, enum status_code code, const char *text)
{
    struct ending ending = { 0 };

    if (ps->over)
        return ending;
    ps->over = true;
    ps->outcome = (int)code;
    ps->outcome_text = xstrdup(text);
    if (code != STATUS_OK) {
        ending.pushes = ps->pushes;
        ps->pushes = NULL;
    }
    ending.joins = ps->joins;
    ps->joins = NULL;
    ending.awaits = awaits_due(ps);
    return ending;
}

void ps_tell(struct ps *ps, struct ending *ending)
{
    struct status outcome;

    if (ps_outcome(ps, &outcome) && !status_is_ok(outcome)) {
        waiting_fail_all(ending->joins, ps_over_status(outcome));
        waiting_fail_all(ending->pushes, ps_over_status(outcome));
    } else {
        ps_answer_joins(ps, ending->joins);
    }
    answer_awaits(ps, ending->awaits);
}

/* Who has no ticket yet, as the chief that cannot make the variables, says who it is. */
static struct status admit_finish(struct ps *ps, const Slipway__Training__FinishRequest *request,
                                  struct worker **worker)
{
    *worker = NULL;
    if (request->identity != NULL && request->identity->reader)
        return status_error(STATUS_PERMISSION_DENIED, "a task that only reads ends nothing");
    if (ps->open || request->identity == NULL)
        return ps_admit_worker(ps, request->ticket, worker);
    TRY(ps_check_identity(ps, request->identity));
    return ps_check_place(ps, request->identity);
}

/* A worker's failure, which in synchronous training is everybody's. */
static struct ending end_with(struct ps *ps, const Slipway__Training__FinishRequest *request)
{
    const char *task = request->identity != NULL ? request->identity->task : "a worker";
    struct status outcome = { (enum status_code)request->code, request->text };

    if (!request->job)
        outcome = status_in(outcome, "%s ended", task);
    return ps_set_outcome(ps, outcome.code, outcome.message);
}

static bool is_for_good(enum status_code code)
{
    return code != STATUS_OK && code != STATUS_CANCELLED && code != STATUS_UNAVAILABLE;
}

static struct status finish(struct ps *ps, const Slipway__Training__FinishRequest *request,
                            struct ending *ending)
{
    struct worker *worker;

    if (ps->over) {
        if (request->ticket != NULL && !request->ticket->reader)
            ps_mark_told(ps, request->ticket->worker);
        return status_ok(); /* who tells it now has been told it by another */
    }
    TRY(admit_finish(ps, request, &worker));
    if (worker != NULL)
        worker->finished = true;
    if (request->code != STATUS_OK && request->identity != NULL)
        ps_leave(ps, request->identity, request->text);
    /* A synchronous step cannot go on without its worker. One that was stopped may come back. */
    if (request->job || (ps->sync && is_for_good((enum status_code)request->code)))
        *ending = end_with(ps, request);
    if (request->job && request->identity != NULL)
        ps_mark_told(ps, request->identity->index);
    return status_ok();
}

void ps_finish(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__FinishRequest *request;
    Slipway__Training__FinishReply header = SLIPWAY__TRAINING__FINISH_REPLY__INIT;
    struct ending ending = { 0 };
    struct waiting *due = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__finish_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = finish(ps, request, &ending);
        due = awaits_due(ps);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    ps_answer(call, status, &header);
    ps_tell(ps, &ending);
    answer_awaits(ps, due);
    arena_destroy(arena);
}

/* Whoever asks when the job has gone back is told so: it has steps to make. */
static struct status admit_await(struct ps *ps, const Slipway__Training__AwaitRequest *request)
{
    struct worker *worker;

    return ps->over ? status_ok() : ps_admit(ps, request->ticket, &worker);
}

static struct status await(struct ps *ps, struct call *call,
                           const Slipway__Training__AwaitRequest *request)
{
    struct waiting *waiting = waiting_create(ps, call), *due = NULL;

    waiting->job = request->job;
    waiting->rank = request->ticket == NULL || request->ticket->reader ? PS_WORKERS_MAX
                                                                       : request->ticket->worker;
    pthread_mutex_lock(&ps->lock);
    struct status status = admit_await(ps, request);
    if (status_is_ok(status)) {
        waiting_append(&ps->awaits, waiting);
        due = awaits_due(ps);
    }
    pthread_mutex_unlock(&ps->lock);
    if (!status_is_ok(status)) {
        free(waiting);
        return status;
    }
    if (due == NULL)
        call_when_left(call, ps_forget, ps);
    answer_awaits(ps, due);
    return status_ok();
}

void ps_await(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__AwaitRequest *request;

    struct status status =
        protocol_unpack(message, &slipway__training__await_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status))
        status = await(ps, call, request);
    if (!status_is_ok(status))
        call_fail(call, status);
    arena_destroy(arena);
}
