/* Built with -ffp-contract=off, like formulas.c. */
#include "trainer/optimizers/average.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clones.h"
#include "trainer/optimizers/table.h"

static struct optimizer *averaging; /* [optimizer_rows_count], made once and never freed */
static char (*averaging_names)[40]; /* of the same length */

/* The additional settings and slots come last, so that the optimizer finds its own at the same
 * indices. */
static void make_averaging(void)
{
    averaging = zalloc(optimizer_rows_count * sizeof *averaging);
    averaging_names = zalloc(optimizer_rows_count * sizeof *averaging_names);
    for (size_t i = 0; i < optimizer_rows_count; i++) {
        struct optimizer *made = &averaging[i];
        *made = optimizer_rows[i];
        snprintf(averaging_names[i], sizeof averaging_names[i], "%s" AVERAGE_SUFFIX, made->name);
        made->name = averaging_names[i];
        made->averages = true;
        made->rests = false; /* the average moves */
        made->settings[made->settings_count++] = (struct optimizer_setting){ "ema_momentum", .99f };
        made->settings[made->settings_count++] =
            (struct optimizer_setting){ "ema_momentum_before", 1 };
        made->settings[made->settings_count++] =
            (struct optimizer_setting){ "ema_overwrite_frequency", 0 };
        made->slots[made->slots_count++] =
            (struct optimizer_slot){ "average", "ExponentialMovingAverage", OPTIMIZER_STARTS_AT_0,
                                     NULL };
        made->scalars[made->scalars_count++] =
            (struct optimizer_scalar){ "ema_updates", OPTIMIZER_STARTS_AT_0 };
    }
}

const struct optimizer *optimizer_with_average(const struct optimizer *optimizer)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (optimizer->averages)
        return optimizer;
    pthread_once(&once, make_averaging);
    return &averaging[optimizer - optimizer_rows];
}

CLONES static void move_average(float momentum, const float *restrict w, float *restrict average,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        average[i] = momentum * average[i] + (1 - momentum) * w[i];
}

/* The scalar counts the earlier updates; with a frequency f it stays below 2f, so that it is
 * exact. */
bool optimizer_average_is_due(const struct optimizer *optimizer, const float *settings,
                              const float *scalars)
{
    if (!optimizer->averages)
        return false;
    float updates = scalars[optimizer->scalars_count - 1];
    float frequency = settings[optimizer->settings_count - 1];

    return frequency > 0 && fmodf(updates + 1, frequency) == 0;
}

static const float *average_settings(const struct optimizer *optimizer, const float *settings)
{
    return settings + optimizer->settings_count - AVERAGE_SETTINGS;
}

/* The average of the first step is the variable. */
static bool has_average(const struct optimizer *optimizer, const struct optimizer_step *step)
{
    return optimizer->averages && step->scalars[optimizer->scalars_count - 1] > 0;
}

void optimizer_carry_average(const struct optimizer *optimizer, const struct optimizer_step *step)
{
    if (!has_average(optimizer, step) || average_settings(optimizer, step->settings)[1] == 1)
        return;
    move_average(average_settings(optimizer, step->settings)[1], step->w,
                 step->slots[optimizer->slots_count - 1], step->count);
}

void optimizer_keep_average(const struct optimizer *optimizer, const struct optimizer_step *step)
{
    if (!optimizer->averages)
        return;
    float momentum = average_settings(optimizer, step->settings)[0];
    float *average = step->slots[optimizer->slots_count - 1];

    move_average(has_average(optimizer, step) ? momentum : 0, step->out, average, step->count);
    if (optimizer_average_is_due(optimizer, step->settings, step->scalars))
        memcpy(step->out, average, step->count * sizeof *average);
}

void optimizer_advance_average(const struct optimizer *optimizer, const float *settings,
                               float *scalars)
{
    if (!optimizer->averages)
        return;
    float frequency = settings[optimizer->settings_count - 1];
    float *updates = &scalars[optimizer->scalars_count - 1];
    *updates += 1;
    if (*updates >= (frequency > 0 ? 2 * frequency : 2))
        *updates -= frequency > 0 ? frequency : 1;
}
