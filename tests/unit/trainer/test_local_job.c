/*
 * Whole jobs in one process, with arithmetic in place of a model: least squares for
 * y = 0.1 x + 0.3. The variable "line" holds the two coefficients; "wide" is large enough that each
 * ps has a piece of it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"
#include "small_cluster.h"
#include "trainer/job/local_job.h"

#define WIDE  4000
#define BATCH 20

struct line_source {
    struct gradient_source source;
    struct random random;
    uint32_t index;
    int steps, dies_after; /* 0: never */
    float line[2], wide[WIDE];
    struct variable_gradient gradients[2];
};

static struct status line_step(struct gradient_source *base, const void *const *values,
                               const struct variable_gradient **gradients, float *loss)
{
    struct line_source *source = (struct line_source *)base;
    const float *line = values[0], *wide = values[1];

    if (++source->steps == source->dies_after)
        return status_error(STATUS_INTERNAL, "it died");
    memset(source->line, 0, sizeof source->line);
    *loss = 0;
    for (int i = 0; i < BATCH; i++) {
        float x = random_float(&source->random), error = line[0] * x + line[1] - (.1f * x + .3f);
        source->line[0] += 2 * error * x / BATCH;
        source->line[1] += 2 * error / BATCH;
        *loss += error * error / BATCH;
    }
    for (int i = 0; i < WIDE; i++) /* pulls each element towards its index, with some noise */
        source->wide[i] = .1f * (wide[i] - (float)i) + .01f * random_float(&source->random);
    *gradients = source->gradients;
    return status_ok();
}

static void line_destroy(struct gradient_source *base)
{
    free(base);
}

/* The settings of a job and its results. */
struct job {
    int ps, dies_after;
    uint32_t workers, steps;
    bool sync;
    const char *optimizer;
    float rate;
    /* results */
    float line[2], wide[WIDE];
    uint64_t global_step;
    int lost;
    int watched, stop_at_watch;
    uint64_t evaluate_steps; /* 0: no evaluations */
    int enough_at;           /* this evaluation ends the training; 0: none */
    struct progress *progress;
    int evaluations, steps_meanwhile;
};

static struct status make_source(void *context, struct ps_client *client,
                                 struct gradient_source **out)
{
    uint32_t index = client->options.index;
    const struct job *job = context;
    struct line_source *source = zalloc(sizeof *source);

    source->source = (struct gradient_source){ .step = line_step, .destroy = line_destroy };
    source->index = index;
    source->dies_after = index == job->workers - 1 ? job->dies_after : 0;
    source->gradients[0].values = source->line;
    source->gradients[1].values = source->wide;
    random_init(&source->random, 5, index);
    *out = &source->source;
    return status_ok();
}

static struct status conclude(void *context, struct ps_client *client)
{
    struct job *job = context;

    memcpy(job->line, client->values[0], sizeof job->line);
    memcpy(job->wide, client->values[1], sizeof job->wide);
    job->global_step = client->global_step;
    return status_ok();
}

static bool watch(void *context, const struct progress *progress)
{
    struct job *job = context;
    (void)progress;
    return job->stop_at_watch == 0 || ++job->watched < job->stop_at_watch;
}

static void lost(void *context, uint32_t index, struct status status)
{
    struct job *job = context;
    assert_int_equal(index, job->workers - 1);
    assert_string_equal(status.message, "it died");
    job->lost++;
}

static void warn(void *context, const char *text)
{
    (void)context;
    fail_msg("%s", text);
}

static struct status initial_values(void *context, struct arena *arena, const void *const **out)
{
    static const float zeros[WIDE];
    const void **values = ARENA_ARRAY(arena, const void *, 2);

    (void)context;
    values[0] = values[1] = zeros;
    *out = values;
    return status_ok();
}

