/*
 * Whole jobs over a network that loses, delays, repeats and reorders calls (support/lossy.h). A
 * synchronous job ends with the same bits as without loss; no job applies an update twice or loses
 * one. Arithmetic stands in for a model, with one variable that is divided among all ps tasks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rpc/loopback.h"
#include "support/lossy_task.h"
#include "trainer/ps/ps.h"

#define SEEDS   200
#define PS_MAX  3
#define WORKERS 3
#define STEPS   12

static const struct network_faults none = { 0 };
static const struct network_faults bad = { .lose_request = .04,
                                           .lose_reply = .04,
                                           .break_request = .03,
                                           .break_reply = .03,
                                           .repeat = .05,
                                           .delay = .05,
                                           .delay_max_ms = 100 };

struct job {
    bool sync, by_rows;
    int ps_count;
    size_t chunk_bytes; /* as in struct ps_client_options */
    const char *optimizer;
    float rate;
    /* results */
    float values[LOSSY_ELEMENTS], snapshot[LOSSY_ELEMENTS];
    uint64_t global_step;
    int computed[WORKERS];               /* gradients */
    int totals[WORKERS][LOSSY_ELEMENTS]; /* the sum of what an asynchronous job has pushed */
    int harm;
};

/* The gradients of a synchronous job depend on the values, and their sum on the order of the
 * workers. Those of an asynchronous job are integers, so that the sum of all updates is exact. */
static void compute(void *context, uint32_t index, uint64_t step, const float *w, float *gradient)
{
    struct job *job = context;

    job->computed[index]++;
    for (int i = 0; i < LOSSY_ELEMENTS; i++)
        if (!job->by_rows || lossy_has_row(index, step, i / LOSSY_ROW))
            job->totals[index][i] += (int)index + 1;
    for (int i = 0; i < LOSSY_ELEMENTS; i++)
        gradient[i] = job->sync ? .3f * (w[i] - (float)(i * (int)(index + 1))) / (float)(step + 3)
                                : (float)(index + 1);
}

static void conclude(void *context, uint64_t global_step, const float *values,
                     const float *snapshot)
{
    struct job *job = context;

    memcpy(job->values, values, sizeof job->values);
    memcpy(job->snapshot, snapshot, sizeof job->snapshot);
    job->global_step = global_step;
}

static void warn(void *context, const char *text)
{
    (void)context;
    fail_msg("%s", text);
}

/* ---- the cluster ---- */

struct lossy_cluster {
    struct network *network;
    struct placement placement;
    int ps_count;
    struct ps *ps[PS_MAX];
    struct channel *channels[WORKERS][PS_MAX];
    struct lossy_task tasks[WORKERS];
};

static void start_task(struct lossy_cluster *cluster, struct job *job, uint32_t index)
{
    struct lossy_task_options options = { .network = cluster->network,
                                          .placement = &cluster->placement,
                                          .name = index == 0 ? "chief" : "worker",
                                          .ps_list = "",
                                          .index = index,
                                          .incarnation = 7 + index,
                                          .channels = cluster->channels[index],
                                          .chunk_bytes = job->chunk_bytes,
                                          .job = { .optimizer = job->optimizer,
                                                   .learning_rate = job->rate,
                                                   .workers = WORKERS,
                                                   .sync = job->sync,
                                                   .stop_step = STEPS },
                                          .compute = compute,
                                          .conclude = conclude,
                                          .warn = warn,
                                          .context = job };

    for (int i = 0; i < cluster->ps_count; i++)
        cluster->channels[index][i] =
            lossy_open(cluster->network,
                       loopback_open(&ps_service, cluster->ps[i], network_clock(cluster->network)));
    lossy_task_start(&cluster->tasks[index], &options);
}

static void cluster_open(struct lossy_cluster *cluster, const struct job *job, uint64_t seed,
                         const struct network_faults *faults)
{
    cluster->network = network_create(seed, faults);
    cluster->ps_count = job->ps_count;
    lossy_place(job->ps_count, job->by_rows, &cluster->placement);
    for (int i = 0; i < job->ps_count; i++) {
        struct ps_options options = { .cluster = LOSSY_CLUSTER,
                                      .index = (uint32_t)i,
                                      .incarnation = 1,
                                      .ps_list = "",
                                      .clock = network_clock(cluster->network) };
        cluster->ps[i] = ps_create(&options);
    }
}

static void cluster_close(struct lossy_cluster *cluster)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        lossy_task_finish(&cluster->tasks[i]);
    for (uint32_t i = 0; i < WORKERS; i++)
        for (int p = 0; p < cluster->ps_count; p++)
            channel_close(cluster->channels[i][p]);
    for (int i = 0; i < cluster->ps_count; i++)
        ps_destroy(cluster->ps[i]);
    placement_finish(&cluster->placement);
    network_destroy(cluster->network);
}

