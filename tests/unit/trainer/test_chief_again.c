/* A chief that is started again without a checkpoint, and continues with the values of the ps
 * tasks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "small_cluster.h"
#include "support/status.h"
#include "support/test_group.h"
#include "trainer/job/chief.h"

#define STEPS 3

static const struct setting_value momentum[] = { { "momentum", .9f } };
static const struct optimizer_choice another[] = { { .name = "adam", .learning_rate = .5f } };

static const struct row {
    const char *label;
    struct client_job job;
    const char *warned; /* the flags in the warning; NULL: no warning */
} rows[] = {
    { "the same", { .optimizer = "sgd", .learning_rate = .5f }, NULL },
    { "another rate", { .optimizer = "sgd", .learning_rate = .25f }, "'sgd learning_rate=0.25'" },
    { "another setting",
      { .optimizer = "momentum", .learning_rate = .5f, .settings = momentum, .settings_count = 1 },
      "'momentum learning_rate=0.5 momentum=0.9'" },
    { "one more optimizer",
      { .optimizer = "sgd",
        .learning_rate = .5f,
        .others = another,
        .others_count = 1,
        .optimizer_of = (const int[]){ 0, 1 } },
      "'sgd learning_rate=0.5, adam learning_rate=0.5'" },
};

struct outcome {
    float first_w;
    char warning[512];
};

static struct status step(struct gradient_source *source, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    (void)source, (void)values;
    *gradients = all_ones;
    *loss = 1;
    return status_ok();
}

static struct status conclude(void *context, struct ps_client *client)
{
    ((struct outcome *)context)->first_w = *(const float *)client->values[0];
    return status_ok();
}

static void warn(void *context, const char *text)
{
    struct outcome *outcome = context;

    snprintf(outcome->warning, sizeof outcome->warning, "%s", text);
}

static void say(void *context, const char *line)
{
    (void)context, (void)line;
}

static struct status run_again(struct ps_client *client, struct client_job job,
                               struct outcome *outcome)
{
    struct gradient_source source = { .step = step };
    struct progress progress = { .say = say };
    struct chief_options options = { .job = job,
                                     .start_timeout_ms = 60000,
                                     .finish_timeout_ms = 60000,
                                     .recovery_timeout_ms = 60000,
                                     .conclude = conclude,
                                     .context = outcome,
                                     .warn = warn };

    options.job.workers = 1;
    options.job.stop_step = STEPS;
    return chief_run(client, &source, &options, &progress);
}

/* The first chief's optimizer trains to the end, whatever the second one was given. */
static void warns_of_another_optimizer(void **state)
{
    const struct row *row = *state;
    struct small_cluster cluster;
    struct ps_client first, again;
    struct outcome outcome = { 0 };

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &first);
    small_client(&cluster, 0, 2, &again);
    assert_ok(client_join(&first, false, 20000));
    assert_ok(small_create_until(&first, 1, false, STEPS));
    assert_ok(client_pull(&first));
    assert_ok(client_push(&first, all_ones, true));
    assert_ok(run_again(&again, row->job, &outcome));
    assert_true(outcome.first_w == 1 - STEPS * .5f);
    if (row->warned == NULL)
        assert_string_equal(outcome.warning, "");
    else
        assert_non_null(strstr(outcome.warning, row->warned));
    if (row->warned != NULL)
        assert_non_null(strstr(outcome.warning, "goes on with 'sgd learning_rate=0.5', as"));
    client_finish(&first);
    client_finish(&again);
    small_stop(&cluster);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, warns_of_another_optimizer);
    return test_group_run(&group, "chief again", NULL, NULL);
}
