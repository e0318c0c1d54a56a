/*
 * Built with -ffp-contract=off: all ps tasks must get the same rates, with and without fused
 * multiply-add.
 */
#include "trainer/optimizers/schedule.h"

#include <math.h>
#include <string.h>

#include "trainer/optimizers/name_list.h"

#define PI_F 3.14159265f

/* ---- the kinds, in Keras' order of operations ---- */

static float fraction_of(uint64_t step, double decay_steps, bool staircase)
{
    float p = (float)step / (float)decay_steps;

    return staircase ? floorf(p) : p;
}

/* values: decay_steps, decay_rate, staircase */
static float exponential_decay(const double *values, int count, float initial_rate, uint64_t step)
{
    (void)count;
    float p = fraction_of(step, values[0], values[2] != 0);

    return initial_rate * powf((float)values[1], p);
}

/* values: decay_steps, decay_rate, staircase */
static float inverse_time_decay(const double *values, int count, float initial_rate, uint64_t step)
{
    (void)count;
    float p = fraction_of(step, values[0], values[2] != 0);

    return initial_rate / (1 + (float)values[1] * p);
}

/* values: decay_steps, end_learning_rate, power, cycle */
static float polynomial_decay(const double *values, int count, float initial_rate, uint64_t step)
{
    (void)count;
    float at = (float)step, decay_steps = (float)values[0], end = (float)values[1];

    if (values[3] != 0)
        decay_steps *= step == 0 ? 1 : ceilf(at / decay_steps);
    else
        at = fminf(at, decay_steps);
    return (initial_rate - end) * powf(1 - at / decay_steps, (float)values[2]) + end;
}

static float cosine(float fraction)
{
    return .5f * (1 + cosf(PI_F * fraction));
}

/* values: decay_steps, alpha, warmup_target (NAN: no warm-up), warmup_steps */
static float cosine_decay(const double *values, int count, float initial_rate, uint64_t step)
{
    (void)count;
    bool warms_up = !isnan(values[2]);
    float decay_steps = (float)values[0], warmup_steps = warms_up ? (float)values[3] : 0;
    float target = warms_up ? (float)values[2] : initial_rate;
    float at = fminf((float)step, decay_steps + warmup_steps);

    if (at < warmup_steps)
        return (target - initial_rate) * (at / warmup_steps) + initial_rate;
    float decayed = (float)(1 - values[1]) * cosine((at - warmup_steps) / decay_steps);
    return target * (decayed + (float)values[1]);
}

/* values: first_decay_steps, t_mul, m_mul, alpha */
static float cosine_decay_restarts(const double *values, int count, float initial_rate,
                                   uint64_t step)
{
    (void)count;
    float t_mul = (float)values[1], alpha = (float)values[3];
    float fraction = fraction_of(step, values[0], false), restart;

    if (t_mul == 1) {
        restart = floorf(fraction);
        fraction -= restart;
    } else {
        restart = floorf(logf(1 - fraction * (1 - t_mul)) / logf(t_mul));
        float begun = (1 - powf(t_mul, restart)) / (1 - t_mul);
        fraction = (fraction - begun) / powf(t_mul, restart);
    }
    float amplitude = .5f * powf((float)values[2], restart);
    return initial_rate * ((1 - alpha) * (amplitude * (1 + cosf(PI_F * fraction))) + alpha);
}

/* values: each boundary with the rate after it */
static float piecewise_constant_decay(const double *values, int count, float initial_rate,
                                      uint64_t step)
{
    float rate = initial_rate;

    for (int i = 0; i < count && (double)step > values[i]; i += 2)
        rate = (float)values[i + 1];
    return rate;
}

