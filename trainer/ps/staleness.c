#include "trainer/ps/staleness.h"

#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/shares.h"

struct clock_of_worker {
    uint64_t base;  /* its starting clock: that of the slowest worker */
    uint64_t asked; /* the last push that it named in a request for a pass */
};

struct staleness {
    struct clock_of_worker *clocks; /* [PS_WORKERS_MAX] */
    struct waiting *passes;
};

struct waiting_pass {
    struct waiting waiting; /* first */
    const struct worker *worker;
    uint64_t until;
};

struct staleness *staleness_create(void)
{
    struct staleness *staleness = zalloc(sizeof *staleness);

    staleness->clocks = zalloc(PS_WORKERS_MAX * sizeof *staleness->clocks);
    return staleness;
}

void staleness_destroy(struct staleness *staleness)
{
    free(staleness->clocks);
    free(staleness);
}

/* ---- clocks ---- */

/* A worker without rows makes no step until it gets some. */
static bool is_waited_for(const struct ps *ps, const struct worker *worker)
{
    return liveness_is_present(ps, worker) && !shares_is_idle(ps, worker);
}

static uint64_t clock_of(const struct ps *ps, const struct worker *worker)
{
    const struct clock_of_worker *clock = &ps->staleness->clocks[worker->index];
    uint64_t applied = pushes_applied(ps, worker), known = applied > 0 ? applied - 1 : 0;

    return clock->base + (known > clock->asked ? known : clock->asked);
}

/* The clock of the slowest worker that others wait for, except for one. Returns false if there
 * is none. */
static bool find_slowest(const struct ps *ps, const struct worker *apart, uint64_t *out)
{
    bool found = false;

    for (uint32_t i = 0; i < membership_count(ps); i++) {
        const struct worker *worker = membership_find(ps, i);
        if (worker == NULL || worker == apart || !is_waited_for(ps, worker))
            continue;
        uint64_t now = clock_of(ps, worker);
        if (!found || now < *out)
            *out = now;
        found = true;
    }
    return found;
}

void staleness_begin(struct ps *ps)
{
    ASSERT_LOCKED(ps);
    memset(ps->staleness->clocks, 0, PS_WORKERS_MAX * sizeof *ps->staleness->clocks);
}

void staleness_join(struct ps *ps, const struct worker *worker)
{
    uint64_t slowest = 0;

    ASSERT_LOCKED(ps);
    if (worker->reader)
        return;
    find_slowest(ps, worker, &slowest);
    ps->staleness->clocks[worker->index] = (struct clock_of_worker){ .base = slowest };
}

/* ---- passes ---- */

/* May this worker continue? *until: the last push that it may make before it asks again. */
static bool may_pass(const struct ps *ps, const struct worker *worker, uint64_t *until)
{
    const struct clock_of_worker *clock = &ps->staleness->clocks[worker->index];
    uint64_t lead = generation_of(ps)->lead_max - 1, slowest = clock_of(ps, worker);

    find_slowest(ps, worker, &slowest);
    *until = slowest + lead > clock->base ? slowest + lead - clock->base : 0;
    return generation_of(ps)->lead_max == 0 || clock->asked <= *until;
}

struct waiting *staleness_take_all(struct ps *ps)
{
    struct waiting *all = ps->staleness->passes;

    ASSERT_LOCKED(ps);
    ps->staleness->passes = NULL;
    return all;
}

struct waiting *staleness_forget(struct ps *ps, const struct worker *worker)
{
    struct waiting *taken = NULL;

    ASSERT_LOCKED(ps);
    for (struct waiting **at = &ps->staleness->passes; *at != NULL;) {
        struct waiting *pass = *at;
        if (((struct waiting_pass *)pass)->worker != worker) {
            at = &pass->next;
            continue;
        }
        *at = pass->next;
        pass->next = NULL;
        waiting_append(&taken, pass);
    }
    return taken;
}

struct waiting *staleness_due(struct ps *ps)
{
    struct waiting *due = NULL;

    ASSERT_LOCKED(ps);
    for (struct waiting **at = &ps->staleness->passes; *at != NULL;) {
        struct waiting_pass *pass = (struct waiting_pass *)*at;
        if (!may_pass(ps, pass->worker, &pass->until)) {
            at = &pass->waiting.next;
            continue;
        }
        *at = pass->waiting.next;
        pass->waiting.next = NULL;
        waiting_append(&due, &pass->waiting);
    }
    return due;
}

void staleness_answer(struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        const struct pass_reply reply = { ((struct waiting_pass *)due)->until };
        struct message message = pack_pass_reply(&reply);
        call_reply(due->call, &message);
        free(due);
        due = next;
    }
}

void staleness_check(struct ps *ps)
{
    ps_lock(ps);
    struct waiting *due = staleness_due(ps);
    ps_unlock(ps);
    staleness_answer(due);
}

bool staleness_is_empty(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->staleness->passes == NULL;
}

void staleness_note(const struct ps *ps, struct buffer *out)
{
    uint64_t slowest = 0;

    ASSERT_LOCKED(ps);
    if (!find_slowest(ps, NULL, &slowest))
        return;
    for (uint32_t i = 0; i < membership_count(ps); i++) {
        const struct worker *worker = membership_find(ps, i);
        if (worker != NULL && is_waited_for(ps, worker) && clock_of(ps, worker) == slowest)
            buffer_printf(out, "%s%s", out->size > 0 ? ", " : "", worker->name);
    }
    buffer_append_text(out, " to catch up");
}

static void forget_pass(void *context, struct call *call)
{
    struct ps *ps = context;

    ps_lock(ps);
    struct waiting *pass = waiting_take(&ps->staleness->passes, call);
    ps_unlock(ps);
    waiting_fail_all(pass, status_error(STATUS_CANCELLED, "the call was cancelled"));
}

static struct status ask(struct ps *ps, struct call *call, const struct pass_request *request)
{
    const struct worker *worker;

    TRY(membership_admit_worker(ps, request->ticket, &worker));
    if (request->sequence > pushes_applied(ps, worker))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "worker %u asks for a pass after push %llu, and %llu were applied",
                            worker->index, (unsigned long long)request->sequence,
                            (unsigned long long)pushes_applied(ps, worker));
    struct clock_of_worker *clock = &ps->staleness->clocks[worker->index];
    if (request->sequence > clock->asked)
        clock->asked = request->sequence;
    struct waiting_pass *pass = zalloc(sizeof *pass);
    pass->waiting.call = call;
    pass->worker = worker;
    waiting_append(&ps->staleness->passes, &pass->waiting);
    return status_ok();
}

void ps_pass(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct pass_request request;
    struct waiting *due = NULL;
    bool waits = false;

    struct status status = unpack_pass_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = ask(ps, call, &request);
        due = staleness_due(ps);
        for (const struct waiting *at = ps->staleness->passes; at != NULL; at = at->next)
            waits |= at->call == call;
        ps_unlock(ps);
    }
    arena_destroy(arena);
    if (!status_is_ok(status))
        call_fail(call, status);
    else if (waits)
        call_when_cancelled(call, forget_pass, ps);
    staleness_answer(due);
}
