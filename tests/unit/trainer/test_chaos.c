/*
 * Pairs of faults. Each seed runs a whole synchronous job over a network that delays and may lose
 * calls (lossy.h). The test kills two processes, often both at once or the second while the job
 * recovers from the first, and starts both again. Every job has to succeed with the same bits as an
 * undisturbed one.
 *
 *     trainer_test_chaos                runs the seeds of CTest
 *     trainer_test_chaos FIRST [COUNT]  runs these seeds, to repeat a failure or to try more
 *
 * To kill a worker, the test cuts the channels of its thread. Its messages in flight are lost, and
 * nothing that it does later has any effect. To kill a ps, the test breaks its channel; later it
 * puts a new ps behind the same address.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/random.h"
#include "rpc/loopback.h"
#include "support/lossy_task.h"
#include "trainer/ps/ps.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SEEDS 100
#else
#define SEEDS 1000
#endif
#define AT_ONCE     4 /* concurrent jobs, which mostly wait */
#define PS_MAX      3
#define WORKERS_MAX 3
#define STEPS       12
#define FAULTS      2
#define SPAN_MS     700 /* by the fake clock; most jobs are a little shorter */
#define DOWN_MS     80  /* the longest time before a killed task restarts */
#define NEAR_MS     60  /* the longest time between two faults that are near each other */
#define HANG_S      120 /* by the real clock; a job takes a tenth of a second */
#define RATE        .5f

static const struct network_faults quiet = { 0 };
static const struct network_faults slow = { .delay = .5, .delay_max_ms = 20 };
static const struct network_faults bad = { .lose_request = .02,
                                           .lose_reply = .02,
                                           .break_request = .02,
                                           .break_reply = .02,
                                           .repeat = .03,
                                           .delay = .5,
                                           .delay_max_ms = 20 };

static const char *const optimizers[] = { "sgd", "momentum", "adam", "adagrad" };

struct fault {
    int64_t at_ms, down_ms;
    bool of_ps;
    uint32_t index;
    bool tell; /* the other processes see the connections close */
};

struct plan {
    uint64_t seed;
    const char *optimizer;
    int ps_count;
    uint32_t workers;
    bool checkpoints, by_rows;
    const struct network_faults *network;
    int faults_count;
    struct fault faults[FAULTS];
};

/* The address of a ps, and the ps that listens there now. */
struct address {
    struct job *job;
    pthread_mutex_t lock;
    struct ps *ps;
    struct channel *target;
};

/* A process' channel to an address. */
struct line {
    struct channel channel; /* first */
    struct address *address;
};

/* One run of a task, until it ends or is killed. */
struct process {
    struct process *before; /* the process started before this one */
    char name[16];
    struct channel *channels[2 * PS_MAX]; /* of the task, then of its saver */
    struct lossy_task task;
    bool killed;
};

struct job {
    const struct plan *plan;
    const char *directory;
    struct network *network;
    struct placement placement;
    struct address addresses[PS_MAX];
    struct process *tasks[WORKERS_MAX], *processes;
    uint64_t incarnations;
    struct {
        struct ps *ps;
        struct channel *channel;
    } gone[FAULTS];
    int gone_count;
    bool killed_late; /* a ps was killed after the chief had concluded */
    int64_t hang_ns;  /* on the real clock */
    _Atomic bool concluded;
    float values[LOSSY_ELEMENTS], snapshot[LOSSY_ELEMENTS]; /* at the end */
    pthread_mutex_t lock;
    char said[4096];
    char failure[512]; /* "": none */
};

static void say(void *context, const char *line)
{
    struct job *job = context;

    pthread_mutex_lock(&job->lock);
    size_t size = strlen(job->said);
    snprintf(job->said + size, sizeof job->said - size, "    %6lld ms: %s\n",
             (long long)(clock_now_ns(network_clock(job->network)) / NS_PER_MS - 1000), line);
    pthread_mutex_unlock(&job->lock);
}

/* ---- the gradients and the result ---- */

/* The gradient depends on worker and step, and on values of several ps tasks: a task that repeats a
 * step needs the same values from all of them. The sum of the workers' depends on their order. */
static void compute(void *context, uint32_t index, uint64_t step, const float *w, float *gradient)
{
    (void)context;
    for (int i = 0; i < LOSSY_ELEMENTS; i++)
        gradient[i] =
            .3f * (w[i] + .1f * w[(i * 5 + 7) % LOSSY_ELEMENTS] - (float)(i * (int)(index + 1))) /
            (float)(step + 3);
}

/* From now on the test does not kill the chief, and kills at most one ps, so that the other tasks
 * can learn the outcome. */
