#include "trainer/ps/liveness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/outcome.h"
#include "trainer/ps/snapshots.h"

#define BACK_MS   3000 /* three heartbeats */
#define SILENT_MS 5000 /* nobody waits for a worker that has been silent for this long */

#define REASON_BYTES_MAX 1023 /* as tasks send; a stranger's request may have a MiB */

struct task_liveness {
    struct member *members; /* [PS_WORKERS_MAX], by rank */
    bool begun;             /* a task has been heard from */
};

struct task_liveness *liveness_create(void)
{
    struct task_liveness *liveness = zalloc(sizeof *liveness);

    liveness->members = zalloc(PS_WORKERS_MAX * sizeof *liveness->members);
    return liveness;
}

void liveness_destroy(struct task_liveness *liveness)
{
    for (uint32_t rank = 0; rank < PS_WORKERS_MAX; rank++) {
        free(liveness->members[rank].left);
        free(liveness->members[rank].refused);
    }
    free(liveness->members);
    free(liveness);
}

bool liveness_has_begun(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->liveness->begun;
}

const struct member *liveness_find(const struct ps *ps, uint32_t rank)
{
    ASSERT_LOCKED(ps);
    assert(rank < PS_WORKERS_MAX);
    const struct member *member = &ps->liveness->members[rank];
    return member->heard_ns != 0 ? member : NULL;
}

void liveness_mark_informed(struct ps *ps, uint32_t rank)
{
    if (rank < PS_WORKERS_MAX && outcome_is_known(ps))
        ps->liveness->members[rank].told = true;
}

static char *copy_reason(const char *why)
{
    char text[REASON_BYTES_MAX + 1];

    snprintf(text, sizeof text, "%s", why);
    return xstrdup(text);
}

void liveness_record(struct ps *ps, const struct identity *identity)
{
    struct member *member = &ps->liveness->members[identity->index];
    bool known = member->heard_ns != 0;

    ASSERT_LOCKED(ps);
    ps->liveness->begun = true;
    member->heard_ns = clock_now_ns(ps->options.clock);
    snprintf(member->name, sizeof member->name, "%s", identity->task);
    if (known && member->incarnation == identity->incarnation)
        return;
    member->incarnation = identity->incarnation;
    member->said = known ? MEMBER_NEW : MEMBER_UNKNOWN;
    member->told = false;
    free(member->left);
    member->left = NULL;
}

void liveness_record_refusal(struct ps *ps, const struct identity *identity, const char *why)
{
    struct member *member = &ps->liveness->members[identity->index];

    ASSERT_LOCKED(ps);
    if (member->refused != NULL && member->refused_incarnation == identity->incarnation)
        return;
    free(member->refused);
    member->refused = copy_reason(why);
    member->refused_incarnation = identity->incarnation;
    member->refusal_said = false;
    if (member->heard_ns == 0)
        snprintf(member->name, sizeof member->name, "%s", identity->task);
}

bool liveness_is_refused(const struct ps *ps, uint32_t rank)
{
    ASSERT_LOCKED(ps);
    return ps->liveness->members[rank].refused != NULL;
}

void liveness_touch(struct ps *ps, const struct worker *worker)
{
    struct member *member = &ps->liveness->members[worker->index];

    ASSERT_LOCKED(ps);
    if (member->heard_ns != 0 && member->incarnation == worker->incarnation)
        member->heard_ns = clock_now_ns(ps->options.clock);
}

/* Is no process of this task running, as far as is known? */
static bool is_vacant(const struct ps *ps, const struct member *member)
{
    int64_t silent_ns = clock_now_ns(ps->options.clock) - member->heard_ns;

    return member->heard_ns == 0 || member->left != NULL ||
           silent_ns >= (int64_t)BACK_MS * NS_PER_MS;
}

void liveness_record_failure(struct ps *ps, const struct identity *identity, const char *why)
{
    struct member *member = &ps->liveness->members[identity->index];

    ASSERT_LOCKED(ps);
    if (is_vacant(ps, member)) /* it failed before its first heartbeat */
        liveness_record(ps, identity);
    if (member->incarnation != identity->incarnation || member->left != NULL)
        return;
    member->left = copy_reason(why);
}