/* Waits until the chief has made some steps, if it has any to make. The values stay as they are. */
static struct status evaluate(void *context, uint64_t step, const void *const *values,
                              struct client_snapshot *snapshot, const _Atomic bool *enough,
                              struct verdict *out)
{
    struct job *job = context;
    int64_t until = clock_deadline_ns(clock_monotonic(), 20000);
    float before[WIDE];

    assert_null(snapshot);
    assert_false(atomic_load(enough));
    memcpy(before, values[1], sizeof before);
    while (!job->sync && step + 4 < job->steps &&
           atomic_load(&job->progress->global_step) < step + 4 &&
           clock_now_ns(clock_monotonic()) < until)
        clock_sleep(clock_monotonic(), 1);
    assert_memory_equal(before, values[1], sizeof before);
    job->steps_meanwhile += (int)(atomic_load(&job->progress->global_step) - step);
    *out = (struct verdict){ .stop = ++job->evaluations == job->enough_at };
    return status_ok();
}

static void settled(void *context, bool kept)
{
    (void)context;
    assert_true(kept);
}

static struct status run(struct job *job)
{
    struct placed_variable variables[] = {
        { .name = "line", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
        { .name = "wide", .dtype = DT_FLOAT, .shape = shape_of(WIDE / 4, 4), .trainable = true },
    };
    struct placement placement;
    struct progress progress = { 0 };

    job->progress = &progress;
    placement_create(variables, 2, job->ps, 1024, PLACE_BY_BYTES, &placement);
    struct local_job_options options = {
        .placement = &placement,
        .workers = job->workers,
        .chief = { .job = { .optimizer = job->optimizer,
                            .learning_rate = job->rate,
                            .workers = job->workers,
                            .sync = job->sync,
                            .stop_step = job->steps },
                   .monitor = { .every_steps = job->evaluate_steps,
                                .evaluate = evaluate,
                                .settled = settled,
                                .context = job },
                   .initial_values = initial_values,
                   .start_timeout_ms = 20000,
                   .finish_timeout_ms = 20000,
                   .conclude = conclude,
                   .context = job,
                   .warn = warn },
        .make_source = make_source,
        .context = job,
        .watch = watch,
        .lost = lost,
    };
    struct status status = local_job_run(&options, &progress);
    placement_finish(&placement);
    return status;
}

static void the_line_is_found(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct job job = {
            .ps = 2, .workers = 2, .steps = 3000, .sync = sync, .optimizer = "sgd", .rate = .3f
        };
        struct status status = run(&job);
        assert_string_equal(status.message, "");
        assert_true(fabsf(job.line[0] - .1f) < 1e-3f);
        assert_true(fabsf(job.line[1] - .3f) < 1e-3f);
        if (sync) /* an asynchronous job may make up to workers - 1 steps more */
            assert_int_equal(job.global_step, job.steps);
        assert_in_range(job.global_step, job.steps, job.steps + job.workers - 1);
    }
}

static void a_synchronous_job_is_the_same_bits_for_any_number_of_ps(void **state)
{
    (void)state;
    static const int ps_counts[] = { 1, 2, 3, 5, 1 };
    static const char *const optimizers[] = { "sgd", "adam" };
    static struct job first, job;

    for (size_t o = 0; o < COUNT(optimizers); o++)
        for (size_t i = 0; i < COUNT(ps_counts); i++) {
            job = (struct job){ .ps = ps_counts[i],
                                .workers = 3,
                                .steps = 50,
                                .sync = true,
                                .optimizer = optimizers[o],
                                .rate = .1f };
            struct status status = run(&job);
            assert_string_equal(status.message, "");
            if (i == 0)
                first = job;
            assert_memory_equal(job.line, first.line, sizeof job.line);
            assert_memory_equal(job.wide, first.wide, sizeof job.wide);
        }
    assert_true(first.wide[WIDE - 1] != 0);
}

