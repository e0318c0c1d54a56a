/*
 * Jobs that lose a ps. The tasks run in threads. A ps dies with its values and restarts behind the
 * same address.
 *
 * Every gradient is 1 and the rate is a power of two, so n updates lower each element by exactly
 * n times the rate. The final values therefore show whether an update was lost, applied twice, or
 * applied on one ps only.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "small_cluster.h"
#include "support/status.h"
#include "support/directory.h"
#include "trainer/job/chief.h"

#define PS         2
#define STEPS      300
#define HELD_AT    200 /* tasks wait at this step until the test has made its faults */
#define RATE       (1.0f / 1024)
#define DEADLINE_S 60
#define GONE_MAX   32

/* A channel to an address, that is, to the ps that listens there now. */
struct relay {
    struct channel channel; /* first */
    pthread_mutex_t lock;
    struct channel *target;
};

static struct client_call *relay_begin(struct channel *channel, const char *path,
                                       struct message *request, const struct call_options *options,
                                       reply_function *done, void *context)
{
    struct relay *relay = (struct relay *)channel;

    pthread_mutex_lock(&relay->lock);
    struct channel *target = relay->target;
    pthread_mutex_unlock(&relay->lock);
    return channel_begin(target, path, request, options, done, context);
}

static const struct channel_type relay_type = { .begin = relay_begin };

enum { CHIEF, SAVER, WORKER, CALLERS };

struct fixture {
    struct placement placement;
    struct ps *ps[PS];
    struct relay relays[CALLERS][PS];
    struct channel *channels[CALLERS][PS]; /* the relays */
    struct ps *gone_ps[GONE_MAX];
    struct channel *gone[CALLERS * GONE_MAX];
    int gone_ps_count, gone_count;
    uint64_t incarnations;
    struct checkpoint_dir *checkpoints;
    struct progress progress;
    pthread_mutex_t lock;
    char said[8192];
    _Atomic bool worker_waits;    /* the worker makes no step while this is set */
    _Atomic bool held;            /* tasks wait at HELD_AT for the next fault */
    _Atomic int worker_steps;     /* begun */
    _Atomic int faults;           /* made so far */
    float w[SMALL_W], b[SMALL_B]; /* at the end */
    uint64_t end_step;
};

static void listen_ps(struct fixture *f, int index)
{
    struct ps_options options = { .cluster = "test",
                                  .index = (uint32_t)index,
                                  .incarnation = ++f->incarnations,
                                  .ps_list = "a:1,b:1" };

    f->ps[index] = ps_create(&options);
    for (int c = 0; c < CALLERS; c++) {
        struct relay *relay = &f->relays[c][index];
        pthread_mutex_lock(&relay->lock);
        relay->target = loopback_open(&ps_service, f->ps[index], clock_monotonic());
        pthread_mutex_unlock(&relay->lock);
    }
}

static void kill_ps(struct fixture *f, int index)
{
    f->gone_ps[f->gone_ps_count++] = f->ps[index];
    for (int c = 0; c < CALLERS; c++) {
        struct channel *target = f->relays[c][index].target;
        loopback_break(target);
        f->gone[f->gone_count++] = target;
    }
}

static void restart_ps(struct fixture *f, int index)
{
    kill_ps(f, index);
    listen_ps(f, index);
    atomic_fetch_add(&f->faults, 1);
}

/* ---- the tasks ---- */

struct ones_source {
    struct gradient_source source; /* first */
    struct fixture *fixture;
    uint32_t index;
};

/* A fault made after `faults` were counted releases a held task, which otherwise would not notice
 * the fault. */
static bool has_to_wait(const struct ones_source *source, int faults)
{
    struct fixture *f = source->fixture;

    if (source->index > 0 && atomic_load(&f->worker_waits))
        return true;
    return atomic_load(&f->held) && atomic_load(&f->progress.global_step) >= HELD_AT &&
           atomic_load(&f->faults) == faults;
}

static struct status ones_step(struct gradient_source *base, const void *const *values,
                               const struct variable_gradient **gradients, float *loss)
{
    struct ones_source *source = (struct ones_source *)base;

    int faults = atomic_load(&source->fixture->faults);

    (void)values;
    if (source->index > 0)
        atomic_fetch_add(&source->fixture->worker_steps, 1);
    usleep(500);
    while (has_to_wait(source, faults))
        usleep(1000);
    *gradients = all_ones;
    *loss = 1;
    return status_ok();
}

static struct status initial_values(void *context, struct arena *of_values, const void *const **out)
{
    float *w = ARENA_ARRAY(of_values, float, SMALL_W), *b = ARENA_ARRAY(of_values, float, SMALL_B);
    const void **values = ARENA_ARRAY(of_values, const void *, 2);

    (void)context;
    for (int i = 0; i < SMALL_W; i++)
        w[i] = 1;
    for (int i = 0; i < SMALL_B; i++)
        b[i] = 1;
    values[0] = w;
    values[1] = b;
    *out = values;
    return status_ok();
}

