#include "trainer/ps/generation.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/identity.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/outcome.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/shares.h"
#include "trainer/ps/snapshots.h"
#include "trainer/ps/staleness.h"
#include "trainer/ps/totals.h"

struct generation *generation_create(void)
{
    return zalloc(sizeof(struct generation));
}

void generation_destroy(struct generation *generation)
{
    free(generation->agreed);
    free(generation->trains);
    free(generation);
}

const struct generation *generation_of(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->generation;
}

void generation_exclude_pause(struct ps *ps, int64_t paused_ns, int64_t now_ns)
{
    struct generation *generation = ps->generation;

    ASSERT_LOCKED(ps);
    if (generation->opened_ns != 0)
        generation->opened_ns = ps_time_without_pause(generation->opened_ns, paused_ns, now_ns);
}

bool generation_needs(const struct ps *ps, uint32_t rank)
{
    return rank == 0 || (generation_of(ps)->sync && rank < generation_of(ps)->sync_workers);
}

/* ---- Create ---- */

/* Only the current process of the chief may begin a generation, and its number must be the
 * largest so far. */
static struct status check_chief(struct ps *ps, const struct create_request *request)
{
    const struct generation *generation = ps->generation;

    TRY(identity_check(ps, request->identity));
    TRY(ps_check_running(ps));
    if (request->identity->index != 0 || request->identity->reader)
        return status_error(STATUS_PERMISSION_DENIED,
                            "%s is not the chief, who alone makes the variables",
                            request->identity->task);
    TRY(membership_check(ps, request->identity->index, request->identity->incarnation));
    if (request->generation == 0 || request->generation < generation->number ||
        (request->generation == generation->number &&
         request->identity->incarnation != generation->creator))
        return status_error(STATUS_ABORTED,
                            "ps %u is at generation %" PRIu64
                            " and cannot begin generation %" PRIu64,
                            ps->options.index, generation->number, request->generation);
    if (request->workers == 0 || request->workers > PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%u workers, must be 1 to %d",
                            request->workers, PS_WORKERS_MAX);
    if (request->backup_workers >= request->workers)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%u backup workers of %u workers: at least one must be left",
                            request->backup_workers, request->workers);
    if (ps->options.trainers != NULL && request->workers != ps->options.trainers_count)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "the chief's lists have %u tasks that train, those of ps %u have %u: "
                            "compare --worker_hosts and --chief_hosts",
                            request->workers, ps->options.index, ps->options.trainers_count);
    return status_ok();
}

/* The calls that wait for the previous generation. They are failed without the lock. */
struct superseded_calls {
    struct waiting *pushes, *awaits, *cuts, *passes;
};

/* Stops accepting pushes of the old generation. Waits for the pushes that are being applied; the
 * lock is released meanwhile. */
static void end_generation(struct ps *ps, struct superseded_calls *voided)
{
    *voided = (struct superseded_calls){ pushes_take_all(ps), outcome_take_awaits(ps),
                                         snapshots_forget_all(ps), staleness_take_all(ps) };
    ps->generation->open = false;
    pushes_wait_until_idle(ps);
}

static void fail_voided(const struct superseded_calls *voided, struct status why)
{
    waiting_fail_all(voided->pushes, why);
    waiting_fail_all(voided->awaits, why);
    waiting_fail_all(voided->cuts, why);
    waiting_fail_all(voided->passes, why);
}

static void begin_generation(struct ps *ps, const struct create_request *request)
{
    struct generation *generation = ps->generation;

    generation->open = false; /* again: another caller may have opened it meanwhile */
    free(generation->agreed);
    generation->agreed = xstrdup(request->identity->agreed);
    free(generation->trains);
    generation->trains = xstrdup(request->trains);
    generation->placement_hash = request->identity->placement_hash;
    generation->sync = request->sync;
    generation->sync_workers = request->workers;
    generation->backup_workers = request->backup_workers;
    generation->lead_max = request->lead_max;
    generation->begin_step = request->global_step;
    generation->place = request->place;
    generation->stop_step = request->stop_step;
}

#define TRAINS_BYTES_MAX 16384 /* 8 optimizers with 17 settings take about 6000 */