static const struct schedule_kind kinds[] = {
    { "CosineDecay",
      4,
      { { "decay_steps", NAN, SCHEDULE_POSITIVE },
        { "alpha", 0, SCHEDULE_GIVEN },
        { "warmup_target", NAN, SCHEDULE_OPTIONAL },
        { "warmup_steps", 0, SCHEDULE_GIVEN } },
      cosine_decay },
    { "CosineDecayRestarts",
      4,
      { { "first_decay_steps", NAN, SCHEDULE_POSITIVE },
        { "t_mul", 2, SCHEDULE_GROWING },
        { "m_mul", 1, SCHEDULE_GIVEN },
        { "alpha", 0, SCHEDULE_GIVEN } },
      cosine_decay_restarts },
    { "ExponentialDecay",
      3,
      { { "decay_steps", NAN, SCHEDULE_POSITIVE },
        { "decay_rate", NAN, SCHEDULE_POSITIVE },
        { "staircase", 0, SCHEDULE_GIVEN } },
      exponential_decay },
    { "InverseTimeDecay",
      3,
      { { "decay_steps", NAN, SCHEDULE_POSITIVE },
        { "decay_rate", NAN, SCHEDULE_REQUIRED },
        { "staircase", 0, SCHEDULE_GIVEN } },
      inverse_time_decay },
    { "PiecewiseConstantDecay", 0, { { 0 } }, piecewise_constant_decay },
    { "PolynomialDecay",
      4,
      { { "decay_steps", NAN, SCHEDULE_POSITIVE },
        { "end_learning_rate", .0001, SCHEDULE_GIVEN },
        { "power", 1, SCHEDULE_GIVEN },
        { "cycle", 0, SCHEDULE_GIVEN } },
      polynomial_decay },
};

static bool is_piecewise(const struct schedule *schedule)
{
    return schedule->kind->parameters_count == 0;
}

/* ---- making a schedule ---- */

static struct status no_schedule(const char *name)
{
    struct name_list list = { "" };

    for (size_t i = 0; i < COUNT(kinds); i++)
        name_list_add(&list, kinds[i].name);
    return status_error(STATUS_INVALID_ARGUMENT, "learning rate schedule '%.100s' is none of: %s",
                        name, list.text);
}

struct status schedule_begin(const char *name, struct schedule *out)
{
    *out = (struct schedule){ 0 };
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            out->kind = &kinds[i];
    if (out->kind == NULL)
        return no_schedule(name);
    out->values_count = out->kind->parameters_count;
    for (int i = 0; i < out->values_count; i++)
        out->values[i] = out->kind->parameters[i].initial;
    return status_ok();
}

/* PiecewiseConstantDecay's two lists come in any order; missing values are NAN. */
static void put_every_second(struct schedule *schedule, int first, const double *numbers, int count)
{
    for (int i = schedule->values_count; i < 2 * count; i++)
        schedule->values[i] = NAN;
    for (int i = 0; i < count; i++)
        schedule->values[2 * i + first] = numbers[i];
    if (schedule->values_count < 2 * count)
        schedule->values_count = 2 * count;
}

static struct status no_parameter(const struct schedule *schedule, const char *name)
{
    const struct schedule_kind *kind = schedule->kind;
    struct name_list list = { "" };

    name_list_add(&list, is_piecewise(schedule) ? "boundaries values" : "initial_learning_rate");
    for (int i = 0; i < kind->parameters_count; i++)
        name_list_add(&list, kind->parameters[i].name);
    return status_error(STATUS_INVALID_ARGUMENT, "%s has no parameter '%.100s'; it has: %s",
                        kind->name, name, list.text);
}

static struct status set_list(struct schedule *schedule, const char *parameter,
                              const double *numbers, int count, float *initial_rate)
{
    bool rates = strcmp(parameter, "values") == 0;

    if (!rates && strcmp(parameter, "boundaries") != 0)
        return no_parameter(schedule, parameter);
    if (count - rates < 1 || count - rates > SCHEDULE_BOUNDARIES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s: %d %s; expected 1 to %d boundaries, and one more of the values",
                            schedule->kind->name, count, parameter, SCHEDULE_BOUNDARIES_MAX);
    if (rates)
        *initial_rate = (float)numbers[0];
    put_every_second(schedule, rates, numbers + rates, count - rates);
    return status_ok();
}

