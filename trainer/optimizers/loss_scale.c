#include "trainer/optimizers/loss_scale.h"

#include <math.h>

struct status loss_scale_check(const struct loss_scale *state)
{
    if (!(state->scale >= 0) || isinf(state->scale))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the loss scale is %g, expected a number above 0",
                            (double)state->scale);
    if (state->scale > 0 && state->growth_steps == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a loss scale that grows after 0 steps, expected at least 1");
    return status_ok();
}

static void grow(struct loss_scale *state)
{
    state->finite_steps = 0;
    if (!isinf(state->scale * 2))
        state->scale *= 2;
}

void loss_scale_count(struct loss_scale *state, float overflowed, uint64_t batches)
{
    if (state->scale == 0)
        return;
    if (overflowed == 0) {
        for (uint64_t i = 0; i < batches; i++)
            if (++state->finite_steps >= state->growth_steps)
                grow(state);
        return;
    }
    state->skipped++;
    state->finite_steps = 0;
    if (overflowed <= state->scale)
        state->scale /= 2;
}