static struct status conclude(void *context, struct ps_client *client)
{
    struct fixture *f = context;

    memcpy(f->w, client->values[0], sizeof f->w);
    memcpy(f->b, client->values[1], sizeof f->b);
    f->end_step = client->global_step;
    return status_ok();
}

static void say(void *context, const char *line)
{
    struct fixture *f = context;

    pthread_mutex_lock(&f->lock);
    snprintf(f->said + strlen(f->said), sizeof f->said - strlen(f->said), "%s\n", line);
    pthread_mutex_unlock(&f->lock);
}

struct task {
    struct fixture *fixture;
    uint32_t index;
    pthread_t thread;
    enum status_code code;
    char text[512];
};

static struct status run_chief(struct fixture *f, struct ps_client *client,
                               struct gradient_source *source)
{
    struct chief_options options = {
        .job = { .optimizer = "sgd", .learning_rate = RATE, .workers = 2, .stop_step = STEPS },
        .initial_values = initial_values,
        .checkpoints = { .dir = f->checkpoints, .every_steps = 20, .channels = f->channels[SAVER] },
        .start_timeout_ms = DEADLINE_S * 1000,
        .finish_timeout_ms = DEADLINE_S * 1000,
        .recovery_timeout_ms = DEADLINE_S * 1000,
        .conclude = conclude,
        .context = f,
        .warn = say
    };

    return chief_run(client, source, &options, &f->progress);
}

static void *run_task(void *context)
{
    struct task *task = context;
    struct fixture *f = task->fixture;
    struct ones_source source = { .source = { .step = ones_step },
                                  .fixture = f,
                                  .index = task->index };
    struct ps_client_options options = { .cluster = "test",
                                         .task = task->index == 0 ? "chief" : "worker 0",
                                         .ps_list = "a:1,b:1",
                                         .index = task->index,
                                         .incarnation = 7 + task->index,
                                         .placement = &f->placement,
                                         .channels = f->channels[task->index == 0 ? CHIEF : WORKER],
                                         .call_timeout_ms = DEADLINE_S * 1000 };
    struct worker_options worker = { STEPS, DEADLINE_S * 1000, DEADLINE_S * 1000 };
    struct ps_client client;

    client_init(&client, &options);
    struct status status = task->index == 0
                               ? run_chief(f, &client, &source.source)
                               : worker_run(&client, &source.source, &worker, &f->progress);
    task->code = status.code;
    snprintf(task->text, sizeof task->text, "%s", status.message);
    client_finish(&client);
    return NULL;
}

static void start(struct fixture *f, struct task *tasks)
{
    for (uint32_t i = 0; i < 2; i++) {
        tasks[i] = (struct task){ .fixture = f, .index = i };
        assert_int_equal(pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]), 0);
    }
}

static void join(struct task *tasks)
{
    for (int i = 0; i < 2; i++)
        pthread_join(tasks[i].thread, NULL);
}

/* ---- the fixture ---- */

static void fixture_init(struct fixture *f, bool with_checkpoints)
{
    struct placed_variable variables[] = {
        { .name = "w", .dtype = DT_FLOAT, .shape = shape_of(6, 2), .trainable = true },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };

    *f = (struct fixture){ .progress = { .say = say, .say_context = f }, .said = "\n" };
    pthread_mutex_init(&f->lock, NULL);
    placement_create(variables, 2, PS, 16, PLACE_BY_BYTES, &f->placement);
    for (int c = 0; c < CALLERS; c++)
        for (int p = 0; p < PS; p++) {
            f->relays[c][p].channel =
                (struct channel){ .type = &relay_type, .clock = clock_monotonic() };
            pthread_mutex_init(&f->relays[c][p].lock, NULL);
            f->channels[c][p] = &f->relays[c][p].channel;
        }
    for (int p = 0; p < PS; p++)
        listen_ps(f, p);
    if (with_checkpoints)
        assert_ok(checkpoint_dir_open(in("ckpt"), 3, &f->checkpoints));
}

static void fixture_finish(struct fixture *f)
{
    for (int p = 0; p < PS; p++)
        kill_ps(f, p);
    for (int i = 0; i < f->gone_count; i++)
        channel_close(f->gone[i]);
    for (int i = 0; i < f->gone_ps_count; i++)
        ps_destroy(f->gone_ps[i]);
    checkpoint_dir_close(f->checkpoints);
    placement_finish(&f->placement);
}

static void wait_for_step(struct fixture *f, uint64_t step)
{
    for (int i = 0; i < DEADLINE_S * 1000 && atomic_load(&f->progress.global_step) < step; i++)
        usleep(1000);
    assert_true(atomic_load(&f->progress.global_step) >= step);
}

/* Waits until the chief has reached `step` and the worker has begun one. */
static void wait_for_both(struct fixture *f, uint64_t step)
{
    wait_for_step(f, step);
    for (int i = 0; i < DEADLINE_S * 1000 && atomic_load(&f->worker_steps) == 0; i++)
        usleep(1000);
    assert_true(atomic_load(&f->worker_steps) > 0);
}

