#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "trainer/optimizers/average.h"
#include "optimizer_golden.h"
#include "optimizer_keras_golden.h"
#include "support/test_group.h"

#define SIZE_MAX_ELEMENTS 100

/* A variable and its slots, as on a ps. */
struct variable {
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX], scalars[OPTIMIZER_SCALARS_MAX];
    float slots[OPTIMIZER_SLOTS_MAX][SIZE_MAX_ELEMENTS], w[SIZE_MAX_ELEMENTS];
    size_t count;
};

static void variable_init(struct variable *variable, const char *name,
                          const struct optimizer_setting *settings, size_t count)
{
    const struct optimizer *optimizer = optimizer_find(name);

    assert_non_null(optimizer);
    *variable = (struct variable){ .optimizer = optimizer, .count = count };
    for (int i = 0; i < optimizer->settings_count; i++)
        variable->settings[i] = optimizer->settings[i].initial;
    for (int i = 0; i < 5 && settings[i].name != NULL; i++) {
        int index = optimizer_setting_index(optimizer, settings[i].name);
        assert_true(index >= 0);
        variable->settings[index] = settings[i].initial;
    }
    for (int s = 0; s < optimizer->slots_count; s++)
        for (size_t i = 0; i < count; i++)
            variable->slots[s][i] =
                optimizer_initial(variable->settings, optimizer->slots[s].initial_setting);
    for (int s = 0; s < optimizer->scalars_count; s++)
        variable->scalars[s] =
            optimizer_initial(variable->settings, optimizer->scalars[s].initial_setting);
}

