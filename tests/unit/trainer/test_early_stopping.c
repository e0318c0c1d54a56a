#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "early_stopping_golden.h"
#include "trainer/model/early_stopping.h"
#include "support/test_group.h"

static const struct training_metric metrics[] = {
    { .name = "accuracy", .larger_is_better = true },
    { .name = "mean_absolute_error" },
};
static const struct training_graph graph = { .metrics = metrics, .metrics_count = 2 };

static struct early_stopping make(const struct golden *golden)
{
    const struct early_stopping_options options = { .monitor = "val_loss",
                                                    .mode = golden->mode,
                                                    .patience = golden->patience,
                                                    .min_delta = golden->min_delta,
                                                    .baseline = golden->baseline,
                                                    .start_from = golden->start_from };
    struct early_stopping stopping;

    assert_true(status_is_ok(early_stopping_init(&options, &graph, &stopping)));
    return stopping;
}

static void decides_as_keras(void **state)
{
    (void)state;
    for (size_t g = 0; g < COUNT(goldens); g++) {
        const struct golden *golden = &goldens[g];
        struct early_stopping stopping = make(golden);
        int stopped = -1;
        for (int i = 0; i < golden->count && stopped < 0; i++)
            if (early_stopping_add(&stopping, (uint64_t)i + 1, golden->values[i]).stop)
                stopped = i;
        if (stopped != golden->stopped)
            fail_msg("row %zu: stopped at %d, Keras at %d", g, stopped, golden->stopped);
        assert_int_equal(stopping.best_step, golden->best + 1);
        assert_int_equal(early_stopping_is_enough(&stopping), stopped >= 0);
    }
}

/* Interrupted after each evaluation, the decisions are the same; evaluations made again do not
 * count. */
static void goes_on_from_a_file(void **state)
{
    char path[] = "/tmp/slipway-stopping-XXXXXX";
    (void)state;

    close(mkstemp(path));
    for (size_t g = 0; g < COUNT(goldens); g++) {
        const struct golden *golden = &goldens[g];
        int stopped = -1;
        unlink(path);
        for (int i = 0; i < golden->count && stopped < 0; i++) {
            struct early_stopping stopping = make(golden);
            assert_true(status_is_ok(early_stopping_read(&stopping, path)));
            if (i > 0)
                early_stopping_add(&stopping, (uint64_t)i, -1);
            if (early_stopping_add(&stopping, (uint64_t)i + 1, golden->values[i]).stop)
                stopped = i;
            assert_true(status_is_ok(early_stopping_write(&stopping, path)));
        }
        assert_int_equal(stopped, golden->stopped);
    }
    unlink(path);
}

static void a_nan_is_never_the_best(void **state)
{
    struct early_stopping stopping = make(&goldens[0]);
    (void)state;

    assert_false(early_stopping_add(&stopping, 1, NAN).best);
    assert_true(early_stopping_add(&stopping, 2, 1).best);
    assert_true(early_stopping_add(&stopping, 3, NAN).stop);
}

static const struct choice {
    const char *label, *monitor, *mode;
    bool known, larger;
    int metric;
} choices[] = {
    { "the loss is better when smaller", "val_loss", "auto", true, false, -1 },
    { "a metric's name without val_", "accuracy", "auto", true, true, 0 },
    { "a metric that is the mean of a loss", "val_mean_absolute_error", "auto", true, false, 1 },
    { "the mode wins", "accuracy", "min", true, false, 0 },
    { "a metric that the model does not have", "val_auc", "auto", false, false, 0 },
};

static void chooses_what_is_monitored(void **state)
{
    const struct choice *choice = *state;
    const struct early_stopping_options options = { .monitor = choice->monitor,
                                                    .mode = choice->mode,
                                                    .baseline = "" };
    const struct evaluation evaluation = { .loss = 3, .metrics = { 1, 2 } };
    struct early_stopping stopping;
    struct status status = early_stopping_init(&options, &graph, &stopping);

    assert_int_equal(status_is_ok(status), choice->known);
    if (!choice->known) {
        assert_non_null(strstr(status.message, "loss, accuracy, mean_absolute_error"));
        return;
    }
    assert_int_equal(stopping.larger_is_better, choice->larger);
    double expected = choice->metric < 0 ? 3 : evaluation.metrics[choice->metric];
    assert_true(early_stopping_value(&stopping, &evaluation) == expected);
}

static const struct damage {
    const char *label, *text, *words;
} damages[] = {
    { "no JSON", "{", "" },
    { "a list", "[]", "'step' is not an integer" },
    { "a negative wait", "{\"monitor\":\"loss\",\"step\":1,\"evaluations\":1,\"wait\":-1}",
      "'wait'" },
    { "another monitor",
      "{\"monitor\":\"auc\",\"step\":1,\"evaluations\":1,\"wait\":1,\"best_step\":1,\"best\":1}",
      "it is about 'auc', and --monitor is 'loss'" },
    { "a best that is a text",
      "{\"monitor\":\"loss\",\"step\":1,\"evaluations\":1,\"wait\":1,\"best_step\":1,\"best\":"
      "\"1\"}",
      "'best' is not a number" },
};

static void refuses_a_damaged_state(void **state)
{
    const struct damage *damage = *state;
    char path[] = "/tmp/slipway-stopping-XXXXXX";
    struct early_stopping stopping = make(&goldens[0]);

    close(mkstemp(path));
    assert_true(
        status_is_ok(file_write(path, (struct bytes){ damage->text, strlen(damage->text) })));
    struct status status = early_stopping_read(&stopping, path);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, path));
    assert_non_null(strstr(status.message, damage->words));
    unlink(path);
}

static void refuses_a_baseline_that_is_no_number(void **state)
{
    const struct early_stopping_options options = { .monitor = "loss",
                                                    .mode = "auto",
                                                    .baseline = "low" };
    struct early_stopping stopping;
    (void)state;

    assert_int_equal(early_stopping_init(&options, &graph, &stopping).code,
                     STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(decides_as_keras),
        cmocka_unit_test(goes_on_from_a_file),
        cmocka_unit_test(a_nan_is_never_the_best),
        cmocka_unit_test(refuses_a_baseline_that_is_no_number),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, choices, label, chooses_what_is_monitored);
    ADD_ROWS(&group, damages, label, refuses_a_damaged_state);
    return test_group_run(&group, "early stopping", NULL, NULL);
}