/* Waits until the first checkpoint is complete, which is written while the job trains. */
static void wait_for_checkpoint(void)
{
    for (int i = 0; i < DEADLINE_S * 1000 && !file_exists(in("ckpt/checkpoint")); i++)
        usleep(1000);
    assert_true(file_exists(in("ckpt/checkpoint")));
}

static int count_of(const char *text, const char *what)
{
    int count = 0;

    while ((text = strstr(text, what)) != NULL) {
        text++;
        count++;
    }
    return count;
}

static void wait_for_words(struct fixture *f, const char *words)
{
    int count = 0;

    for (int i = 0; i < DEADLINE_S * 1000 && count == 0; i++) {
        pthread_mutex_lock(&f->lock);
        count = count_of(f->said, words);
        pthread_mutex_unlock(&f->lock);
        usleep(1000);
    }
    if (count == 0)
        fail_msg("nobody said '%s', but: %s", words, f->said);
}

static void assert_trained(const struct fixture *f, const struct task *tasks)
{
    for (int i = 0; i < 2; i++)
        assert_string_equal(tasks[i].text, "");
    assert_in_range(f->end_step, STEPS, STEPS + 1);
    for (int i = 0; i < SMALL_W; i++)
        assert_true(f->w[i] == 1 - RATE * (float)f->end_step);
    for (int i = 0; i < SMALL_B; i++)
        assert_true(f->b[i] == 1 - RATE * (float)f->end_step);
}

/* ---- the tests ---- */

static void all_tasks_go_back_together_when_a_ps_is_lost(void **state)
{
    (void)state;
    for (int lost = 0; lost < PS; lost++) {
        static struct fixture f;
        struct task tasks[2];
        fixture_init(&f, true);
        atomic_store(&f.held, true);
        start(&f, tasks);
        wait_for_both(&f, 60);
        wait_for_checkpoint();
        restart_ps(&f, lost);
        wait_for_words(&f, "\ncontinues from step");
        atomic_store(&f.held, false);
        join(tasks);
        assert_trained(&f, tasks);
        assert_int_equal(count_of(f.said, "Training pauses at step"), 1);
        assert_int_equal(count_of(f.said, "Restored"), 1);
        assert_int_equal(count_of(f.said, "Training continues from step"), 1);
        assert_int_equal(count_of(f.said, "\npauses at step"), 1);
        assert_int_equal(count_of(f.said, "\ncontinues from step"), 1);
        fixture_finish(&f);
        assert_ok(file_remove_tree(in("ckpt")));
    }
}

static void a_job_survives_the_loss_of_each_ps_many_times(void **state)
{
    (void)state;
    static struct fixture f;
    struct task tasks[2];

    fixture_init(&f, true);
    atomic_store(&f.held, true);
    start(&f, tasks);
    for (int i = 0; i < 6; i++) {
        usleep(20000 + 7000 * (useconds_t)i);
        restart_ps(&f, i % PS);
    }
    restart_ps(&f, 0);
    restart_ps(&f, 1);
    atomic_store(&f.held, false);
    join(tasks);
    assert_trained(&f, tasks);
    fixture_finish(&f);
}

static void a_ps_may_be_lost_while_the_chief_waits_for_the_workers(void **state)
{
    (void)state;
    static struct fixture f;
    struct task tasks[2];

    fixture_init(&f, true);
    atomic_store(&f.worker_waits, true);
    atomic_store(&f.held, true);
    start(&f, tasks);
    wait_for_both(&f, 60);
    atomic_store(&f.held, false);
    wait_for_step(&f, STEPS);
    restart_ps(&f, 1);
    usleep(100000);
    atomic_store(&f.worker_waits, false);
    join(tasks);
    assert_trained(&f, tasks);
    fixture_finish(&f);
}

static void without_checkpoints_the_loss_of_a_ps_ends_the_job_and_says_why(void **state)
{
    (void)state;
    static struct fixture f;
    struct task tasks[2];

    fixture_init(&f, false);
    atomic_store(&f.held, true);
    start(&f, tasks);
    wait_for_both(&f, 20);
    restart_ps(&f, 1);
    atomic_store(&f.held, false);
    join(tasks);
    assert_int_equal(tasks[0].code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(tasks[0].text, "--checkpoint_dir"));
    assert_int_not_equal(tasks[1].code, STATUS_OK);
    if (strstr(tasks[1].text, "--checkpoint_dir") == NULL)
        fail_msg("the worker says: %s", tasks[1].text);
    fixture_finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(all_tasks_go_back_together_when_a_ps_is_lost),
        TEST_IN_DIRECTORY(a_job_survives_the_loss_of_each_ps_many_times),
        TEST_IN_DIRECTORY(a_ps_may_be_lost_while_the_chief_waits_for_the_workers),
        TEST_IN_DIRECTORY(without_checkpoints_the_loss_of_a_ps_ends_the_job_and_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
