/*
 * Jobs whose values become NaN, and jobs that cannot write their last checkpoint. Each job is a
 * chief and two ps tasks in this process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "small_cluster.h"
#include "support/status.h"
#include "storage/bundle_writer.h"
#include "support/directory.h"
#include "trainer/job/chief.h"

#define STEPS 5
#define LAST  "model.ckpt-5."

static bool fills_disk; /* with the first byte of the last checkpoint */

/* Takes the place of the C library's. */
int fsync(int fd)
{
    char link[64], path[512];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    if (!fills_disk || strstr(path, LAST) == NULL)
        return 0;
    errno = ENOSPC;
    return -1;
}

struct job {
    struct small_cluster cluster;
    struct checkpoint_dir *checkpoints;
    struct progress progress;
    uint64_t diverges_at; /* the step whose gradient is NaN; 0: none */
    bool concluded;
    float first_w; /* when the job concluded */
    char said[4096];
};

struct job_source {
    struct gradient_source source; /* first */
    struct job *job;
};

static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    static float no_numbers[SMALL_W];
    static const struct variable_gradient diverged[] = { { .values = no_numbers },
                                                         { .values = ones } };
    const struct job *job = ((struct job_source *)base)->job;

    (void)values;
    no_numbers[SMALL_W - 1] = NAN;
    *gradients =
        atomic_load(&job->progress.global_step) + 1 == job->diverges_at ? diverged : all_ones;
    *loss = 1;
    return status_ok();
}

static struct status initial_values(void *context, struct arena *of_values, const void *const **out)
{
    const void **values = ARENA_ARRAY(of_values, const void *, 2);

    (void)context;
    values[0] = values[1] = ones;
    *out = values;
    return status_ok();
}

static struct status conclude(void *context, struct ps_client *client)
{
    struct job *job = context;

    job->concluded = true;
    job->first_w = *(const float *)client->values[0];
    return status_ok();
}

static void say(void *context, const char *line)
{
    struct job *job = context;
    size_t used = strlen(job->said);

    snprintf(job->said + used, sizeof job->said - used, "%s\n", line);
}

static struct status run(struct job *job)
{
    struct job_source source = { .source = { .step = step }, .job = job };
    struct chief_options options = {
        .job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1, .stop_step = STEPS },
        .initial_values = initial_values,
        .checkpoints = { .dir = job->checkpoints, .channels = job->cluster.channels },
        .start_timeout_ms = 60000,
        .finish_timeout_ms = 60000,
        .recovery_timeout_ms = 60000,
        .conclude = conclude,
        .context = job,
        .warn = say
    };
    struct ps_client client;

    job->progress = (struct progress){ .say = say, .say_context = job };
    small_start(&job->cluster, 2);
    options.checkpoints.channels = job->cluster.channels;
    small_client(&job->cluster, 0, 7, &client);
    struct status status = chief_run(&client, &source.source, &options, &job->progress);
    client_finish(&client);
    small_stop(&job->cluster);
    return status;
}

static void open_checkpoints(struct job *job)
{
    assert_ok(checkpoint_dir_open(in("ckpt"), 5, &job->checkpoints));
}

/* Writes a checkpoint of the job's variables as TensorFlow does. */
static void write_checkpoint(const char *name, float value, int64_t at)
{
    const struct shape shapes[] = { shape_of(6, 2), shape_of(2), { 0 } };
    float values[SMALL_W];
    struct bundle_writer *writer;

    for (int i = 0; i < SMALL_W; i++)
        values[i] = value;
    assert_ok(bundle_writer_open(in(name), &writer));
    assert_ok(bundle_writer_begin(writer, "b", DT_FLOAT, &shapes[1]));
    assert_ok(bundle_writer_append(writer, values, SMALL_B * sizeof(float)));
    assert_ok(bundle_writer_end(writer));
    assert_ok(bundle_writer_begin(writer, "global_step", DT_INT64, &shapes[2]));
    assert_ok(bundle_writer_append(writer, &at, sizeof at));
    assert_ok(bundle_writer_end(writer));
    assert_ok(bundle_writer_begin(writer, "w", DT_FLOAT, &shapes[0]));
    assert_ok(bundle_writer_append(writer, values, sizeof values));
    assert_ok(bundle_writer_end(writer));
    assert_ok(bundle_writer_commit(writer));
}

static void write_state(const char *text)
{
    assert_ok(file_make_directories(in("ckpt")));
    assert_ok(file_write(in("ckpt/checkpoint"), (struct bytes){ text, strlen(text) }));
}

static void nothing_is_exported_when_the_last_update_is_no_number(void **state)
{
    struct job job = { .diverges_at = STEPS };

    (void)state;
    assert_fails_naming(run(&job), STATUS_OUT_OF_RANGE, "variable 'w' holds nan");
    assert_false(job.concluded);
}

static void no_checkpoint_is_made_of_values_that_are_no_numbers(void **state)
{
    struct job job = { .diverges_at = STEPS };

    (void)state;
    open_checkpoints(&job);
    assert_fails_naming(run(&job), STATUS_OUT_OF_RANGE, "variable 'w' holds nan");
    assert_false(job.concluded);
    assert_true(checkpoint_dir_has_step(job.checkpoints, 0));
    checkpoint_dir_close(job.checkpoints);
}

static void a_job_goes_on_from_the_checkpoint_before_one_that_has_diverged(void **state)
{
    struct job job = { 0 };

    (void)state;
    write_state("model_checkpoint_path: \"model.ckpt-4\"\n"
                "all_model_checkpoint_paths: \"model.ckpt-3\"\n");
    write_checkpoint("ckpt/model.ckpt-3", 2, 3);
    write_checkpoint("ckpt/model.ckpt-4", NAN, 4);
    open_checkpoints(&job);
    assert_ok(run(&job));
    assert_non_null(strstr(job.said, "holds nan"));
    assert_non_null(strstr(job.said, "model.ckpt-3, step 3"));
    assert_true(job.first_w == 1); /* 2, less two steps of 0.5 */
    checkpoint_dir_close(job.checkpoints);
}

static void a_job_ends_when_all_its_checkpoints_have_diverged(void **state)
{
    struct job job = { 0 };

    (void)state;
    write_state("model_checkpoint_path: \"model.ckpt-4\"\n");
    write_checkpoint("ckpt/model.ckpt-4", INFINITY, 4);
    open_checkpoints(&job);
    assert_fails_naming(run(&job), STATUS_OUT_OF_RANGE, "holds inf");
    checkpoint_dir_close(job.checkpoints);
}

static void what_was_learnt_is_exported_although_the_last_checkpoint_fails(void **state)
{
    struct job job = { 0 };

    (void)state;
    open_checkpoints(&job);
    fills_disk = true;
    struct status status = run(&job);
    fills_disk = false;
    assert_fails_naming(status, STATUS_RESOURCE_EXHAUSTED, "the last checkpoint");
    assert_true(job.concluded);
    checkpoint_dir_close(job.checkpoints);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(nothing_is_exported_when_the_last_update_is_no_number),
        TEST_IN_DIRECTORY(no_checkpoint_is_made_of_values_that_are_no_numbers),
        TEST_IN_DIRECTORY(a_job_goes_on_from_the_checkpoint_before_one_that_has_diverged),
        TEST_IN_DIRECTORY(a_job_ends_when_all_its_checkpoints_have_diverged),
        TEST_IN_DIRECTORY(what_was_learnt_is_exported_although_the_last_checkpoint_fails),
    };

    return cmocka_run_group_tests_name("diverged", tests, NULL, NULL);
}
