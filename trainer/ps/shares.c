#include "trainer/ps/shares.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/staleness.h"

/* The last request of a worker. */
struct worker_request {
    uint64_t number; /* number of its request; 0: none yet */
    struct turn_range share;
    bool refused; /* there was nothing left */
};

struct shares {
    struct share_table table;
    uint64_t turns_max;            /* limit of a share; 0: the job does not assign its rows */
    struct worker_request *takers; /* [PS_WORKERS_MAX] */
};

struct shares *shares_create(void)
{
    struct shares *shares = zalloc(sizeof *shares);

    shares->takers = zalloc(PS_WORKERS_MAX * sizeof *shares->takers);
    return shares;
}

void shares_destroy(struct shares *shares)
{
    share_table_finish(&shares->table);
    free(shares->takers);
    free(shares);
}

/* ---- a generation begins ---- */

static struct status begin_table(struct share_table *table, const struct create_request *request)
{
    if (request->position_count == 0)
        return share_table_begin(table, &request->global_step, 1);
    return share_table_begin(table, request->position, request->position_count);
}

struct status shares_check(const struct create_request *request)
{
    struct share_table table = { 0 };

    if (request->turns_per_share == 0)
        return status_ok();
    if (request->sync)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a synchronous job's rows follow from its step: it shares none");
    struct status status = begin_table(&table, request);
    share_table_finish(&table);
    return status;
}

void shares_begin(struct ps *ps, const struct create_request *request)
{
    struct shares *shares = ps->shares;

    ASSERT_LOCKED(ps);
    shares->turns_max = request->turns_per_share;
    memset(shares->takers, 0, PS_WORKERS_MAX * sizeof *shares->takers);
    share_table_finish(&shares->table);
    if (shares->turns_max > 0)
        status_ignore(begin_table(&shares->table, request)); /* shares_check has tried it */
}

void shares_position(const struct ps *ps, uint64_t **numbers, size_t *count)
{
    ASSERT_LOCKED(ps);
    *numbers = NULL;
    *count = 0;
    if (ps->shares->turns_max > 0)
        share_table_position(&ps->shares->table, numbers, count);
}

/* ---- turns count ---- */

struct status shares_check_turn(const struct ps *ps, const struct worker *worker, uint64_t turn)
{
    ASSERT_LOCKED(ps);
    if (share_table_has(&ps->shares->table, worker->index, turn))
        return status_ok();
    return status_error(STATUS_ABORTED, "the rows of turn %" PRIu64 " are not %s's any more", turn,
                        worker->name);
}

void shares_count(struct ps *ps, const struct worker *worker, uint64_t turn)
{
    ASSERT_LOCKED(ps);
    share_table_count(&ps->shares->table, worker->index, turn);
}

bool shares_is_idle(const struct ps *ps, const struct worker *worker)
{
    ASSERT_LOCKED(ps);
    return !worker->reader && ps->shares->takers[worker->index].refused &&
           !share_table_holds(&ps->shares->table, worker->index);
}

void shares_forget(struct ps *ps, const struct worker *worker)
{
    ASSERT_LOCKED(ps);
    if (worker->reader)
        return;
    ps->shares->takers[worker->index] = (struct worker_request){ 0 };
    share_table_give_back(&ps->shares->table, worker->index);
}

/* ---- Take ---- */

/* Reassigns the turns of workers that have finished, failed or gone silent. Returns the number
 * of unassigned turns. */
static uint64_t take_from_absent(struct ps *ps)
{
    uint64_t present = 0;

    for (uint32_t i = 0; i < membership_count(ps); i++) {
        const struct worker *worker = membership_find(ps, i);
        if (worker == NULL)
            continue;
        if (liveness_is_present(ps, worker))
            present++;
        else
            share_table_give_back(&ps->shares->table, i);
    }
    return present;
}

/* The number of turns to assign to a worker next; 0: all are assigned. */
static uint64_t turns_to_give(const struct ps *ps, uint64_t workers)
{
    const struct shares *shares = ps->shares;
    uint64_t stop_step = generation_of(ps)->stop_step;
    uint64_t used = pushes_begun(ps) + share_table_given(&shares->table);

    if (stop_step == 0)
        return shares->turns_max;
    if (used >= stop_step)
        return 0;
    uint64_t part = (stop_step - used) / (2 * workers);
    return part >= shares->turns_max ? shares->turns_max : part > 0 ? part : 1;
}

static struct status take_share(struct ps *ps, const struct worker *worker,
                                struct worker_request *taker)
{
    uint64_t present = take_from_absent(ps);
    uint64_t turns = turns_to_give(ps, present > 0 ? present : 1);

    taker->share = (struct turn_range){ 0 };
    taker->refused = turns == 0;
    return turns > 0 ? share_table_take(&ps->shares->table, worker->index, turns, &taker->share)
                     : status_ok();
}

/* A worker that was silent now has a push for all ps tasks, but only ps 0 would notice that the
 * push is too late. Renews the worker's turn for as long as a heartbeat would. */
static struct status keep_turn(struct ps *ps, const struct worker *worker, uint64_t turn)
{
    TRY(shares_check_turn(ps, worker, turn));
    liveness_touch(ps, worker);
    return status_ok();
}

static struct status take(struct ps *ps, const struct take_request *request,
                          struct take_reply *reply)
{
    const struct worker *worker;

    TRY(membership_admit_worker(ps, request->ticket, &worker));
    if (request->turn > 0)
        return keep_turn(ps, worker, request->turn - 1);
    struct worker_request *taker = &ps->shares->takers[worker->index];
    if (ps->shares->turns_max == 0)
        return status_error(STATUS_FAILED_PRECONDITION, "ps %u has no rows to share",
                            ps->options.index);
    if (request->number == 0 || request->number < taker->number)
        return status_error(STATUS_ABORTED,
                            "request %" PRIu64 " of %s for rows is older than request %" PRIu64,
                            request->number, worker->name, taker->number);
    if (request->number > taker->number) {
        if (request->begins)
            shares_forget(ps, worker);
        taker->number = request->number;
        TRY(take_share(ps, worker, taker));
    }
    reply->share = taker->share;
    return status_ok();
}

void ps_take(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct take_request request;
    struct take_reply reply = { 0 };

    struct status status = unpack_take_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = take(ps, &request, &reply);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    ps_answer(call, status, pack_take_reply(&reply));
    staleness_check(ps); /* nobody waits for a worker without rows */
}