static struct status create(struct ps *ps, const struct create_request *request,
                            struct superseded_calls *voided)
{
    struct generation *generation = ps->generation;
    struct training training = { 0 };

    TRY(check_chief(ps, request));
    if (generation->number == request->generation)
        return status_ok(); /* repeated: the first reply was lost */
    if (strlen(request->trains) > TRAINS_BYTES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "a text of %zu bytes about the optimizers",
                            strlen(request->trains));
    TRY(shares_check(request));
    TRY(totals_check(request));
    TRY(loss_scale_check(&request->loss_scale));
    TRY(variables_prepare(ps, request, &training));
    generation->number = request->generation;
    generation->creator = request->identity->incarnation;
    end_generation(ps, voided);
    if (generation->number != request->generation ||
        generation->creator != request->identity->incarnation)
        return status_error(STATUS_ABORTED, "ps %u: another chief begins generation %" PRIu64,
                            ps->options.index, generation->number);
    variables_begin(ps, request, &training);
    pushes_begin(ps, request->global_step);
    staleness_begin(ps);
    shares_begin(ps, request);
    totals_begin(ps, request);
    loss_scaling_begin(ps, request);
    membership_begin(ps);
    begin_generation(ps, request);
    return status_ok();
}

void ps_create_variables(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(LONG_REQUEST_ARENA_MAX);
    struct create_request request;
    struct superseded_calls voided = { 0 };
    uint64_t step = 0;

    struct status status = unpack_create_request(message, arena, &request);
    if (status_is_ok(status)) {
        step = request.global_step;
        ps_lock(ps);
        status = create(ps, &request, &voided);
        ps_unlock(ps);
    }
    message_release(message);
    struct create_reply created = { ps->options.incarnation };
    ps_answer(call, status, pack_create_reply(&created));
    fail_voided(&voided, status_error(STATUS_ABORTED, "the job goes back to step %" PRIu64, step));
    arena_destroy(arena);
}

/* ---- Open ---- */

struct status generation_check_filling(const struct ps *ps, uint64_t number, uint64_t incarnation)
{
    const struct generation *generation = generation_of(ps);

    TRY(ps_check_running(ps));
    if (generation->number == 0 || number != generation->number ||
        incarnation != generation->creator)
        return status_error(STATUS_ABORTED,
                            "ps %u is at generation %" PRIu64
                            ", values came for generation %" PRIu64 "%s",
                            ps->options.index, generation->number, number,
                            number == generation->number ? " of another process" : "");
    return status_ok();
}

static struct status open_generation(struct ps *ps, const struct open_request *request)
{
    struct generation *generation = ps->generation;

    TRY(generation_check_filling(ps, request->generation, request->incarnation));
    if (!generation->open) {
        TRY(variables_check_filled(ps));
        variables_open(ps);
    }
    generation->open = true;
    if (generation->opened_ns == 0)
        generation->opened_ns = clock_now_ns(ps->options.clock);
    return status_ok();
}

void ps_open(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct open_request request;
    struct waiting *joins = NULL;

    struct status status = unpack_open_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = open_generation(ps, &request);
        if (status_is_ok(status))
            joins = membership_take_joins(ps);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    ps_answer(call, status, pack_done());
    membership_answer_joins(ps, joins);
}

/* ---- Stop ---- */

/* The workers learn the new last step from the replies to their pushes. In a synchronous job,
 * all must make the same last step, and workers that wait for the caller have begun the next
 * one. */
static struct status stop_early(struct ps *ps, const struct stop_request *request, uint64_t *out)
{
    struct generation *generation = ps->generation;
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    bool begun = generation->sync && (worker->reader || generation->sync_workers > 1);
    uint64_t step = pushes_step(ps) + (uint64_t)begun;
    if (step == 0) /* 0 would mean that no last step is set */
        step = 1;
    if (generation->stop_step == 0 || step < generation->stop_step)
        generation->stop_step = step;
    *out = generation->stop_step;
    return status_ok();
}

void ps_stop_early(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct stop_request request;
    struct stop_reply reply = { 0 };

    struct status status = unpack_stop_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = stop_early(ps, &request, &reply.stop_step);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    ps_answer(call, status, pack_stop_reply(&reply));
}