/* A part of an update: `count` elements from `first` on. */
static void apply_run(struct variable *variable, float rate, const float *gradient, size_t first,
                      size_t count)
{
    struct optimizer_step step = { .rate = rate,
                                   .settings = variable->settings,
                                   .scalars = variable->scalars,
                                   .w = variable->w + first,
                                   .out = variable->w + first,
                                   .g = gradient + first,
                                   .count = count };
    for (int s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        step.slots[s] = variable->slots[s] + first;
    if (variable->optimizer->measure != NULL) {
        struct optimizer_norms norms = { 0 };
        variable->optimizer->measure(&step, &norms);
        step.ratio = count == variable->count ? optimizer_ratio(&norms) : 1;
    }
    optimizer_carry_average(variable->optimizer, &step);
    variable->optimizer->apply(&step);
    optimizer_keep_average(variable->optimizer, &step);
}

static void advance(struct variable *variable)
{
    optimizer_advance(variable->optimizer, variable->settings, variable->scalars);
}

static void variable_apply(struct variable *variable, float rate, const float *gradient)
{
    apply_run(variable, rate, gradient, 0, variable->count);
    advance(variable);
}

/* Tolerance: the first five updates of values around 1 differ in the order of rounding in float32,
 * and Adam magnifies this where gradients change their sign. */
static void updates_as_tensorflow(void **state)
{
    const struct golden *golden = *state;
    struct variable variable;

    variable_init(&variable, golden->name, golden->settings, GOLDEN_COUNT);
    memcpy(variable.w, golden_start, sizeof golden_start);
    for (int t = 0; t < GOLDEN_STEPS; t++) {
        variable_apply(&variable, golden->rate, golden_gradients[t]);
        for (int i = 0; i < GOLDEN_COUNT; i++)
            if (!(fabsf(variable.w[i] - golden->expected[t][i]) <= (t < 5 ? 2e-6f : 1e-5f)))
                fail_msg("update %d, element %d: %.9g, TensorFlow %.9g", t + 1, i, variable.w[i],
                         golden->expected[t][i]);
    }
}

/* Keras moves the average with each batch that it accumulates, from the second step on towards the
 * values before the step. */
static void an_average_moves_with_each_accumulated_batch(void **state)
{
    static const struct optimizer_setting settings[5] = { { "ema_momentum", .75f },
                                                          { "ema_momentum_before", .75f * .75f } };
    static const float gradient[] = { 1, -2 };
    struct variable variable;
    float w[] = { 0, 0 }, average[2] = { 0, 0 };
    (void)state;

    variable_init(&variable, "sgd+ema", settings, 2);
    memcpy(variable.w, w, sizeof w);
    for (int t = 0; t < 4; t++) {
        variable_apply(&variable, .5f, gradient);
        for (int i = 0; i < 2; i++)
            for (int batch = 1; batch <= 3; batch++) {
                w[i] -= batch == 3 ? .5f * gradient[i] : 0;
                average[i] = t == 0 ? w[i] : .75f * average[i] + .25f * w[i];
            }
        for (int i = 0; i < 2; i++) {
            assert_true(variable.w[i] == w[i]);
            assert_true(fabsf(variable.slots[0][i] - average[i]) <= 1e-6f);
        }
    }
}

/* Computed by hand from TensorFlow's formulas, with w = 0 at first and g = 1 in each update. */
static const struct check {
    const char *label, *name;
    float rate;
    struct optimizer_setting settings[5];
    float expected[2];
    int updates;
} checks[] = {
    { "ftrl, first and second", "ftrl", .1f, { { 0 } }, { -.0953463f, -.164353f }, 2 },
    { "adagrad", "adagrad", .1f, { { 0 } }, { -.0953463f }, 1 },
    { "adam", "adam", .001f, { { 0 } }, { -9.999997e-4f }, 1 },
    { "rmsprop", "rmsprop", .1f, { { 0 } }, { -.1f }, 1 },
    { "momentum", "momentum", .1f, { { 0 } }, { -.1f, -.29f }, 2 },
    { "nesterov", "momentum", .1f, { { "nesterov", 1 } }, { -.19f, -.461f }, 2 },
};

static void gives_the_numbers_of_the_reference(void **state)
{
    const struct check *check = *state;
    struct variable variable;
    const float gradient[1] = { 1 };

    variable_init(&variable, check->name, check->settings, 1);
    for (int t = 0; t < check->updates; t++) {
        variable_apply(&variable, check->rate, gradient);
        assert_true(fabsf(variable.w[0] - check->expected[t]) < 1e-6f);
    }
}

/* An update of an element must not depend on its neighbours. Otherwise a training run with a given
 * seed would depend on how the variables are divided among the ps tasks. */
static void an_element_does_not_depend_on_where_a_slice_or_a_run_ends(void **state)
{
    (void)state;
    char names[256], *rest = names;
    float gradient[SIZE_MAX_ELEMENTS];

    strncpy(names, optimizer_names(), sizeof names - 1);
    for (int i = 0; i < SIZE_MAX_ELEMENTS; i++)
        gradient[i] = (float)(i % 7) * .37f - 1.1f;
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;) {
        const struct optimizer_setting none[5] = { { 0 } };
        if (optimizer_joins_pieces(optimizer_find(name))) /* its elements depend on all others */
            continue;
        struct variable whole, part, runs;
        variable_init(&whole, name, none, SIZE_MAX_ELEMENTS);
        variable_init(&part, name, none, 37);
        variable_init(&runs, name, none, SIZE_MAX_ELEMENTS);
        for (int t = 0; t < 3; t++) {
            variable_apply(&whole, .07f, gradient);
            variable_apply(&part, .07f, gradient + 13);
            for (size_t first = 0, count = 1; first < SIZE_MAX_ELEMENTS; first += count, count++)
                apply_run(&runs, .07f, gradient, first,
                          first + count <= SIZE_MAX_ELEMENTS ? count : SIZE_MAX_ELEMENTS - first);
            advance(&runs);
        }
        assert_memory_equal(whole.w + 13, part.w, 37 * sizeof(float));
        assert_memory_equal(whole.w, runs.w, sizeof whole.w);
        assert_memory_equal(whole.slots, runs.slots, sizeof whole.slots);
    }
}

/* FTRL divides by the rate, and a schedule may end at 0. */
static void a_rate_of_0_changes_nothing(void **state)
{
    static const struct optimizer_setting none[] = { { NULL, 0 } };
    const float gradient[] = { 0.5f, -2 };
    struct variable variable, before;

    (void)state;
    variable_init(&variable, "ftrl", none, 2);
    apply_run(&variable, .1f, gradient, 0, 2);
    before = variable;
    apply_run(&variable, 0, gradient, 0, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(variable.w[i] == before.w[i]);
        assert_true(variable.slots[0][i] == before.slots[0][i]);
        assert_true(variable.slots[1][i] == before.slots[1][i]);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(an_element_does_not_depend_on_where_a_slice_or_a_run_ends),
        cmocka_unit_test(a_rate_of_0_changes_nothing),
        cmocka_unit_test(an_average_moves_with_each_accumulated_batch),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, goldens, name, updates_as_tensorflow);
    ADD_ROWS(&group, keras_goldens, name, updates_as_tensorflow);
    ADD_ROWS(&group, checks, label, gives_the_numbers_of_the_reference);
    return test_group_run(&group, "optimizer", NULL, NULL);
}
