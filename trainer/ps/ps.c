#include "trainer/ps/ps.h"

#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/notes.h"
#include "trainer/ps/outcome.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/shares.h"
#include "trainer/ps/snapshots.h"
#include "trainer/ps/staleness.h"
#include "trainer/ps/totals.h"

struct ps *ps_create(const struct ps_options *options)
{
    struct ps *ps = zalloc(sizeof *ps);

    ps->options = *options;
    if (ps->options.clock == NULL)
        ps->options.clock = clock_monotonic();
    pthread_mutex_init(&ps->lock, NULL);
    ps->generation = generation_create();
    ps->variables = variables_create();
    ps->membership = membership_create();
    ps->liveness = liveness_create();
    ps->pushes = pushes_create();
    ps->staleness = staleness_create();
    ps->shares = shares_create();
    ps->totals = totals_create();
    ps->loss_scaling = loss_scaling_create();
    ps->snapshots = snapshots_create();
    ps->outcome = outcome_create();
    ps->notes = notes_create();
    return ps;
}

void ps_destroy(struct ps *ps)
{
    if (ps == NULL)
        return;
    snapshots_destroy(ps); /* first: snapshots refer to values of the slices */
    variables_destroy(ps->variables, ps->options.budget);
    generation_destroy(ps->generation);
    membership_destroy(ps->membership);
    liveness_destroy(ps->liveness);
    pushes_destroy(ps->pushes);
    staleness_destroy(ps->staleness);
    shares_destroy(ps->shares);
    totals_destroy(ps->totals);
    loss_scaling_destroy(ps->loss_scaling);
    outcome_destroy(ps->outcome);
    notes_destroy(ps->notes, ps->options.budget);
    pthread_mutex_destroy(&ps->lock);
    free(ps);
}

void ps_lock(struct ps *ps)
{
    pthread_mutex_lock(&ps->lock);
    ps->holder = pthread_self();
    ps->locked = true;
}

void ps_unlock(struct ps *ps)
{
    ps->locked = false;
    pthread_mutex_unlock(&ps->lock);
}

void ps_wait(struct ps *ps, pthread_cond_t *condition)
{
    ps->locked = false;
    pthread_cond_wait(condition, &ps->lock);
    ps->holder = pthread_self();
    ps->locked = true;
}

bool ps_is_locked(const struct ps *ps)
{
    return ps->locked && pthread_equal(ps->holder, pthread_self());
}

struct status ps_check_running(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    return status_ok();
}

void ps_stop(struct ps *ps, struct status why)
{
    ps_lock(ps);
    struct waiting *joins = membership_take_joins(ps), *pushes = pushes_take_all(ps);
    struct waiting *awaits = outcome_take_awaits(ps), *cuts = snapshots_let_go(ps);
    struct waiting *passes = staleness_take_all(ps);
    ps->stopped = true;
    ps_unlock(ps);
    waiting_fail_all(joins, why);
    waiting_fail_all(pushes, why);
    waiting_fail_all(awaits, why);
    waiting_fail_all(cuts, why);
    waiting_fail_all(passes, why);
}

void ps_answer(struct call *call, struct status status, struct message reply)
{
    if (!status_is_ok(status)) {
        message_release(&reply);
        call_fail(call, status);
    } else {
        call_reply(call, &reply);
    }
}

/* All of them have a payload: values, gradients and chunks travel by reference. */
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
    { PS_HEARTBEAT, ps_heartbeat, METHOD_UNARY, true },
    { PS_POST, ps_post, METHOD_UNARY, true },
    { PS_FETCH, ps_fetch, METHOD_UNARY, true },
    { PS_STOP, ps_stop_early, METHOD_UNARY, true },
    { PS_PASS, ps_pass, METHOD_UNARY, true },
    { PS_TAKE, ps_take, METHOD_UNARY, true },
    { PS_TOTALS, ps_totals, METHOD_UNARY, true },
};

const struct service ps_service = { methods, COUNT(methods) };
