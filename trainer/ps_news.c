/* What there is to tell about the tasks that train: who has come, gone silent, come back, left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/ps_internal.h"

#define BACK_MS   3000 /* three beats */
#define SILENT_MS 5000

struct member *ps_member(struct ps *ps, uint32_t rank)
{
    if (ps->members == NULL)
        ps->members = zalloc(PS_WORKERS_MAX * sizeof *ps->members);
    return &ps->members[rank];
}

void ps_hear(struct ps *ps, const Slipway__Training__Identity *identity)
{
    struct member *member = ps_member(ps, identity->index);
    bool known = member->heard_ns != 0;

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

void ps_leave(struct ps *ps, const Slipway__Training__Identity *identity, const char *why)
{
    struct member *member = ps_member(ps, identity->index);

    if (member->incarnation != identity->incarnation || member->left != NULL)
        return;
    member->left = xstrdup(why);
}

bool ps_is_needed(const struct ps *ps, uint32_t rank)
{
    return rank == 0 || (ps->sync && rank < ps->sync_workers);
}

/* With the lock: true when there is something to tell. */
static bool tell(const struct ps *ps, struct member *member, int64_t lost_ms, char *out,
                 size_t size)
{
    bool needed = ps_is_needed(ps, (uint32_t)(member - ps->members));
    int64_t silent_ms = (clock_now_ns(ps->options.clock) - member->heard_ns) / NS_PER_MS;
    enum member_said said = member->said;

    if (said == MEMBER_UNKNOWN || said == MEMBER_NEW) {
        snprintf(out, size, "%s is here%s", member->name,
                 said == MEMBER_NEW ? ", started anew" : "");
        member->said = MEMBER_HERE;
    } else if (member->left != NULL && said != MEMBER_LEFT) {
        snprintf(out, size, "%s has left: %s", member->name, member->left);
        member->said = MEMBER_LEFT;
    } else if (said == MEMBER_HERE && silent_ms > SILENT_MS) {
        int length = snprintf(out, size, "%s has not been heard of for %" PRId64 " s", member->name,
                              silent_ms / 1000);
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

bool ps_news(struct ps *ps, int64_t lost_ms, char *out, size_t size)
{
    bool any = false;

    pthread_mutex_lock(&ps->lock);
    for (uint32_t rank = 0; ps->members != NULL && rank < PS_WORKERS_MAX && !any && !ps->over;
         rank++)
        if (ps->members[rank].heard_ns != 0)
            any = tell(ps, &ps->members[rank], lost_ms, out, size);
    pthread_mutex_unlock(&ps->lock);
    return any;
}
