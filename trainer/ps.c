#include "trainer/ps_internal.h"

#include <stdlib.h>

struct ps *ps_create(const struct ps_options *options)
{
    struct ps *ps = zalloc(sizeof *ps);

    ps->options = *options;
    if (ps->options.clock == NULL)
        ps->options.clock = clock_monotonic();
    pthread_mutex_init(&ps->lock, NULL);
    pthread_cond_init(&ps->idle, NULL);
    return ps;
}

void ps_destroy(struct ps *ps)
{
    if (ps == NULL)
        return;
    for (size_t i = 0; i < COUNT(ps->cutters); i++)
        ps_snapshot_drop(ps, &ps->cutters[i].snapshot);
    for (int i = 0; i < ps->slices_count; i++)
        slice_finish(&ps->slices[i]);
    if (ps->options.budget != NULL)
        budget_give(ps->options.budget, ps->paid_bytes);
    free(ps->slices);
    free(ps->block);
    free(ps->sum);
    free(ps->workers);
    for (uint32_t rank = 0; ps->members != NULL && rank < PS_WORKERS_MAX; rank++)
        free(ps->members[rank].left);
    free(ps->members);
    free(ps->outcome_text);
    free(ps->agreed);
    pthread_cond_destroy(&ps->idle);
    pthread_mutex_destroy(&ps->lock);
    free(ps);
}

uint64_t ps_global_step(struct ps *ps)
{
    pthread_mutex_lock(&ps->lock);
    uint64_t step = ps->global_step;
    pthread_mutex_unlock(&ps->lock);
    return step;
}

struct slice *ps_find_slice(struct ps *ps, uint32_t id)
{
    for (int i = 0; i < ps->slices_count; i++)
        if ((uint32_t)ps->slices[i].id == id)
            return &ps->slices[i];
    return NULL;
}

void waiting_append(struct waiting **list, struct waiting *waiting)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = waiting;
}

struct waiting *waiting_take(struct waiting **list, const struct call *call)
{
    for (; *list != NULL; list = &(*list)->next)
        if ((*list)->call == call) {
            struct waiting *taken = *list;
            *list = taken->next;
            taken->next = NULL;
            return taken;
        }
    return NULL;
}

struct waiting *pushes_take(struct ps *ps, const struct worker *worker, uint64_t until)
{
    struct waiting *taken = NULL;

    for (struct waiting **at = &ps->pushes; *at != NULL;) {
        struct waiting *push = *at;
        if (push->worker != worker || push->incarnation != worker->incarnation ||
            push->sequence > until) {
            at = &push->next;
            continue;
        }
        *at = push->next;
        push->next = NULL;
        waiting_append(&taken, push);
    }
    return taken;
}

void waiting_fail_all(struct waiting *list, struct status why)
{
    while (list != NULL) {
        struct waiting *next = list->next;
        message_release(&list->request);
        call_fail(list->call, why);
        free(list);
        list = next;
    }
}

void ps_forget(void *context, struct call *call)
{
    struct ps *ps = context;

    pthread_mutex_lock(&ps->lock);
    struct waiting *waiting = waiting_take(&ps->joins, call);
    if (waiting == NULL)
        waiting = waiting_take(&ps->pushes, call);
    if (waiting == NULL)
        waiting = waiting_take(&ps->awaits, call);
    pthread_mutex_unlock(&ps->lock);
    waiting_fail_all(waiting, status_error(STATUS_CANCELLED, "the caller has left"));
}

void ps_stop(struct ps *ps, struct status why)
{
    pthread_mutex_lock(&ps->lock);
    struct waiting *joins = ps->joins, *pushes = ps->pushes, *awaits = ps->awaits;
    struct waiting *cuts = ps_let_go(ps);
    ps->joins = ps->pushes = ps->awaits = NULL;
    ps->stopped = true;
    pthread_mutex_unlock(&ps->lock);
    waiting_fail_all(joins, why);
    waiting_fail_all(pushes, why);
    waiting_fail_all(awaits, why);
    waiting_fail_all(cuts, why);
}

struct waiting *waiting_create(struct ps *ps, struct call *call)
{
    struct waiting *waiting = zalloc(sizeof *waiting);

    waiting->ps = ps;
    waiting->call = call;
    return waiting;
}

void ps_answer(struct call *call, struct status status, const void *header)
{
    if (!status_is_ok(status)) {
        call_fail(call, status);
        return;
    }
    struct message reply = protocol_pack(header);
    call_reply(call, &reply);
}

/* All with payload: values, gradients and chunks travel by reference. */
static const struct method methods[] = {
    { PS_JOIN, ps_join, METHOD_UNARY, true },
    { PS_CREATE, ps_create_variables, METHOD_UNARY, true },
    { PS_WRITE, ps_write, METHOD_UNARY, true },
    { PS_OPEN, ps_open, METHOD_UNARY, true },
    { PS_PULL, ps_pull, METHOD_UNARY, true },
    { PS_PUSH, ps_push, METHOD_UNARY, true },
    { PS_HOLD, ps_hold, METHOD_UNARY, true },
    { PS_CUT, ps_cut, METHOD_UNARY, true },
    { PS_READ, ps_read_snapshot, METHOD_UNARY, true },
    { PS_DROP, ps_drop, METHOD_UNARY, true },
    { PS_FINISH, ps_finish, METHOD_UNARY, true },
    { PS_AWAIT, ps_await, METHOD_UNARY, true },
    { PS_BEAT, ps_beat, METHOD_UNARY, true },
};

const struct service ps_service = { methods, COUNT(methods) };