static void run(struct job *job, uint64_t seed, const struct network_faults *faults)
{
    struct lossy_cluster cluster;

    cluster_open(&cluster, job, seed, faults);
    for (uint32_t i = 0; i < WORKERS; i++)
        start_task(&cluster, job, i);
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(cluster.tasks[i].thread, NULL);
    job->harm = network_harm(cluster.network);
    for (uint32_t i = 0; i < WORKERS; i++)
        if (cluster.tasks[i].code != STATUS_OK)
            fail_msg("seed %d: task %u: %s", (int)seed, i, cluster.tasks[i].text);
    cluster_close(&cluster);
}

/* ---- the tests ---- */

/* A ps has up to six pieces of 16 bytes. Every second seed divides pulls and pushes into chunks of
 * one to three pieces. */
static size_t chunk_bytes(uint64_t seed)
{
    return seed % 2 == 0 ? 0 : 16 * (1 + seed / 2 % 3);
}

static void a_synchronous_job_learns_the_same_bits_as_without_loss(void **state)
{
    (void)state;
    static const char *const optimizers[] = { "sgd", "momentum", "adam", "adagrad" };
    struct job quiet[2 * COUNT(optimizers)]; /* as a whole, then by rows */
    int harm = 0;

    for (size_t q = 0; q < COUNT(quiet); q++) {
        quiet[q] = (struct job){ .sync = true,
                                 .by_rows = q >= COUNT(optimizers),
                                 .ps_count = 1,
                                 .optimizer = optimizers[q % COUNT(optimizers)],
                                 .rate = .5f };
        run(&quiet[q], 0, &none);
        assert_int_equal(quiet[q].global_step, STEPS);
        assert_true(quiet[q].values[LOSSY_ELEMENTS - 1] != 0);
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct job *expected =
            &quiet[seed % COUNT(optimizers) + (seed % 3 == 0 ? COUNT(optimizers) : 0)];
        struct job job = { .sync = true,
                           .by_rows = expected->by_rows,
                           .ps_count = 1 + (int)(seed / COUNT(optimizers) % PS_MAX),
                           .optimizer = expected->optimizer,
                           .rate = .5f,
                           .chunk_bytes = chunk_bytes(seed) };
        run(&job, seed, &bad);
        harm += job.harm;
        if (memcmp(job.values, expected->values, sizeof job.values) != 0)
            fail_msg("seed %d: other values than without loss", (int)seed);
        if (memcmp(job.snapshot, expected->values, sizeof job.snapshot) != 0)
            fail_msg("seed %d: a snapshot of other values than the last", (int)seed);
        for (int w = 0; w < WORKERS; w++)
            assert_int_equal(job.computed[w], STEPS);
        assert_int_equal(job.global_step, STEPS);
    }
    assert_true(harm > SEEDS * 10);
    printf("%d calls were harmed\n", harm);
}

static void no_update_of_an_asynchronous_job_is_lost_or_applied_twice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct job job = { .by_rows = seed % 2 == 0,
                           .ps_count = 1 + (int)(seed % PS_MAX),
                           .optimizer = "sgd",
                           .rate = 1,
                           .chunk_bytes = chunk_bytes(seed) };
        run(&job, seed, &bad);
        int steps = 0;
        for (int w = 0; w < WORKERS; w++)
            steps += job.computed[w];
        assert_int_equal(job.global_step, steps);
        for (int i = 0; i < LOSSY_ELEMENTS; i++) {
            int total = 0;
            for (int w = 0; w < WORKERS; w++)
                total += job.totals[w][i];
            if (job.values[i] != (float)-total || job.snapshot[i] != (float)-total)
                fail_msg("seed %d: element %d is %g, in the snapshot %g, must be %d", (int)seed, i,
                         job.values[i], job.snapshot[i], -total);
        }
    }
}

/* ---- the clock of the harness ---- */

struct computation {
    struct clock *clock;
    int64_t began_ns, ended_ns; /* by the network's clock */
};

/* Uses 50 ms of processor time, so that any clock that counts real time would move. */
static void *compute_for_50_ms(void *context)
{
    struct computation *computation = context;
    struct timespec used;

    computation->began_ns = clock_now_ns(computation->clock);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 50 * NS_PER_MS);
    computation->ended_ns = clock_now_ns(computation->clock);
    return NULL;
}

static void time_stands_still_while_a_thread_computes(void **state)
{
    struct network *network = network_create(1, &none);
    struct clock *clock = network_clock(network);
    struct computation computation = { .clock = clock };
    pthread_t thread;

    (void)state;
    network_start_thread(network, &thread, compute_for_50_ms, &computation);
    clock_sleep(clock, 1000);
    pthread_join(thread, NULL);
    assert_int_equal(computation.began_ns, computation.ended_ns);
    assert_int_equal(clock_now_ns(clock), computation.ended_ns + NS_PER_S);
    network_destroy(network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_stands_still_while_a_thread_computes),
        cmocka_unit_test(a_synchronous_job_learns_the_same_bits_as_without_loss),
        cmocka_unit_test(no_update_of_an_asynchronous_job_is_lost_or_applied_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
