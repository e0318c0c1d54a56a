#include "trainer/ps/snapshots.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/scale.h"
#include "trainer/ps/shares.h"

/* from a reader's hold to its cut, because the reader may have been stopped in between */
#define READER_HOLD_MS 1000
#define READER_IDLE_MS 60000 /* between two reads of its snapshot, which occupies memory */
#define SILENT_MS      5000  /* of a training task that holds the ps: it may have been killed */

/* A waiting hold or cut. */
struct waiting_cut {
    struct waiting waiting; /* first */
    struct cutter *cutter;
    bool hold;
};

struct snapshots *snapshots_create(void)
{
    return zalloc(sizeof(struct snapshots));
}

void snapshots_destroy(struct ps *ps)
{
    for (size_t i = 0; i < COUNT(ps->snapshots->cutters); i++)
        snapshot_drop(ps, &ps->snapshots->cutters[i].snapshot);
    free(ps->snapshots);
}

static struct message hold_reply(struct ps *ps)
{
    struct applied_push *rows = zalloc((membership_count(ps) + 1) * sizeof *rows);
    struct hold_reply header = { .applied = rows,
                                 .sync = generation_of(ps)->sync,
                                 .global_step = pushes_step(ps) };

    for (uint32_t i = 0; i < membership_count(ps) && !header.sync; i++) {
        const struct worker *worker = membership_find(ps, i);
        if (worker != NULL)
            rows[header.applied_count++] =
                (struct applied_push){ .worker = i,
                                       .incarnation = worker->incarnation,
                                       .sequence = pushes_applied(ps, worker) };
    }
    struct message message = pack_hold_reply(&header);
    free(rows);
    return message;
}

/* Has the last begun snapshot been taken and not been dropped since? */
static bool is_taken(const struct cutter *cutter)
{
    return cutter->snapshot.states != NULL && cutter->snapshot.number == cutter->number;
}

/* The scalars of all rules. All slices of a rule have had the same updates; a rule without slices
 * on this ps has NaN. Returns their number. */
static size_t collect_scalars(const struct variables *variables, const struct slice_state *states,
                              float out[JOB_SCALARS_MAX])
{
    const struct training *training = &variables->training;
    int count = training_first_scalar(training, training->rules_count);

    for (int s = 0; s < count; s++)
        out[s] = NAN;
    for (int i = 0; i < variables->slices_count; i++) {
        const struct slice *slice = &variables->slices[i];
        if (slice->trainable)
            memcpy(out + training_first_scalar(training, slice->rule), states[i].scalars,
                   (size_t)training->rules[slice->rule].optimizer->scalars_count * sizeof *out);
    }
    return (size_t)count;
}

static struct message cut_reply(const struct ps *ps, const struct cutter *cutter)
{
    const struct variables *variables = ps->variables;
    struct cut_reply header = { .snapshot = cutter->snapshot.id,
                                .global_step = cutter->snapshot.global_step,
                                .position = cutter->snapshot.position,
                                .position_count = cutter->snapshot.position_count,
                                .loss_scale = cutter->snapshot.loss_scale };
    float scalars[JOB_SCALARS_MAX];

    if (is_taken(cutter) && cutter->slots) {
        header.scalars = scalars;
        header.scalars_count = collect_scalars(variables, cutter->snapshot.states, scalars);
    }
    return pack_cut_reply(&header);
}

/* Applies all pushes again. */
static void end_hold(struct ps *ps)
{
    ps->snapshots->held = NULL;
    pushes_release(ps);
}

static void hold_slice(struct slice *slice, bool slots, uint64_t step, struct slice_state *out)
{
    slice_hold(slice, slots, out);
    if (slice->table == NULL)
        return;
    out->keys = key_table_hold(slice->table, step, slots);
    memcpy(out->scalars, out->keys->scalars, sizeof out->scalars);
}

/* Takes the snapshot for the cutter that holds the ps. */
static void take_snapshot(struct ps *ps)
{
    const struct variables *variables = ps->variables;
    struct cutter *cutter = ps->snapshots->held;
    struct slice_state *states = zalloc((size_t)(variables->slices_count + 1) * sizeof *states);

    assert(pushes_is_idle(ps));
    for (int i = 0; i < variables->slices_count; i++)
        hold_slice(&variables->slices[i], cutter->slots, pushes_step(ps), &states[i]);
    snapshot_drop(ps, &cutter->snapshot);
    cutter->snapshot = (struct snapshot){ .id = ++ps->snapshots->taken,
                                          .number = cutter->number,
                                          .global_step = pushes_step(ps),
                                          .states = states,
                                          .loss_scale = scale_state(ps, false) };
    shares_position(ps, &cutter->snapshot.position, &cutter->snapshot.position_count);
    end_hold(ps);
}

