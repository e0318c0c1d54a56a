/* How tasks and the job end, and those who wait for it. */
#include "trainer/ps_internal.h"

#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

static bool all_finished(const struct ps *ps)
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
    bool workers = all_finished(ps) || ps->over;

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
        struct message reply = protocol_pack(&header);
        pthread_mutex_unlock(&ps->lock);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

static struct status finish(struct ps *ps, const Slipway__Training__FinishRequest *request)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    worker->finished = true;
    if (request->job && !ps->over) {
        ps->over = true;
        ps->outcome = request->code;
        ps->outcome_text = xstrdup(request->text);
    }
    return status_ok();
}

void ps_finish(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__FinishRequest *request;
    struct waiting *due = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__finish_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = finish(ps, request);
        due = awaits_due(ps);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (status_is_ok(status)) {
        Slipway__Training__FinishReply header = SLIPWAY__TRAINING__FINISH_REPLY__INIT;
        struct message reply = protocol_pack(&header);
        call_reply(call, &reply);
    } else {
        call_fail(call, status);
    }
    answer_awaits(ps, due);
    arena_destroy(arena);
}

void ps_await(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__AwaitRequest *request;

    struct status status =
        protocol_unpack(message, &slipway__training__await_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        struct waiting *waiting = waiting_create(ps, call);
        waiting->job = request->job;
        pthread_mutex_lock(&ps->lock);
        waiting_append(&ps->awaits, waiting);
        struct waiting *due = awaits_due(ps);
        pthread_mutex_unlock(&ps->lock);
        if (due == NULL)
            call_when_left(call, ps_forget, ps);
        answer_awaits(ps, due);
    } else {
        call_fail(call, status);
    }
    arena_destroy(arena);
}