static void conclude(void *context, uint64_t global_step, const float *values,
                     const float *snapshot)
{
    struct job *job = context;

    (void)global_step;
    memcpy(job->values, values, sizeof job->values);
    memcpy(job->snapshot, snapshot, sizeof job->snapshot);
    atomic_store(&job->concluded, true);
}

/* ---- processes ---- */

static struct client_call *line_begin(struct channel *channel, const char *path,
                                      struct message *request, const struct call_options *options,
                                      reply_function *done, void *context)
{
    struct address *address = ((struct line *)channel)->address;

    pthread_mutex_lock(&address->lock);
    struct channel *target = address->target;
    pthread_mutex_unlock(&address->lock);
    return channel_begin(target, path, request, options, done, context);
}

static void line_close(struct channel *channel)
{
    free(channel);
}

static const struct channel_type line_type = { .begin = line_begin, .close = line_close };

static struct channel *line_open(struct job *job, int ps)
{
    struct line *line = zalloc(sizeof *line);

    line->channel = (struct channel){ .type = &line_type, .clock = network_clock(job->network) };
    line->address = &job->addresses[ps];
    return lossy_open(job->network, &line->channel);
}

static void start_task(struct job *job, uint32_t index)
{
    struct process *process = zalloc(sizeof *process);

    process->before = job->processes;
    job->processes = job->tasks[index] = process;
    snprintf(process->name, sizeof process->name, "worker %u", index);
    for (int i = 0; i < 2 * job->plan->ps_count; i++)
        process->channels[i] = line_open(job, i % job->plan->ps_count);
    struct lossy_task_options options = { .network = job->network,
                                          .placement = &job->placement,
                                          .name = process->name,
                                          .ps_list = "several",
                                          .index = index,
                                          .incarnation = ++job->incarnations,
                                          .channels = process->channels,
                                          .saver_channels = process->channels + job->plan->ps_count,
                                          .job = { .optimizer = job->plan->optimizer,
                                                   .learning_rate = RATE,
                                                   .workers = job->plan->workers,
                                                   .sync = true,
                                                   .stop_step = STEPS },
                                          .checkpoints =
                                              job->plan->checkpoints ? job->directory : NULL,
                                          .checkpoint_steps = 3,
                                          .compute = compute,
                                          .conclude = conclude,
                                          .warn = say,
                                          .say = say,
                                          .context = job };
    lossy_task_start(&process->task, &options);
}

static void start_ps(struct job *job, uint32_t index)
{
    struct ps_options options = { .cluster = LOSSY_CLUSTER,
                                  .index = index,
                                  .incarnation = ++job->incarnations,
                                  .ps_list = "several",
                                  .clock = network_clock(job->network) };
    struct address *address = &job->addresses[index];
    struct ps *ps = ps_create(&options);

    pthread_mutex_lock(&address->lock);
    address->ps = ps;
    address->target = loopback_open(&ps_service, ps, options.clock);
    pthread_mutex_unlock(&address->lock);
}

/* ---- faults ---- */

static void stop_task(struct process *process)
{
    atomic_store(&process->task.progress.stop, true);
    while (!atomic_load(&process->task.done)) { /* repeats: it may be between two calls */
        client_interrupt(&process->task.client);
        usleep(100);
    }
    pthread_join(process->task.thread, NULL);
}

static bool kill_task(struct job *job, const struct fault *fault)
{
    struct process *process = job->tasks[fault->index];

    if (process->killed || atomic_load(&process->task.done) ||
        (fault->index == 0 && atomic_load(&job->concluded)))
        return false;
    process->killed = true;
    lossy_cut(process->channels, 2 * job->plan->ps_count, fault->tell);
    stop_task(process);
    return true;
}

static bool kill_ps(struct job *job, const struct fault *fault)
{
    struct address *address = &job->addresses[fault->index];

    bool late = atomic_load(&job->concluded);
    if (address->ps == NULL || (late && job->killed_late))
        return false;
    job->killed_late |= late;
    job->gone[job->gone_count].ps = address->ps;
    job->gone[job->gone_count++].channel = address->target;
    address->ps = NULL;
    loopback_break(address->target);
    return true;
}

static void sleep_until(struct job *job, int64_t at_ms)
{
    struct clock *clock = network_clock(job->network);
    int64_t rest_ms = at_ms + 1000 - clock_now_ns(clock) / NS_PER_MS;

    if (rest_ms > 0)
        clock_sleep(clock, rest_ms);
}

static void tell_fault(struct job *job, const struct fault *fault, const char *what)
{
    char line[64];

    snprintf(line, sizeof line, "%s %s %u", what, fault->of_ps ? "ps" : "worker", fault->index);
    say(job, line);
}

