#include "trainer/ps/totals.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"

struct totals {
    double *sums; /* [count] */
    size_t count;
};

struct totals *totals_create(void)
{
    return zalloc(sizeof(struct totals));
}

void totals_destroy(struct totals *totals)
{
    free(totals->sums);
    free(totals);
}

struct status totals_check(const struct create_request *request)
{
    if (request->totals_count > TOTALS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%" PRIu32 " totals of metrics, at most %d",
                            request->totals_count, TOTALS_MAX);
    return status_ok();
}

void totals_begin(struct ps *ps, const struct create_request *request)
{
    struct totals *totals = ps->totals;

    ASSERT_LOCKED(ps);
    free(totals->sums);
    totals->count = request->totals_count;
    totals->sums = zalloc((totals->count + 1) * sizeof *totals->sums);
}

struct status totals_take(const struct ps *ps, const struct push_request *request,
                          struct push *push)
{
    size_t count = request->totals_count;

    ASSERT_LOCKED(ps);
    if (count == 0)
        return status_ok();
    if (count != ps->totals->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a push with %zu totals of metrics, but the job has %zu", count,
                            ps->totals->count);
    push->totals = zalloc(count * sizeof *push->totals);
    memcpy(push->totals, request->totals, count * sizeof *push->totals);
    return status_ok();
}

void totals_add(struct ps *ps, const struct push *push)
{
    ASSERT_LOCKED(ps);
    for (size_t i = 0; push->totals != NULL && i < ps->totals->count; i++)
        ps->totals->sums[i] += push->totals[i];
}

/* ---- totals ---- */

static struct status read_totals(struct ps *ps, const struct totals_request *request,
                                 struct arena *arena, struct totals_reply *out)
{
    const struct totals *totals = ps->totals;
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    double *copy = ARENA_ARRAY(arena, double, totals->count);
    for (size_t i = 0; i < totals->count; i++)
        copy[i] = totals->sums[i];
    *out = (struct totals_reply){ pushes_begun(ps), copy, totals->count };
    return status_ok();
}

void ps_totals(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct totals_request request;
    struct totals_reply reply = { 0 };

    struct status status = unpack_totals_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = read_totals(ps, &request, arena, &reply);
        ps_unlock(ps);
    }
    ps_answer(call, status, pack_totals_reply(&reply));
    arena_destroy(arena);
}