static void a_killed_worker_costs_only_its_speed(void **state)
{
    (void)state;
    struct job job = {
        .ps = 2, .workers = 3, .steps = 3000, .optimizer = "sgd", .rate = .3f, .dies_after = 10
    };

    struct status status = run(&job);
    assert_string_equal(status.message, "");
    assert_int_equal(job.lost, 1);
    assert_true(fabsf(job.line[0] - .1f) < 1e-3f);
}

static void a_synchronous_job_ends_with_the_cause_when_a_worker_dies(void **state)
{
    (void)state;
    struct job job = { .ps = 2,
                       .workers = 2,
                       .steps = 3000,
                       .optimizer = "sgd",
                       .rate = .3f,
                       .dies_after = 10,
                       .sync = true };

    struct status status = run(&job);
    assert_string_equal(status.message, "it died");
    assert_int_equal(status.code, STATUS_INTERNAL);
}

static void it_stops_when_told(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct job job = { .ps = 2,
                           .workers = 2,
                           .steps = 1000000000,
                           .optimizer = "sgd",
                           .rate = .1f,
                           .sync = sync,
                           .stop_at_watch = 2 };
        struct status status = run(&job);
        assert_int_equal(status.code, STATUS_CANCELLED);
        assert_int_equal(job.global_step, 0); /* it did not conclude */
    }
}

static void the_chief_goes_on_while_it_evaluates(void **state)
{
    (void)state;
    for (int sync = 0; sync < 2; sync++) {
        struct job job = { .ps = 2,
                           .workers = 1,
                           .steps = 100,
                           .optimizer = "sgd",
                           .rate = .1f,
                           .sync = sync,
                           .evaluate_steps = 20 };
        struct status status = run(&job);
        assert_string_equal(status.message, "");
        assert_int_equal(job.evaluations, 5);
        if (sync)
            assert_in_range(job.steps_meanwhile + 5, 0, 5); /* the bar is a step behind */
        else
            assert_in_range(job.steps_meanwhile, 4 * 4, 4 * 20);
    }
}

static void an_evaluation_ends_the_training(void **state)
{
    (void)state;
    struct job job = { .ps = 2,
                       .workers = 1,
                       .steps = 1000,
                       .optimizer = "sgd",
                       .rate = .1f,
                       .evaluate_steps = 20,
                       .enough_at = 2 };
    struct status status = run(&job);
    assert_string_equal(status.message, "");
    assert_int_equal(job.evaluations, 2);
    assert_in_range(job.global_step, 41, 60);
}

static void a_bad_optimizer_is_refused_by_the_ps(void **state)
{
    (void)state;
    struct job job = { .ps = 2, .workers = 2, .steps = 10, .optimizer = "magic", .rate = .1f };

    struct status status = run(&job);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "magic"));
}

static void a_worker_says_for_whom_it_has_waited(void **state)
{
    struct small_cluster cluster;
    struct ps_client client;
    struct progress progress = { 0 };
    struct worker_options options = { .stop_step = 1, .start_timeout_ms = 30 };

    (void)state;
    small_start(&cluster, 1);
    small_client(&cluster, 1, 1, &client);
    struct status status = worker_run(&client, NULL, &options, &progress); /* there is no chief */
    assert_non_null(strstr(status.message, "waited 0.03 s for the chief to create the variables"));
    client_finish(&client);
    small_stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_line_is_found),
        cmocka_unit_test(a_synchronous_job_is_the_same_bits_for_any_number_of_ps),
        cmocka_unit_test(a_killed_worker_costs_only_its_speed),
        cmocka_unit_test(a_synchronous_job_ends_with_the_cause_when_a_worker_dies),
        cmocka_unit_test(it_stops_when_told),
        cmocka_unit_test(the_chief_goes_on_while_it_evaluates),
        cmocka_unit_test(an_evaluation_ends_the_training),
        cmocka_unit_test(a_bad_optimizer_is_refused_by_the_ps),
        cmocka_unit_test(a_worker_says_for_whom_it_has_waited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
