/* The steps at which the chief saves checkpoints. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "small_cluster.h"
#include "support/status.h"
#include "support/directory.h"
#include "trainer/checkpoint/saver.h"
#include "trainer/job/monitor.h"

#define DEADLINE_S 120

/* ---- the disk: fsync waits while it stands still ---- */

#define DISK_STILL_MS_MAX 5000 /* so that a test that waits for the disk fails, and does not hang */

static atomic_bool disk_stands_still;
static atomic_int disk_error;   /* errno; 0: none */
static atomic_int highest_nice; /* of all threads that wrote a file */

static int my_nice(void)
{
    return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));
}

/* Takes the place of the C library's. */
int fsync(int fd)
{
    if (my_nice() > atomic_load(&highest_nice))
        atomic_store(&highest_nice, my_nice());
    (void)fd;
    for (int ms = 0; atomic_load(&disk_stands_still) && ms < DISK_STILL_MS_MAX; ms++)
        usleep(1000);
    errno = atomic_load(&disk_error);
    return errno != 0 ? -1 : 0;
}

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
    assert_ok(client_join(chief, false, 1000));
    assert_ok(client_create(chief, job, values));
    assert_ok(client_pull(chief));
}

static void train_to(struct ps_client *chief, struct saver *saver, uint64_t step)
{
    while (chief->global_step < step) {
        assert_ok(client_push(chief, all_ones, true));
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
        assert_ok(saver_check(saver));
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
    await_checkpoint(saver, 25);
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

/* A job of one ps whose chief is at step 0. */
struct saved_job {
    struct small_cluster cluster;
    struct ps_client chief;
    struct saver_options options;
    struct saver *saver;
};

static void start_saved_job(struct saved_job *saved)
{
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };

    *saved = (struct saved_job){ .options = { .warn = warn } };
    small_start(&saved->cluster, 1);
    small_client(&saved->cluster, 0, 1, &saved->chief);
    begin_at(&saved->chief, &job, 0);
    saved->options.channels = saved->cluster.channels;
    assert_ok(checkpoint_dir_open(in("ckpt"), 0, &saved->options.dir));
    assert_ok(checkpoint_layout_init(&saved->options.layout, &saved->cluster.placement, &job));
    assert_ok(saver_start(&saved->options, &saved->chief, &saved->saver));
}

static void stop_saved_job(struct saved_job *saved)
{
    saver_destroy(saved->saver);
    checkpoint_dir_close(saved->options.dir);
    client_finish(&saved->chief);
    small_stop(&saved->cluster);
}

static void no_step_waits_until_the_first_checkpoint_is_on_the_disk(void **state)
{
    (void)state;
    struct saved_job saved;
    struct checkpoint *first;

    atomic_store(&disk_stands_still, true);
    start_saved_job(&saved);
    train_to(&saved.chief, saved.saver, 20);
    assert_ok(saver_check(saved.saver));
    assert_false(has_checkpoint(0));
    atomic_store(&disk_stands_still, false);
    await_checkpoint(saved.saver, 0);
    assert_ok(saver_finish(saved.saver));
    assert_true(has_checkpoint(20));
    assert_ok(checkpoint_open(&saved.options.layout,
                              arena_printf(arena, "%s/model.ckpt-0", in("ckpt")), &first));
    assert_int_equal(first->global_step, 0);
    checkpoint_close(first);
    stop_saved_job(&saved);
}

static void a_first_checkpoint_that_fails_later_is_reported(void **state)
{
    (void)state;
    struct saved_job saved;

    atomic_store(&disk_stands_still, true);
    atomic_store(&disk_error, EIO);
    start_saved_job(&saved);
    train_to(&saved.chief, saved.saver, 1);
    atomic_store(&disk_stands_still, false);
    struct status status = saver_check(saved.saver);
    for (int i = 0; i < DEADLINE_S * 1000 && status_is_ok(status); i++) {
        usleep(1000);
        status = saver_check(saved.saver);
    }
    assert_fails_naming(status, STATUS_DATA_LOSS, "the first checkpoint failed: checkpoint '");
    atomic_store(&disk_error, 0);
    status = saver_finish(saved.saver);
    assert_fails_naming(status, STATUS_DATA_LOSS, "the first checkpoint failed: checkpoint '");
    stop_saved_job(&saved);
}

static void steps_have_priority_over_files_until_the_last_one(void **state)
{
    (void)state;
    struct saved_job saved;
    int mine = my_nice();

    atomic_store(&highest_nice, mine);
    start_saved_job(&saved);
    await_checkpoint(saved.saver, 0);
    assert_int_equal(highest_nice, mine > 10 ? mine : 10);
    train_to(&saved.chief, saved.saver, 5);
    atomic_store(&highest_nice, mine);
    assert_ok(saver_finish(saved.saver));
    assert_true(has_checkpoint(5));
    assert_int_equal(highest_nice, mine);
    stop_saved_job(&saved);
}

static struct status find_best(void *context, uint64_t step, const void *const *values,
                               struct client_snapshot *snapshot, const _Atomic bool *enough,
                               struct verdict *out)
{
    (void)context, (void)step, (void)values, (void)snapshot, (void)enough;
    *out = (struct verdict){ .best = true };
    return status_ok();
}

static void settled(void *context, bool kept)
{
    (void)context;
    assert_true(kept);
}

/* The workers of a synchronous job wait for the evaluation, and not for the disk. */
static void no_step_waits_until_the_best_values_are_on_the_disk(void **state)
{
    (void)state;
    const _Atomic bool enough = false;
    struct monitor_options options = {
        .every_steps = 5, .evaluate = find_best, .settled = settled, .warn = warn
    };
    struct saved_job saved;
    struct monitor monitor;

    start_saved_job(&saved);
    await_checkpoint(saved.saver, 0);
    assert_ok(checkpoint_dir_open(in("best"), 1, &options.best));
    monitor_init(&monitor, &options, &saved.options.layout, &saved.chief, true);
    train_to(&saved.chief, saved.saver, 5);
    atomic_store(&disk_stands_still, true);
    assert_ok(monitor_step(&monitor, &saved.chief, saved.saver, &enough));
    train_to(&saved.chief, saved.saver, 9);
    assert_false(file_exists(in("best/model.ckpt-5.index")));
    atomic_store(&disk_stands_still, false);
    assert_ok(monitor_wait(&monitor, &enough));
    assert_true(file_exists(in("best/model.ckpt-5.index")));
    monitor_finish(&monitor);
    checkpoint_dir_close(options.best);
    stop_saved_job(&saved);
}

/* The checkpoint of the values at the start may still be on its way to the disk. */
static void no_evaluation_waits_until_a_checkpoint_is_on_the_disk(void **state)
{
    (void)state;
    const _Atomic bool enough = false;
    struct monitor_options options = {
        .every_steps = 5, .evaluate = find_best, .settled = settled, .warn = warn
    };
    struct saved_job saved;
    struct monitor monitor;

    for (int waits = 0; waits < 2; waits++) {
        atomic_store(&disk_stands_still, true);
        start_saved_job(&saved);
        assert_ok(checkpoint_dir_open(in("best"), 1, &options.best));
        monitor_init(&monitor, &options, &saved.options.layout, &saved.chief, waits);
        train_to(&saved.chief, saved.saver, 5);
        assert_ok(monitor_step(&monitor, &saved.chief, saved.saver, &enough));
        while (!atomic_load(&monitor.judged) && !atomic_load(&monitor.over))
            usleep(1000);
        assert_true(atomic_load(&monitor.judged));
        assert_false(has_checkpoint(0));
        atomic_store(&disk_stands_still, false);
        await_checkpoint(saved.saver, 0);
        assert_ok(monitor_wait(&monitor, &enough));
        assert_true(file_exists(in("best/model.ckpt-5.index")));
        monitor_finish(&monitor);
        checkpoint_dir_close(options.best);
        stop_saved_job(&saved);
        assert_ok(file_remove_tree(in("ckpt")));
        assert_ok(file_remove_tree(in("best")));
    }
}

static void *let_disk_fail(void *context)
{
    (void)context;
    usleep(100000);
    atomic_store(&disk_stands_still, false);
    return NULL;
}

/* The other worker of a synchronous job never comes. */
static void a_first_checkpoint_that_fails_interrupts_the_chief(void **state)
{
    (void)state;
    struct client_job job = {
        .optimizer = "sgd", .learning_rate = .5f, .workers = 2, .sync = true
    };
    struct saved_job saved = { .options = { .warn = warn } };
    pthread_t thread;

    small_start(&saved.cluster, 1);
    small_client(&saved.cluster, 0, 1, &saved.chief);
    begin_at(&saved.chief, &job, 0);
    saved.options.channels = saved.cluster.channels;
    assert_ok(checkpoint_dir_open(in("ckpt"), 0, &saved.options.dir));
    assert_ok(checkpoint_layout_init(&saved.options.layout, &saved.cluster.placement, &job));
    atomic_store(&disk_stands_still, true);
    atomic_store(&disk_error, EIO);
    assert_ok(saver_start(&saved.options, &saved.chief, &saved.saver));
    assert_int_equal(pthread_create(&thread, NULL, let_disk_fail, NULL), 0);
    assert_int_equal(client_push(&saved.chief, all_ones, true).code, STATUS_CANCELLED);
    assert_fails_naming(saver_check(saved.saver), STATUS_DATA_LOSS, "the first checkpoint failed");
    pthread_join(thread, NULL);
    atomic_store(&disk_error, 0);
    stop_saved_job(&saved);
}

#define PAUSE_MS_MAX 10000

/* The calls would be repeated for the 20 s of the client. */
static void a_pause_ends_the_calls_to_a_lost_ps(void **state)
{
    (void)state;
    struct client_job job = { .optimizer = "sgd", .learning_rate = .5f, .workers = 1 };
    struct saved_job saved = { .options = { .every_steps = 10, .warn = warn } };
    struct clock *clock = clock_monotonic();

    small_start(&saved.cluster, 2);
    small_client(&saved.cluster, 0, 1, &saved.chief);
    begin_at(&saved.chief, &job, 0);
    saved.options.channels = saved.cluster.channels;
    assert_ok(checkpoint_dir_open(in("ckpt"), 0, &saved.options.dir));
    assert_ok(checkpoint_layout_init(&saved.options.layout, &saved.cluster.placement, &job));
    assert_ok(saver_start(&saved.options, &saved.chief, &saved.saver));
    await_checkpoint(saved.saver, 0);
    loopback_break(saved.cluster.channels[1]);
    saver_step(saved.saver, 10);
    usleep(100000);
    int64_t began_ns = clock_now_ns(clock);
    saver_pause(saved.saver);
    assert_in_range(clock_now_ns(clock) - began_ns, 0, (int64_t)PAUSE_MS_MAX * NS_PER_MS);
    saver_resume(saved.saver, &saved.chief);
    stop_saved_job(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(the_points_stay_where_they_are_when_a_job_goes_on_between_two),
        TEST_IN_DIRECTORY(no_step_waits_until_the_first_checkpoint_is_on_the_disk),
        TEST_IN_DIRECTORY(a_first_checkpoint_that_fails_later_is_reported),
        TEST_IN_DIRECTORY(steps_have_priority_over_files_until_the_last_one),
        TEST_IN_DIRECTORY(no_step_waits_until_the_best_values_are_on_the_disk),
        TEST_IN_DIRECTORY(no_evaluation_waits_until_a_checkpoint_is_on_the_disk),
        TEST_IN_DIRECTORY(a_first_checkpoint_that_fails_interrupts_the_chief),
        TEST_IN_DIRECTORY(a_pause_ends_the_calls_to_a_lost_ps),
    };

    return cmocka_run_group_tests_name("saver", tests, NULL, NULL);
}