/* Makes the kills and the restarts in the order of their times. */
static void make_faults(struct job *job)
{
    bool down[FAULTS] = { false }, over[FAULTS] = { false };

    for (int round = 0; round < 2 * job->plan->faults_count; round++) {
        int next = -1;
        int64_t next_ms = INT64_MAX;
        for (int i = 0; i < job->plan->faults_count; i++) {
            const struct fault *fault = &job->plan->faults[i];
            int64_t at_ms = fault->at_ms + (down[i] ? fault->down_ms : 0);
            if (!over[i] && at_ms < next_ms) {
                next = i;
                next_ms = at_ms;
            }
        }
        if (next < 0)
            return;
        const struct fault *fault = &job->plan->faults[next];
        sleep_until(job, next_ms);
        if (down[next]) {
            tell_fault(job, fault, "start");
            if (fault->of_ps)
                start_ps(job, fault->index);
            else
                start_task(job, fault->index);
            over[next] = true;
        } else {
            down[next] = fault->of_ps ? kill_ps(job, fault) : kill_task(job, fault);
            over[next] = !down[next];
            if (down[next])
                tell_fault(job, fault, "kill");
        }
    }
}

/* ---- a job ---- */

static void job_open(struct job *job, const struct plan *plan, const char *directory)
{
    *job = (struct job){ .plan = plan, .directory = directory };
    pthread_mutex_init(&job->lock, NULL);
    job->network = network_create(plan->seed, plan->network);
    lossy_place(plan->ps_count, plan->by_rows, &job->placement);
    for (int p = 0; p < plan->ps_count; p++) {
        job->addresses[p].job = job;
        pthread_mutex_init(&job->addresses[p].lock, NULL);
        start_ps(job, (uint32_t)p);
    }
    for (uint32_t w = 0; w < plan->workers; w++)
        start_task(job, w);
}

/* Records the job's first failure, and sets `running` if the process has not ended. */
static void look_at(struct job *job, const struct process *process, bool *running)
{
    bool done = atomic_load(&process->task.done);

    *running |= !done;
    if (*job->failure != '\0')
        return;
    if (done && process->task.code != STATUS_OK)
        snprintf(job->failure, sizeof job->failure, "%s: %s", process->name, process->task.text);
    else if (clock_now_ns(clock_monotonic()) > job->hang_ns)
        snprintf(job->failure, sizeof job->failure, "the job hangs");
}

/* Waits until the latest process of each task has ended, or one has failed. */
static void job_join(struct job *job)
{
    bool running = true;

    job->hang_ns = clock_deadline_ns(clock_monotonic(), (int64_t)HANG_S * 1000);
    while (running && *job->failure == '\0') {
        usleep(200);
        running = false;
        for (uint32_t w = 0; w < job->plan->workers; w++)
            look_at(job, job->tasks[w], &running);
    }
    for (uint32_t w = 0; w < job->plan->workers; w++)
        stop_task(job->tasks[w]);
}

static void job_close(struct job *job)
{
    for (struct process *process = job->processes, *before; process != NULL; process = before) {
        before = process->before;
        lossy_task_finish(&process->task);
        for (int i = 0; i < 2 * job->plan->ps_count; i++)
            channel_close(process->channels[i]);
        free(process);
    }
    for (int p = 0; p < job->plan->ps_count; p++) {
        channel_close(job->addresses[p].target);
        ps_destroy(job->addresses[p].ps);
    }
    for (int i = 0; i < job->gone_count; i++) {
        channel_close(job->gone[i].channel);
        ps_destroy(job->gone[i].ps);
    }
    placement_finish(&job->placement);
    network_destroy(job->network);
}

static void job_run(struct job *job, const struct plan *plan, const char *directory)
{
    job_open(job, plan, directory);
    make_faults(job);
    job_join(job);
    job_close(job);
    if (memcmp(job->values, job->snapshot, sizeof job->values) != 0 && *job->failure == '\0')
        snprintf(job->failure, sizeof job->failure, "a snapshot of other values than the last");
}

/* ---- seeds ---- */

static int64_t draw(struct random *random, int64_t below)
{
    return (int64_t)random_below(random, (uint64_t)below);
}

static struct plan draw_plan(uint64_t seed)
{
    struct random random;

