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

/* A stranger's job may say that a step has any number of batches: no loop over them. */
static void count_finite(struct loss_scale *state, uint64_t batches)
{
    uint64_t growth = state->growth_steps, counted = state->finite_steps;
    uint64_t left = growth > counted ? growth - counted : 1; /* until the scale is doubled */

    if (batches < left) {
        state->finite_steps += batches;
        return;
    }
    state->finite_steps = (batches - left) % growth;
    for (uint64_t i = (batches - left) / growth + 1; i > 0 && !isinf(state->scale * 2); i--)
        state->scale *= 2;
}

void loss_scale_count(struct loss_scale *state, float overflowed, uint64_t batches)
{
    if (state->scale == 0)
        return;
    if (overflowed == 0) {
        count_finite(state, batches);
        return;
    }
    state->skipped++;
    state->finite_steps = 0;
    if (overflowed <= state->scale)
        state->scale /= 2;
}