struct waiting *snapshots_due(struct ps *ps)
{
    struct snapshots *snapshots = ps->snapshots;

    if (!pushes_is_idle(ps))
        return NULL;
    struct waiting *due = snapshots->holds;
    snapshots->holds = NULL;
    for (struct waiting **at = &snapshots->cuts; *at != NULL;) {
        struct waiting_cut *cut = (struct waiting_cut *)*at;
        if (cut->cutter == snapshots->held && pushes_reached(ps))
            take_snapshot(ps);
        if (!is_taken(cut->cutter)) {
            at = &cut->waiting.next;
            continue;
        }
        *at = cut->waiting.next;
        cut->waiting.next = NULL;
        waiting_append(&due, &cut->waiting);
    }
    return due;
}

void snapshots_answer(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        const struct waiting_cut *cut = (struct waiting_cut *)due;
        ps_lock(ps);
        struct message reply = cut->hold ? hold_reply(ps) : cut_reply(ps, cut->cutter);
        ps_unlock(ps);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

struct waiting *snapshots_let_go(struct ps *ps)
{
    struct snapshots *snapshots = ps->snapshots;
    struct waiting *left = snapshots->holds;

    ASSERT_LOCKED(ps);
    waiting_append(&left, snapshots->cuts);
    snapshots->holds = snapshots->cuts = NULL;
    end_hold(ps);
    return left;
}

static struct waiting *leave(struct ps *ps, struct cutter *cutter)
{
    struct waiting *left = ps->snapshots->held == cutter ? snapshots_let_go(ps) : NULL;

    snapshot_drop(ps, &cutter->snapshot);
    *cutter = (struct cutter){ 0 };
    return left;
}

struct waiting *snapshots_forget(struct ps *ps, const struct worker *worker)
{
    struct waiting *left = NULL;

    ASSERT_LOCKED(ps);
    for (size_t i = 0; i < COUNT(ps->snapshots->cutters); i++)
        if (ps->snapshots->cutters[i].worker == worker)
            waiting_append(&left, leave(ps, &ps->snapshots->cutters[i]));
    return left;
}

struct waiting *snapshots_forget_all(struct ps *ps)
{
    struct waiting *left = snapshots_let_go(ps);

    for (size_t i = 0; i < COUNT(ps->snapshots->cutters); i++)
        waiting_append(&left, leave(ps, &ps->snapshots->cutters[i]));
    return left;
}

/* The caller has stopped waiting, so training continues. If it repeats the same number, it gets
 * NOT_FOUND. */
static void forget_cut(void *context, struct call *call)
{
    struct ps *ps = context;
    struct snapshots *snapshots = ps->snapshots;

    ps_lock(ps);
    struct waiting *cut = waiting_take(&snapshots->holds, call);
    if (cut == NULL)
        cut = waiting_take(&snapshots->cuts, call);
    if (cut != NULL && ((struct waiting_cut *)cut)->cutter == snapshots->held &&
        snapshots->holds == NULL && snapshots->cuts == NULL)
        end_hold(ps);
    ps_unlock(ps);
    if (cut == NULL)
        return;
    waiting_fail_all(cut, status_error(STATUS_CANCELLED, "the caller has left"));
    pushes_apply_ready(ps);
}

static struct status given_up(const struct ps *ps, const struct cutter *cutter)
{
    return status_error(STATUS_NOT_FOUND, "ps %u: snapshot %" PRIu64 " was given up",
                        ps->options.index, cutter->number);
}

/* A reader must wait while the chief takes a snapshot; the chief's snapshot replaces a reader's. */
static bool is_busy(const struct ps *ps, const struct worker *worker)
{
    const struct snapshots *snapshots = ps->snapshots;
    bool waits = snapshots->holds != NULL || snapshots->cuts != NULL;
    bool is_held = snapshots->held != NULL && !snapshots->held->worker->reader;

    return worker->reader && (waits || is_held);
}

static struct status hold_begin(struct ps *ps, const struct hold_request *request,
                                struct cutter **out, struct waiting **earlier)
{
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    struct cutter *cutter = *out = snapshots_cutter(ps, worker, request->second);
    if (cutter->worker == worker && request->number < cutter->number)
        return status_error(STATUS_ABORTED,
                            "ps %u: snapshot %" PRIu64 " is older than snapshot %" PRIu64
                            ", which has begun",
                            ps->options.index, request->number, cutter->number);
    if (cutter->worker == worker && request->number == cutter->number)
        return ps->snapshots->held == cutter || is_taken(cutter) ? status_ok()
                                                                 : given_up(ps, cutter);
    if (is_busy(ps, worker))
        return status_error(STATUS_ABORTED, "ps %u: another snapshot is being taken",
                            ps->options.index);
    *earlier = snapshots_let_go(ps);
    ps->snapshots->held = cutter;
    cutter->worker = worker;
    cutter->number = request->number;
    cutter->heard_ns = clock_now_ns(ps->options.clock);
    pushes_hold(ps);
    return status_ok();
}

static struct status cut_begin(struct ps *ps, const struct cut_request *request,
                               struct cutter **out)
{
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    struct cutter *cutter = *out = snapshots_cutter(ps, worker, request->second);
    if (cutter->worker != worker || request->number != cutter->number)
        return status_error(STATUS_ABORTED, "ps %u was not held for snapshot %" PRIu64,
                            ps->options.index, request->number);
    if (ps->snapshots->held != cutter)
        return is_taken(cutter) ? status_ok() : given_up(ps, cutter);
    pushes_permit_step(ps, request->until_step);
    for (size_t i = 0; i < request->until_count; i++)
        pushes_permit(ps, &request->until[i]);
    cutter->slots = request->slots;
    return status_ok();
}

/* Answers an admitted hold or cut if it is due already; otherwise it waits. */
static void wait_for_cut(struct ps *ps, struct call *call)
{
    ps_lock(ps);
    struct waiting *due = snapshots_due(ps);
    ps_unlock(ps);
    snapshots_answer(ps, due);
    call_when_cancelled(call, forget_cut, ps);
    pushes_apply_ready(ps);
}

static void append(struct call *call, struct cutter *cutter, bool hold, struct waiting **list)
{
    struct waiting_cut *cut = zalloc(sizeof *cut);

    cut->waiting.call = call;
    cut->cutter = cutter;
    cut->hold = hold;
    waiting_append(list, &cut->waiting);
}

void ps_hold(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct hold_request request;
    struct waiting *earlier = NULL;
    struct cutter *cutter;

    struct status status = unpack_hold_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = hold_begin(ps, &request, &cutter, &earlier);
        if (status_is_ok(status))
            append(call, cutter, true, &ps->snapshots->holds);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    waiting_fail_all(earlier, status_error(STATUS_ABORTED, "another snapshot has begun"));
    if (status_is_ok(status))
        wait_for_cut(ps, call);
    else
        call_fail(call, status);
}

void ps_cut(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct cut_request request;
    struct cutter *cutter;

    struct status status = unpack_cut_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = cut_begin(ps, &request, &cutter);
        if (status_is_ok(status))
            append(call, cutter, false, &ps->snapshots->cuts);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    if (status_is_ok(status))
        wait_for_cut(ps, call);
    else
        call_fail(call, status);
}

/* ---- Time. ---- */

static bool is_late(const struct ps *ps, const struct cutter *cutter, int64_t now_ns)
{
    const struct worker *worker = cutter->worker;

    if (worker->reader)
        return now_ns - cutter->heard_ns >= (int64_t)READER_HOLD_MS * NS_PER_MS;
    const struct member *member = liveness_find(ps, worker->index);
    return member != NULL && now_ns - member->heard_ns >= (int64_t)SILENT_MS * NS_PER_MS;
}

void snapshots_exclude_pause(struct ps *ps, int64_t paused_ns, int64_t now_ns)
{
    ASSERT_LOCKED(ps);
    for (size_t i = 0; i < COUNT(ps->snapshots->cutters); i++) {
        struct cutter *cutter = &ps->snapshots->cutters[i];
        cutter->heard_ns = ps_time_without_pause(cutter->heard_ns, paused_ns, now_ns);
    }
}

void ps_expire(struct ps *ps, int64_t now_ns)
{
    struct snapshots *snapshots = ps->snapshots;
    struct cutter *reader = &snapshots->cutters[CUTTER_READER];
    struct waiting *left = NULL;

    ps_lock(ps);
    if (snapshots->held != NULL && is_late(ps, snapshots->held, now_ns))
        left = snapshots_let_go(ps);
    if (now_ns - reader->heard_ns >= (int64_t)READER_IDLE_MS * NS_PER_MS)
        snapshot_drop(ps, &reader->snapshot);
    ps_unlock(ps);
    waiting_fail_all(left, status_error(STATUS_DEADLINE_EXCEEDED,
                                        "ps %u continues without that cut", ps->options.index));
    pushes_apply_ready(ps);
}
