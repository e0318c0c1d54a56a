#include "trainer/ps/loss_scaling.h"

#include <math.h>
#include <stdlib.h>

#include "trainer/ps/pushes.h"

struct loss_scaling {
    struct loss_scale now, before; /* `before`: as of the step before the last */
    uint64_t skipping;             /* pushes that are being skipped, without the lock */
    float overflowed; /* the scale at which the last update was skipped; 0: it was not */
};

struct loss_scaling *loss_scaling_create(void)
{
    return zalloc(sizeof(struct loss_scaling));
}

void loss_scaling_destroy(struct loss_scaling *scaling)
{
    free(scaling);
}

void loss_scaling_begin(struct ps *ps, const struct create_request *request)
{
    ASSERT_LOCKED(ps);
    *ps->loss_scaling =
        (struct loss_scaling){ .now = request->loss_scale, .before = request->loss_scale };
}

struct loss_scale loss_scaling_state(const struct ps *ps, bool before)
{
    ASSERT_LOCKED(ps);
    return before ? ps->loss_scaling->before : ps->loss_scaling->now;
}

struct status loss_scaling_check_push(const struct ps *ps, const struct push_request *request)
{
    float overflowed = request->overflowed;

    ASSERT_LOCKED(ps);
    if (overflowed == 0 ||
        (overflowed > 0 && !isinf(overflowed) && ps->loss_scaling->now.scale > 0))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "gradients of the loss times %g overflowed, and the job's scale is %g",
                        (double)overflowed, (double)ps->loss_scaling->now.scale);
}

/* Over the pushes of all workers: one with non-finite gradients is enough to skip the step. */
static float overflowed_in(const struct push *pushes)
{
    float most = 0;

    for (const struct push *push = pushes; push != NULL; push = push->next_push)
        most = push->overflowed > most ? push->overflowed : most;
    return most;
}

void loss_scaling_take(struct ps *ps, struct push *pushes)
{
    ASSERT_LOCKED(ps);
    pushes->skips = overflowed_in(pushes) > 0;
    ps->loss_scaling->skipping += pushes->skips;
}

void loss_scaling_count(struct ps *ps, const struct push *pushes)
{
    struct loss_scaling *scaling = ps->loss_scaling;

    ASSERT_LOCKED(ps);
    scaling->before = scaling->now;
    scaling->overflowed = overflowed_in(pushes);
    loss_scale_count(&scaling->now, scaling->overflowed, ps->variables->training.batches_per_step);
    scaling->skipping -= pushes->skips;
}

float loss_scaling_overflowed(const struct ps *ps)
{
    ASSERT_LOCKED(ps);
    return ps->loss_scaling->overflowed;
}

uint64_t loss_scaling_updates(const struct ps *ps, uint64_t step)
{
    ASSERT_LOCKED(ps);
    uint64_t skipped = ps->loss_scaling->now.skipped + ps->loss_scaling->skipping;
    return step > skipped ? step - skipped : 0;
}