/* With the lock: writes the next line about a member. Returns false if there is nothing new. */
static bool tell(const struct ps *ps, struct member *member, int64_t now_ns, int64_t lost_ms,
                 char *out, size_t size)
{
    uint32_t rank = (uint32_t)(member - ps->liveness->members);
    bool needed =
        generation_needs(ps, rank) && (rank == 0 || generation_of(ps)->backup_workers == 0);
    int64_t silent_ms = (now_ns - member->heard_ns) / NS_PER_MS;
    enum member_logged said = member->said;

    if (said == MEMBER_UNKNOWN || said == MEMBER_NEW) {
        snprintf(out, size, "%s is here%s", member->name, said == MEMBER_NEW ? ", restarted" : "");
        member->said = MEMBER_HERE;
    } else if (member->left != NULL && said != MEMBER_LEFT) {
        snprintf(out, size, "%s has left: %s", member->name, member->left);
        member->said = MEMBER_LEFT;
    } else if (said == MEMBER_HERE && silent_ms > SILENT_MS) {
        int length = snprintf(out, size, "%s has not been heard from for %" PRId64 " s",
                              member->name, silent_ms / 1000);
        if (needed && (size_t)length < size)
            snprintf(out + length, size - (size_t)length,
                     "; the job ends if that lasts %" PRId64 " s", lost_ms / 1000);
        member->said = MEMBER_SILENT;
    } else if (said == MEMBER_SILENT && silent_ms < BACK_MS) {
        snprintf(out, size, "%s is here again", member->name);
        member->said = MEMBER_HERE;
    }
    return member->said != said;
}

static bool tell_refusal(struct member *member, char *out, size_t size)
{
    if (member->refused == NULL || member->refusal_said)
        return false;
    snprintf(out, size, "%s%s is refused: %s", member->heard_ns != 0 ? "another " : "",
             member->name, member->refused);
    member->refusal_said = true;
    return true;
}

bool ps_next_news(struct ps *ps, int64_t now_ns, int64_t lost_ms, char *out, size_t size)
{
    bool any = false;

    ps_lock(ps);
    for (uint32_t rank = 0; rank < PS_WORKERS_MAX && !any && !outcome_is_known(ps); rank++) {
        struct member *member = &ps->liveness->members[rank];
        any = (liveness_find(ps, rank) != NULL && tell(ps, member, now_ns, lost_ms, out, size)) ||
              tell_refusal(member, out, size);
    }
    ps_unlock(ps);
    return any;
}

/* A task in the same process sends no heartbeats, and is never silent. */
bool liveness_is_present(const struct ps *ps, const struct worker *worker)
{
    const struct member *member = liveness_find(ps, worker->index);
    int64_t since_ns = clock_now_ns(ps->options.clock) - (int64_t)SILENT_MS * NS_PER_MS;

    if (!worker->joined || worker->finished)
        return false;
    return member == NULL || (member->left == NULL && member->heard_ns >= since_ns);
}

/* ---- for the process ---- */

int64_t ps_last_heard_ns(struct ps *ps)
{
    int64_t heard_ns = 0;

    ps_lock(ps);
    for (uint32_t rank = 0; rank < PS_WORKERS_MAX; rank++) {
        const struct member *member = liveness_find(ps, rank);
        if (member != NULL && member->heard_ns > heard_ns)
            heard_ns = member->heard_ns;
    }
    ps_unlock(ps);
    return heard_ns;
}

void ps_exclude_pause(struct ps *ps, int64_t paused_ns)
{
    int64_t now_ns = clock_now_ns(ps->options.clock);

    ps_lock(ps);
    for (uint32_t rank = 0; rank < PS_WORKERS_MAX; rank++) {
        struct member *member = &ps->liveness->members[rank];
        if (liveness_find(ps, rank) != NULL)
            member->heard_ns = ps_time_without_pause(member->heard_ns, paused_ns, now_ns);
    }
    generation_exclude_pause(ps, paused_ns, now_ns);
    snapshots_exclude_pause(ps, paused_ns, now_ns);
    ps_unlock(ps);
}

uint32_t ps_count_uninformed(struct ps *ps, uint32_t trainers)
{
    uint32_t untold = 0;

    ps_lock(ps);
    for (uint32_t rank = 0; rank < trainers && rank < PS_WORKERS_MAX; rank++) {
        const struct member *member = &ps->liveness->members[rank];
        untold += !member->told && member->left == NULL;
    }
    ps_unlock(ps);
    return untold;
}
