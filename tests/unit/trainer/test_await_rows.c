/* A worker that has no rows for a while, because others have all that are left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/container.h"
#include "small_cluster.h"
#include "support/status.h"
#include "trainer/job/worker.h"

#define STOP_STEP  3
#define NONE_TIMES 4 /* that there are no rows before each step */

static const int64_t ids[STOP_STEP + 1] = { 0, 1, 2, 3 };

/* Makes gradients of one row of "emb", another one in each step, and of "w". */
struct source {
    struct gradient_source base;
    int asked;
    struct row_ids rows[2];
    float g[SMALL_W];
    struct variable_gradient gradients[2];
};

static struct status need_rows(struct gradient_source *base, const struct row_ids **rows)
{
    struct source *source = CONTAINER_OF(base, struct source, base);

    source->rows[0] = (struct row_ids){ &ids[source->asked / (NONE_TIMES + 1)], 1 };
    *rows = source->asked++ % (NONE_TIMES + 1) < NONE_TIMES ? NULL : source->rows;
    return status_ok();
}

/* Each step sees the values that the steps before have made. */
static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct source *source = CONTAINER_OF(base, struct source, base);
    const float *row = values[0], *w = values[1];

    assert_float_equal(row[0], 1, 0);
    assert_float_equal(w[0], 1 - .5f * (float)source->rows[0].ids[0], 0);
    source->gradients[0] =
        (struct variable_gradient){ .values = source->g, .rows = source->rows[0] };
    *gradients = source->gradients;
    *loss = 1;
    return status_ok();
}

static int pulls;

static void count_pull(void *instance, struct call *call, struct message *request)
{
    pulls++;
    service_find(&ps_service, PS_PULL)->handle(instance, call, request);
}

/* The ps, whose pulls are counted. */
static struct channel *open_counted(struct ps *ps)
{
    static struct method methods[64];
    static struct service service = { methods, 0 };

    service.methods_count = ps_service.methods_count;
    assert_true((size_t)service.methods_count <= COUNT(methods));
    for (int i = 0; i < service.methods_count; i++) {
        methods[i] = ps_service.methods[i];
        if (strcmp(methods[i].path, PS_PULL) == 0)
            methods[i].handle = count_pull;
    }
    return loopback_open(&service, ps, clock_monotonic());
}

static void values_are_pulled_only_for_a_step_that_can_be_made(void **state)
{
    static const struct placed_variable variables[] = {
        { .name = "emb",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { 6, 2 } },
          .trainable = true,
          .by_rows = true },
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { 6, 2 } },
          .trainable = true },
    };
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct source source = { .base = { .step = step, .need_rows = need_rows } };
    struct progress progress = { 0 };
    struct small_cluster cluster;
    struct ps_client chief;
    (void)state;

    for (int i = 0; i < SMALL_W; i++)
        source.g[i] = 1;
    source.gradients[1] = (struct variable_gradient){ .values = source.g };
    small_start_placed(&cluster, 1, variables, COUNT(variables), NULL, NULL, 0);
    channel_close(cluster.channels[0]);
    cluster.channels[0] = open_counted(cluster.ps[0]);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    assert_ok(client_create(&chief, &job, (const void *[]){ ones, ones }));
    pulls = 0;
    assert_ok(worker_steps(&chief, &source.base, STOP_STEP, &progress, NULL));
    assert_int_equal(chief.global_step, STOP_STEP);
    assert_int_equal(source.asked, STOP_STEP * (NONE_TIMES + 1) + 1); /* once after the last step */
    assert_int_equal(pulls, 2 + STOP_STEP);                           /* two at the start */
    client_finish(&chief);
    small_stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_pulled_only_for_a_step_that_can_be_made),
    };

    return cmocka_run_group_tests_name("await rows", tests, NULL, NULL);
}