    random_init(&random, seed, UINT64_MAX);
    struct plan plan = { .seed = seed,
                         .optimizer = optimizers[draw(&random, COUNT(optimizers))],
                         .ps_count = 2 + (int)draw(&random, PS_MAX - 1),
                         .workers = 2 + (uint32_t)draw(&random, WORKERS_MAX - 1),
                         .checkpoints = draw(&random, 4) != 0,
                         .by_rows = seed % 3 == 0,
                         .network = draw(&random, 2) == 0 ? &slow : &bad,
                         .faults_count = FAULTS };
    int64_t at_ms = draw(&random, SPAN_MS), near_ms[] = { 0, draw(&random, NEAR_MS) };
    int64_t second_ms =
        draw(&random, 4) == 0 ? draw(&random, SPAN_MS) : at_ms + near_ms[draw(&random, 2)];
    for (int i = 0; i < FAULTS; i++) {
        /* Without checkpoints a job does not survive the loss of a ps. */
        bool of_ps = plan.checkpoints && draw(&random, 2) == 0;
        plan.faults[i] =
            (struct fault){ .at_ms = i == 0 ? at_ms : second_ms,
                            .down_ms = draw(&random, DOWN_MS),
                            .of_ps = of_ps,
                            .index = (uint32_t)draw(&random,
                                                    of_ps ? plan.ps_count : (int64_t)plan.workers),
                            .tell = draw(&random, 2) == 0 };
    }
    return plan;
}

struct expected {
    float values[LOSSY_ELEMENTS];
};

struct campaign {
    struct expected expected[2][COUNT(optimizers)][WORKERS_MAX + 1]; /* the first index: by rows */
    uint64_t end;
    _Atomic uint64_t next;
    _Atomic int failures;
};

static struct expected *expected_of(struct campaign *campaign, const struct plan *plan)
{
    size_t o = 0;

    while (strcmp(optimizers[o], plan->optimizer) != 0)
        o++;
    return &campaign->expected[plan->by_rows][o][plan->workers];
}

static void run_undisturbed(struct campaign *campaign)
{
    for (size_t o = 0; o < 2 * COUNT(optimizers); o++)
        for (uint32_t workers = 2; workers <= WORKERS_MAX; workers++) {
            struct plan plan = { .optimizer = optimizers[o / 2],
                                 .by_rows = o % 2 == 1,
                                 .ps_count = 1,
                                 .workers = workers,
                                 .network = &quiet };
            struct job job;
            job_run(&job, &plan, NULL);
            assert_string_equal(job.failure, "");
            memcpy(expected_of(campaign, &plan)->values, job.values, sizeof job.values);
        }
}

static void run_seed(struct campaign *campaign, uint64_t seed)
{
    struct plan plan = draw_plan(seed);
    /* In memory: the fake clock may move while a task waits for a disk. */
    char memory[] = "/dev/shm/slipway_chaos_XXXXXX", disk[] = "/tmp/slipway_chaos_XXXXXX";
    char *directory = mkdtemp(memory) != NULL ? memory : mkdtemp(disk);
    struct job *job = zalloc(sizeof *job);

    if (directory == NULL)
        abort();
    job_run(job, &plan, directory);
    if (*job->failure == '\0' &&
        memcmp(job->values, expected_of(campaign, &plan)->values, sizeof job->values) != 0)
        snprintf(job->failure, sizeof job->failure, "other values than without faults");
    if (*job->failure != '\0') {
        atomic_fetch_add(&campaign->failures, 1);
        printf("seed %llu (%d ps, %u workers, %s%s%s): %s\n%s", (unsigned long long)seed,
               plan.ps_count, plan.workers, plan.optimizer, plan.by_rows ? ", by rows" : "",
               plan.checkpoints ? "" : ", no checkpoints", job->failure, job->said);
        fflush(stdout);
    }
    status_ignore(file_remove_tree(directory));
    free(job);
}

static void *run_seeds(void *context)
{
    struct campaign *campaign = context;
    uint64_t seed;

    while ((seed = atomic_fetch_add(&campaign->next, 1)) < campaign->end &&
           atomic_load(&campaign->failures) < 5)
        run_seed(campaign, seed);
    return NULL;
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void a_synchronous_job_survives_each_pair_of_faults_with_the_same_bits(void **state)
{
    struct campaign *campaign = zalloc(sizeof *campaign);
    pthread_t threads[AT_ONCE];

    (void)state;
    run_undisturbed(campaign);
    atomic_init(&campaign->next, first_seed);
    campaign->end = first_seed + seeds;
    for (int i = 0; i < AT_ONCE; i++)
        pthread_create(&threads[i], NULL, run_seeds, campaign);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    int failures = campaign->failures;
    free(campaign);
    assert_int_equal(failures, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_synchronous_job_survives_each_pair_of_faults_with_the_same_bits),
    };

    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