struct status schedule_set(struct schedule *schedule, const char *parameter, const double *numbers,
                           int count, float *initial_rate)
{
    const struct schedule_kind *kind = schedule->kind;

    if (is_piecewise(schedule))
        return set_list(schedule, parameter, numbers, count, initial_rate);
    if (count != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%s: %s is a list, expected a number",
                            kind->name, parameter);
    if (strcmp(parameter, "initial_learning_rate") == 0) {
        *initial_rate = (float)numbers[0];
        return status_ok();
    }
    for (int i = 0; i < kind->parameters_count; i++)
        if (strcmp(kind->parameters[i].name, parameter) == 0) {
            schedule->values[i] = numbers[0];
            return status_ok();
        }
    return no_parameter(schedule, parameter);
}

static struct status check_list(const struct schedule *schedule)
{
    const double *values = schedule->values;
    int count = schedule->values_count;

    if (count < 2 || count % 2 != 0 || count > SCHEDULE_VALUES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s: boundaries or values are missing",
                            schedule->kind->name);
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%s: %d boundaries need %d values, and all must be numbers",
                                schedule->kind->name, count / 2, count / 2 + 1);
    for (int i = 2; i < count; i += 2)
        if (values[i] <= values[i - 2])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%s: boundary %g after boundary %g: they must ascend",
                                schedule->kind->name, values[i], values[i - 2]);
    return status_ok();
}

static struct status check_parameter(const struct schedule *schedule, int i)
{
    const struct schedule_parameter *parameter = &schedule->kind->parameters[i];
    double value = schedule->values[i];

    if (isnan(value) && parameter->rule == SCHEDULE_OPTIONAL)
        return status_ok();
    if (isnan(value))
        return status_error(STATUS_INVALID_ARGUMENT, "%s: %s is missing", schedule->kind->name,
                            parameter->name);
    bool positive = parameter->rule == SCHEDULE_POSITIVE,
         growing = parameter->rule == SCHEDULE_GROWING;
    if (!isfinite(value) || (positive && !((float)value > 0)) || (growing && (float)value < 1))
        return status_error(STATUS_INVALID_ARGUMENT, "%s: %s is %g, expected a number%s",
                            schedule->kind->name, parameter->name, value,
                            positive  ? " above 0"
                            : growing ? " of at least 1"
                                      : "");
    return status_ok();
}

struct status schedule_check(const struct schedule *schedule)
{
    if (schedule->kind == NULL)
        return status_ok();
    if (is_piecewise(schedule))
        return check_list(schedule);
    for (int i = 0; i < schedule->kind->parameters_count; i++)
        TRY(check_parameter(schedule, i));
    return status_ok();
}

struct status schedule_read(const char *name, const double *values, size_t values_count,
                            struct schedule *out)
{
    struct schedule schedule = { 0 };

    if (*name != '\0')
        TRY(schedule_begin(name, &schedule));
    bool any_count = schedule.kind != NULL && is_piecewise(&schedule);
    if (values_count > SCHEDULE_VALUES_MAX ||
        (!any_count && values_count != (size_t)schedule.values_count))
        return status_error(STATUS_INVALID_ARGUMENT, "learning rate schedule '%s': %zu values came",
                            name, values_count);
    schedule.values_count = (int)values_count;
    if (values_count > 0)
        memcpy(schedule.values, values, values_count * sizeof *values);
    TRY(schedule_check(&schedule));
    *out = schedule;
    return status_ok();
}

float schedule_rate(const struct schedule *schedule, float initial_rate, uint64_t step)
{
    if (schedule->kind == NULL)
        return initial_rate;
    return schedule->kind->rate(schedule->values, schedule->values_count, initial_rate, step);
}
