#include "trainer/ps/scale.h"

#include <math.h>
#include <stdlib.h>

#include "trainer/ps/pushes.h"

struct scale {
    struct loss_scale now, before; /* `before`: as of the step before the last */
    uint64_t skipping;             /* pushes that are being skipped, without the lock */
    float overflowed; /* the scale at which the last update was skipped; 0: it was not */
};

struct scale *scale_create(void)
{
    return zalloc(sizeof(struct scale));
}

void scale_destroy(struct scale *scale)
{
    free(scale);
}

void scale_begin(struct ps *ps, const struct create_request *request)
{
    ASSERT_LOCKED(ps);
    *ps->scale = (struct scale){ .now = request->loss_scale, .before = request->loss_scale };
}

struct loss_scale scale_state(const struct ps *ps, bool before)
{
    ASSERT_LOCKED(ps);
    return before ? ps->scale->before : ps->scale->now;
}

struct status scale_check_push(const struct ps *ps, const struct push_request *request)
{
    float overflowed = request->overflowed;

    ASSERT_LOCKED(ps);
    if (overflowed == 0 || (overflowed > 0 && !isinf(overflowed) && ps->scale->now.scale > 0))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "gradients of the loss times %g overflowed, and the job's scale is %g",
                        (double)overflowed, (double)ps->scale->now.scale);
}

/* Over the pushes of all workers: one with non-finite gradients is enough to skip the step. */
static float overflowed_in(const struct push *pushes)
{
    float most = 0;

    for (const struct push *push = pushes; push != NULL; push = push->next_push)
        most = push->overflowed > most ? push->overflowed : most;
    return most;
}

void scale_take(struct ps *ps, struct push *pushes)
{
    ASSERT_LOCKED(ps);
    pushes->skips = overflowed_in(pushes) > 0;
    ps->scale->skipping += pushes->skips;
}

void scale_count(struct ps *ps, const struct push *pushes)
{
    struct scale *scale = ps->scale;

    ASSERT_LOCKED(ps);
    scale->before = scale->now;
    scale->overflowed = overflowed_in(pushes);
    loss_scale_count(&scale->now, scale->overflowed, ps->variables->training.batches_per_step);
    scale->skipping -= pushes->skips;
}

float scale_overflowed(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->scale->overflowed;
}

uint64_t scale_updates(const struct ps *ps, uint64_t step)
{
    ASSERT_LOCKED(ps);
    uint64_t skipped = ps->scale->now.skipped + ps->scale->skipping;
    return step > skipped ? step - skipped : 0;
}
