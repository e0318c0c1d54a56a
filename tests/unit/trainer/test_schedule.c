#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "schedule_golden.h"
#include "support/status.h"
#include "trainer/optimizers/schedule.h"
#include "support/test_group.h"
#include "support/test_group.h"

static struct status make(const struct golden_schedule *golden, struct schedule *out, float *rate)
{
    TRY(schedule_begin(golden->name, out));
    for (size_t i = 0; i < COUNT(golden->parameters) && golden->parameters[i].name != NULL; i++)
        TRY(schedule_set(out, golden->parameters[i].name, golden->parameters[i].numbers,
                         golden->parameters[i].count, rate));
    return schedule_check(out);
}

/* Keras computes in float as well. Its power, logarithm and cosine differ in the last bits, which
 * count where a cosine is subtracted from 1: 1e-6 of the largest rate. */
static void rates_are_keras(void **state)
{
    const struct golden_schedule *golden = *state;
    struct schedule schedule;
    float rate = 0;

    assert_ok(make(golden, &schedule, &rate));
    for (size_t i = 0; i < COUNT(golden_steps); i++) {
        double got = (double)schedule_rate(&schedule, rate, golden_steps[i]);
        if (fabs(got - golden->rates[i]) > 1e-6 * fabs(golden->rates[i]) + 2e-8)
            fail_msg("step %d: %.9g, Keras has %.9g", (int)golden_steps[i], got, golden->rates[i]);
    }
}

/* The ps tasks get a schedule as values. */
static void values_make_the_same_schedule(void **state)
{
    const struct golden_schedule *golden = *state;
    struct schedule schedule, again;
    float rate = 0;

    assert_ok(make(golden, &schedule, &rate));
    assert_ok(
        schedule_read(schedule.kind->name, schedule.values, (size_t)schedule.values_count, &again));
    for (size_t i = 0; i < COUNT(golden_steps); i++)
        assert_true(schedule_rate(&schedule, rate, golden_steps[i]) ==
                    schedule_rate(&again, rate, golden_steps[i]));
}

static void no_schedule_is_a_constant(void **state)
{
    (void)state;
    struct schedule schedule;

    assert_ok(schedule_read("", NULL, 0, &schedule));
    assert_true(schedule_rate(&schedule, .25f, 7) == .25f);
}

static const struct wrong_schedule {
    struct golden_schedule schedule;
    const char *words;
} wrong_schedules[] = {
    { { "Cosine", { { 0 } }, { 0 } }, "'Cosine' is none of: CosineDecay" },
    { { "CosineDecay", { { 0 } }, { 0 } }, "decay_steps is missing" },
    { { "CosineDecay", { { "decay_steps", { 0 }, 1 } }, { 0 } },
      "decay_steps is 0, expected a number above 0" },
    { { "CosineDecay", { { "decay_steps", { 1e-60 }, 1 } }, { 0 } }, "expected a number above 0" },
    { { "CosineDecay", { { "decay_steps", { 1, 2 }, 2 } }, { 0 } }, "decay_steps is a list" },
    { { "CosineDecay", { { "steps", { 1 }, 1 } }, { 0 } },
      "CosineDecay has no parameter 'steps'; it has: initial_learning_rate decay_steps alpha "
      "warmup_target warmup_steps" },
    { { "CosineDecay", { { "decay_steps", { 9 }, 1 }, { "alpha", { INFINITY }, 1 } }, { 0 } },
      "alpha is inf" },
    { { "CosineDecayRestarts",
        { { "first_decay_steps", { 9 }, 1 }, { "t_mul", { .5 }, 1 } },
        { 0 } },
      "t_mul is 0.5, expected a number of at least 1" },
    { { "ExponentialDecay", { { "decay_steps", { 9 }, 1 } }, { 0 } }, "decay_rate is missing" },
    { { "PiecewiseConstantDecay", { { "boundaries", { 9 }, 1 } }, { 0 } },
      "1 boundaries need 2 values" },
    { { "PiecewiseConstantDecay",
        { { "boundaries", { 9 }, 1 }, { "values", { 1, 2, 3 }, 3 } },
        { 0 } },
      "2 boundaries need 3 values" },
    { { "PiecewiseConstantDecay",
        { { "values", { 1, 2, 3 }, 3 }, { "boundaries", { 9, 8 }, 2 } },
        { 0 } },
      "boundary 8 after boundary 9" },
    { { "PiecewiseConstantDecay", { { "values", { 1 }, 1 } }, { 0 } }, "1 values; expected 1 to" },
    { { "PiecewiseConstantDecay", { { "steps", { 1 }, 1 } }, { 0 } },
      "has no parameter 'steps'; it has: boundaries values" },
    { { "PiecewiseConstantDecay", { { 0 } }, { 0 } }, "boundaries or values are missing" },
};

static void refuses_by_name(void **state)
{
    const struct wrong_schedule *wrong = *state;
    struct schedule schedule;
    float rate;

    struct status status = make(&wrong->schedule, &schedule, &rate);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    if (strstr(status.message, wrong->words) == NULL)
        fail_msg("'%s' is not in '%s'", wrong->words, status.message);
}

static void refuses_values_of_another_schedule(void **state)
{
    (void)state;
    struct schedule schedule;
    const double values[SCHEDULE_VALUES_MAX + 2] = { 1, 1, 1, 1 };

    assert_false(status_is_ok(schedule_read("CosineDecay", values, 3, &schedule)));
    assert_false(status_is_ok(schedule_read("PiecewiseConstantDecay", values, 3, &schedule)));
    assert_false(status_is_ok(
        schedule_read("PiecewiseConstantDecay", values, SCHEDULE_VALUES_MAX + 2, &schedule)));
    assert_false(status_is_ok(schedule_read("", values, 1, &schedule)));
    assert_ok(schedule_read("CosineDecay", values, 4, &schedule));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(no_schedule_is_a_constant),
        cmocka_unit_test(refuses_values_of_another_schedule),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, golden_schedules, name, rates_are_keras);
    ADD_ROWS(&group, golden_schedules, name, values_make_the_same_schedule);
    ADD_ROWS(&group, wrong_schedules, words, refuses_by_name);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "schedule", NULL, NULL);
}
