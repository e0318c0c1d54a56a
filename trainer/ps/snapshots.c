#include "trainer/ps/snapshots.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/liveness.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/shares.h"

/* from a reader's hold to its cut, because the reader may have been stopped in between */
#define READER_HOLD_MS 1000
#define READER_IDLE_MS 60000 /* between two reads of its snapshot, which occupies memory */
#define SILENT_MS      5000  /* of a training task that holds the ps: it may have been killed */

/* A waiting hold or cut. */
struct waiting_cut {
    struct waiting waiting; /* first */
    struct snapshot_owner *owner;
    bool hold;
};

struct snapshots *snapshots_create(void)
{
    return zalloc(sizeof(struct snapshots));
}

void snapshots_destroy(struct ps *ps)
{
    for (size_t i = 0; i < COUNT(ps->snapshots->owners); i++)
        snapshot_drop(ps, &ps->snapshots->owners[i].snapshot);
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
static bool is_taken(const struct snapshot_owner *owner)
{
    return owner->snapshot.states != NULL && owner->snapshot.number == owner->number;
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

static struct message cut_reply(const struct ps *ps, const struct snapshot_owner *owner)
{
    const struct variables *variables = ps->variables;
    struct cut_reply header = { .snapshot = owner->snapshot.id,
                                .global_step = owner->snapshot.global_step,
                                .position = owner->snapshot.position,
                                .position_count = owner->snapshot.position_count,
                                .loss_scale = owner->snapshot.loss_scale };
    float scalars[JOB_SCALARS_MAX];

    if (is_taken(owner) && owner->slots) {
        header.scalars = scalars;
        header.scalars_count = collect_scalars(variables, owner->snapshot.states, scalars);
    }
    return pack_cut_reply(&header);
}

/* ---- the memory of further snapshots ---- */

/* The copies that updates make while the snapshot is read. Those of hash tables are charged as they
 * are made. */
static int64_t copied_bytes(const struct variables *variables, bool slots)
{
    int64_t bytes = 0;

    for (int i = 0; i < variables->slices_count; i++) {
        const struct slice *slice = &variables->slices[i];
        if (!slice_is_pushed(slice) || slice->table != NULL)
            continue;
        for (int part = 0; part < (slots ? SLICE_PARTS_MAX : 1); part++)
            bytes += slice->now.parts[part] != NULL ? (int64_t)slice->size_bytes : 0;
    }
    return bytes;
}

static void give_back(struct ps *ps, struct snapshot_owner *owner)
{
    if (owner->paid_bytes > 0)
        budget_give(ps->options.budget, owner->paid_bytes);
    owner->paid_bytes = 0;
}

/* Has another snapshot the copies for which the variables have paid? */
static bool are_copies_taken(const struct snapshots *snapshots, const struct snapshot_owner *owner)
{
    for (size_t i = 0; i < COUNT(snapshots->owners); i++) {
        const struct snapshot_owner *other = &snapshots->owners[i];
        if (other != owner && other->snapshot.states != NULL && other->snapshot.paid_bytes == 0)
            return true;
    }
    return false;
}

/* Charges the snapshot that the owner is about to take, unless the variables have paid for its
 * copies. The chief's goes before that of a reader, which takes another one later. */
static struct status pay_for_copies(struct ps *ps, struct snapshot_owner *owner)
{
    struct snapshot_owner *reader = &ps->snapshots->owners[OWNER_READER];
    int64_t bytes = copied_bytes(ps->variables, owner->slots);

    if (ps->options.budget == NULL || owner->paid_bytes > 0 || bytes == 0)
        return status_ok();
    while (are_copies_taken(ps->snapshots, owner)) {
        if (status_is_ok(budget_take(ps->options.budget, bytes))) {
            owner->paid_bytes = bytes;
            return status_ok();
        }
        if (owner == reader || reader->snapshot.states == NULL)
            return status_error(owner == reader ? STATUS_ABORTED : STATUS_RESOURCE_EXHAUSTED,
                                "ps %u has no %" PRId64 " MB for a snapshot beside the one that is "
                                "being read: --memory_budget_bytes",
                                ps->options.index, bytes / 1000000);
        snapshot_drop(ps, &reader->snapshot);
    }
    return status_ok();
}

/* Applies all pushes again. */
static void end_hold(struct ps *ps)
{
    if (ps->snapshots->held != NULL)
        give_back(ps, ps->snapshots->held);
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

/* Takes the snapshot for the owner that holds the ps. */
static void take_snapshot(struct ps *ps)
{
    struct variables *variables = ps->variables;
    struct snapshot_owner *owner = ps->snapshots->held;
    struct slice_state *states = zalloc((size_t)(variables->slices_count + 1) * sizeof *states);

    assert(pushes_is_idle(ps));
    variables_lend_spares(variables);
    for (int i = 0; i < variables->slices_count; i++)
        hold_slice(&variables->slices[i], owner->slots, pushes_step(ps), &states[i]);
    snapshot_drop(ps, &owner->snapshot);
    owner->snapshot = (struct snapshot){ .id = ++ps->snapshots->taken,
                                         .number = owner->number,
                                         .global_step = pushes_step(ps),
                                         .states = states,
                                         .paid_bytes = owner->paid_bytes,
                                         .loss_scale = loss_scaling_state(ps, false) };
    owner->paid_bytes = 0;
    shares_position(ps, &owner->snapshot.position, &owner->snapshot.position_count);
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
        if (cut->owner == snapshots->held && pushes_reached(ps))
            take_snapshot(ps);
        if (!is_taken(cut->owner)) {
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
        struct message reply = cut->hold ? hold_reply(ps) : cut_reply(ps, cut->owner);
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

static struct waiting *leave(struct ps *ps, struct snapshot_owner *owner)
{
    struct waiting *left = ps->snapshots->held == owner ? snapshots_let_go(ps) : NULL;

    snapshot_drop(ps, &owner->snapshot);
    *owner = (struct snapshot_owner){ 0 };
    return left;
}

struct waiting *snapshots_forget(struct ps *ps, const struct worker *worker)
{
    struct waiting *left = NULL;

    ASSERT_LOCKED(ps);
    for (size_t i = 0; i < COUNT(ps->snapshots->owners); i++)
        if (ps->snapshots->owners[i].worker == worker)
            waiting_append(&left, leave(ps, &ps->snapshots->owners[i]));
    return left;
}

struct waiting *snapshots_forget_all(struct ps *ps)
{
    struct waiting *left = snapshots_let_go(ps);

    for (size_t i = 0; i < COUNT(ps->snapshots->owners); i++)
        waiting_append(&left, leave(ps, &ps->snapshots->owners[i]));
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
    if (cut != NULL && ((struct waiting_cut *)cut)->owner == snapshots->held &&
        snapshots->holds == NULL && snapshots->cuts == NULL)
        end_hold(ps);
    ps_unlock(ps);
    if (cut == NULL)
        return;
    waiting_fail_all(cut, status_error(STATUS_CANCELLED, "the call was cancelled"));
    pushes_apply_ready(ps);
}

static struct status given_up(const struct ps *ps, const struct snapshot_owner *owner)
{
    return status_error(STATUS_NOT_FOUND, "ps %u: snapshot %" PRIu64 " was given up",
                        ps->options.index, owner->number);
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
                                struct snapshot_owner **out, struct waiting **earlier)
{
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    struct snapshot_owner *owner = *out = snapshots_owner(ps, worker, request->second);
    if (owner->worker == worker && request->number < owner->number)
        return status_error(STATUS_ABORTED,
                            "ps %u: snapshot %" PRIu64 " is older than snapshot %" PRIu64
                            ", which has begun",
                            ps->options.index, request->number, owner->number);
    if (owner->worker == worker && request->number == owner->number)
        return ps->snapshots->held == owner || is_taken(owner) ? status_ok() : given_up(ps, owner);
    if (is_busy(ps, worker))
        return status_error(STATUS_ABORTED, "ps %u: another snapshot is being taken",
                            ps->options.index);
    *earlier = snapshots_let_go(ps);
    ps->snapshots->held = owner;
    owner->worker = worker;
    owner->number = request->number;
    owner->heard_ns = clock_now_ns(ps->options.clock);
    pushes_hold(ps);
    return status_ok();
}

static struct status cut_begin(struct ps *ps, const struct cut_request *request,
                               struct snapshot_owner **out)
{
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    struct snapshot_owner *owner = *out = snapshots_owner(ps, worker, request->second);
    if (owner->worker != worker || request->number != owner->number)
        return status_error(STATUS_ABORTED, "ps %u was not held for snapshot %" PRIu64,
                            ps->options.index, request->number);
    if (ps->snapshots->held != owner)
        return is_taken(owner) ? status_ok() : given_up(ps, owner);
    owner->slots = request->slots;
    struct status status = pay_for_copies(ps, owner);
    if (!status_is_ok(status)) {
        end_hold(ps);
        return status;
    }
    pushes_permit_step(ps, request->until_step);
    for (size_t i = 0; i < request->until_count; i++)
        pushes_permit(ps, &request->until[i]);
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

static void append(struct call *call, struct snapshot_owner *owner, bool hold,
                   struct waiting **list)
{
    struct waiting_cut *cut = zalloc(sizeof *cut);

    cut->waiting.call = call;
    cut->owner = owner;
    cut->hold = hold;
    waiting_append(list, &cut->waiting);
}

void ps_hold(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct hold_request request;
    struct waiting *earlier = NULL;
    struct snapshot_owner *owner;

    struct status status = unpack_hold_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = hold_begin(ps, &request, &owner, &earlier);
        if (status_is_ok(status))
            append(call, owner, true, &ps->snapshots->holds);
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
    struct snapshot_owner *owner;

    struct status status = unpack_cut_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = cut_begin(ps, &request, &owner);
        if (status_is_ok(status))
            append(call, owner, false, &ps->snapshots->cuts);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    if (status_is_ok(status)) {
        wait_for_cut(ps, call);
        return;
    }
    call_fail(call, status);
    pushes_apply_ready(ps); /* a refused cut ends the hold */
}

/* ---- time ---- */

static bool is_late(const struct ps *ps, const struct snapshot_owner *owner, int64_t now_ns)
{
    const struct worker *worker = owner->worker;

    if (worker->reader)
        return now_ns - owner->heard_ns >= (int64_t)READER_HOLD_MS * NS_PER_MS;
    const struct member *member = liveness_find(ps, worker->index);
    return member != NULL && now_ns - member->heard_ns >= (int64_t)SILENT_MS * NS_PER_MS;
}

void snapshots_exclude_pause(struct ps *ps, int64_t paused_ns, int64_t now_ns)
{
    ASSERT_LOCKED(ps);
    for (size_t i = 0; i < COUNT(ps->snapshots->owners); i++) {
        struct snapshot_owner *owner = &ps->snapshots->owners[i];
        owner->heard_ns = ps_time_without_pause(owner->heard_ns, paused_ns, now_ns);
    }
}

void ps_expire(struct ps *ps, int64_t now_ns)
{
    struct snapshots *snapshots = ps->snapshots;
    struct snapshot_owner *reader = &snapshots->owners[OWNER_READER];
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
