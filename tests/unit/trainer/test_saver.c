/* The steps at which the chief saves checkpoints. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "small_cluster.h"
#include "support/directory.h"
#include "trainer/checkpoint/saver.h"

#define DEADLINE_S 120

static void warn(void *context, const char *text)
{
    (void)context;
    fail_msg("%s", text);
}

/* Begins at `step`, like a job that resumes from a checkpoint. */
static void begin_at(struct ps_client *chief, struct client_job *job, uint64_t step)
{
    const void *values[] = { ones, ones };

    job->global_step = step;
    OK(client_join(chief, false, 1000));
    OK(client_create(chief, job, values));
    OK(client_pull(chief));
}

static void train_to(struct ps_client *chief, struct saver *saver, uint64_t step)
{
    while (chief->global_step < step) {
        OK(client_push(chief, all_ones, true));
        saver_step(saver, chief->global_step);
    }
}

static bool has_checkpoint(uint64_t step)
{
    return file_exists(
        arena_printf(arena, "%s/model.ckpt-%llu.index", in("ckpt"), (unsigned long long)step));
}

/* Repeats saver_step: the checkpoint before may not be finished yet. */
static void await_checkpoint(struct saver *saver, uint64_t step)
{
    for (int i = 0; i < DEADLINE_S * 1000 && !has_checkpoint(step); i++) {
        saver_step(saver, step);
        usleep(1000);
    }
    assert_true(has_checkpoint(step));
}

static void the_points_stay_where_they_are_when_a_job_goes_on_between_two(void **state)
{
    (void)state;
    struct small_cluster cluster;
    struct ps_client chief;
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct saver_options options = { .every_steps = 10, .warn = warn };
    struct saver *saver;

    small_start(&cluster, 2);
    small_client(&cluster, 0, 1, &chief);
    begin_at(&chief, &job, 25);
    options.channels = cluster.channels;
    assert_ok(checkpoint_dir_open(in("ckpt"), 0, &options.dir));
    assert_ok(checkpoint_layout_init(&options.layout, &cluster.placement, &job));
    assert_ok(saver_start(&options, &chief, &saver));
    assert_true(has_checkpoint(25));
    for (uint64_t point = 30; point <= 50; point += 10) {
        train_to(&chief, saver, point);
        await_checkpoint(saver, point);
    }
    assert_false(has_checkpoint(35));
    saver_destroy(saver);
    checkpoint_dir_close(options.dir);
    client_finish(&chief);
    small_stop(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(the_points_stay_where_they_are_when_a_job_goes_on_between_two),
    };

    return cmocka_run_group_tests_name("saver", tests, NULL, NULL);
}
