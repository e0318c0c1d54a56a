/*
 * Whole jobs over a network that loses, delays, repeats and reorders calls (support/lossy.h): what
 * is learnt is the same bits, nothing is applied twice, nothing is lost. Arithmetic in place of a
 * model; one variable is cut over all ps tasks.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "rpc/loopback.h"
#include "support/lossy.h"
#include "trainer/chief.h"
#include "trainer/ps.h"

#define SEEDS      200
#define ELEMENTS   24
#define PS_MAX     3
#define WORKERS    3
#define STEPS      12
#define WAIT_MS    (3600 * 1000) /* of the fake clock */
#define ATTEMPT_MS 60

static const struct network_faults none = { 0 };
static const struct network_faults bad = { .lose_request = .04,
                                           .lose_reply = .04,
                                           .break_request = .03,
                                           .break_reply = .03,
                                           .repeat = .05,
                                           .delay = .05,
                                           .delay_max_ms = 100 };

struct job {
    bool sync;
    int ps_count;
    const char *optimizer;
    float rate;
    /* results */
    float values[ELEMENTS], snapshot[ELEMENTS];
    uint64_t global_step;
    int computed[WORKERS]; /* gradients */
    int harm;
};

struct task {
    struct job *job;
    uint32_t index;
    struct channel *channels[PS_MAX];
    struct client client;
    struct progress progress;
    pthread_t thread;
    enum status_code code;
    char text[256];
};

/* ---- What is computed. ---- */

struct source {
    struct gradient_source source;
    struct job *job;
    uint32_t index;
    float gradient[ELEMENTS];
    const float *gradients[1];
};

/* Synchronous: numbers whose sum depends on the order, and on the values. Asynchronous: whole
 * numbers, so that the sum of all updates is exact. */
static struct status source_step(struct gradient_source *base, const void *const *values,
                                 const float *const **gradients, float *loss)
{
    struct source *source = (struct source *)base;
    const float *w = values[0];
    int step = source->job->computed[source->index]++;

    for (int i = 0; i < ELEMENTS; i++)
        source->gradient[i] =
            source->job->sync
                ? .3f * (w[i] - (float)(i * (int)(source->index + 1))) / (float)(step + 3)
                : (float)(source->index + 1);
    *loss = 1;
    *gradients = source->gradients;
    return status_ok();
}

static void source_destroy(struct gradient_source *base)
{
    free(base);
}

static struct gradient_source *make_source(struct job *job, uint32_t index)
{
    struct source *source = zalloc(sizeof *source);

    source->source = (struct gradient_source){ .step = source_step, .destroy = source_destroy };
    source->job = job;
    source->index = index;
    source->gradients[0] = source->gradient;
    return &source->source;
}

/* ---- The chief's part. ---- */

static const void *const *first_values(void *context, struct arena *arena)
{
    static const float zeros[ELEMENTS];
    const void **values = ARENA_ARRAY(arena, const void *, 1);

    (void)context;
    values[0] = zeros;
    return values;
}

static struct status read_snapshot(struct client *client, float *out)
{
    struct client_snapshot snapshot;
    struct bytes chunk;
    size_t size = 0;

    TRY(client_snapshot_begin(client, false, WAIT_MS, &snapshot));
    struct status status = snapshot.source.begin(&snapshot.source, "w");
    while (status_is_ok(status)) {
        status = snapshot.source.next(&snapshot.source, &chunk);
        if (!status_is_ok(status) || chunk.size == 0)
            break;
        memcpy((char *)out + size, chunk.data, chunk.size);
        size += chunk.size;
    }
    client_snapshot_end(&snapshot);
    if (status_is_ok(status) && size != ELEMENTS * sizeof(float))
        return status_error(STATUS_INTERNAL, "a snapshot of %zu bytes", size);
    return status;
}

static struct status conclude(void *context, struct client *client)
{
    struct job *job = context;

    memcpy(job->values, client->values[0], sizeof job->values);
    job->global_step = client->global_step;
    return read_snapshot(client, job->snapshot);
}

static void warn(void *context, const char *text)
{
    (void)context;
    fail_msg("%s", text);
}

static struct chief_options chief_options(struct job *job)
{
    return (struct chief_options){ .job = { .optimizer = job->optimizer,
                                            .learning_rate = job->rate,
                                            .workers = WORKERS,
                                            .sync = job->sync,
                                            .stop_step = STEPS },
                                   .first_values = first_values,
                                   .start_timeout_ms = WAIT_MS,
                                   .finish_timeout_ms = WAIT_MS,
                                   .recovery_timeout_ms = WAIT_MS,
                                   .conclude = conclude,
                                   .context = job,
                                   .warn = warn };
}

static void *task_run(void *context)
{
    struct task *task = context;
    struct gradient_source *source = make_source(task->job, task->index);
    struct chief_options options = chief_options(task->job);

    struct worker_options worker = { .stop_step = STEPS,
                                     .start_timeout_ms = WAIT_MS,
                                     .recovery_timeout_ms = WAIT_MS };

    struct status status = task->index == 0
                               ? chief_run(&task->client, source, &options, &task->progress)
                               : worker_run(&task->client, source, &worker, &task->progress);
    task->code = status.code;
    snprintf(task->text, sizeof task->text, "%s", status.message);
    source->destroy(source);
    return NULL;
}

/* ---- The cluster. ---- */

struct lossy_cluster {
    struct network *network;
    struct placement placement;
    int ps_count;
    struct ps *ps[PS_MAX];
    struct task tasks[WORKERS];
};

static void open_task(struct lossy_cluster *cluster, struct job *job, uint32_t index)
{
    struct task *task = &cluster->tasks[index];
    struct client_options options = { .cluster = "lossy",
                                      .task = index == 0 ? "chief" : "worker",
                                      .ps_list = "",
                                      .index = index,
                                      .incarnation = 7 + index,
                                      .placement = &cluster->placement,
                                      .channels = task->channels,
                                      .call_timeout_ms = WAIT_MS,
                                      .attempt_timeout_ms = ATTEMPT_MS };

    *task = (struct task){ .job = job, .index = index };
    for (int i = 0; i < cluster->ps_count; i++)
        task->channels[i] =
            lossy_open(cluster->network,
                       loopback_open(&ps_service, cluster->ps[i], network_clock(cluster->network)));
    client_init(&task->client, &options);
}

static void cluster_open(struct lossy_cluster *cluster, struct job *job, uint64_t seed,
                         const struct network_faults *faults)
{
    struct placed_variable variables[] = {
        { .name = "w", .dtype = DT_FLOAT, .shape = shape_of(ELEMENTS / 2, 2), .trainable = true },
    };

    cluster->network = network_create(seed, faults);
    cluster->ps_count = job->ps_count;
    placement_create(variables, 1, job->ps_count, 16, PLACE_BY_BYTES, &cluster->placement);
    for (int i = 0; i < job->ps_count; i++) {
        struct ps_options options = { .cluster = "lossy",
                                      .index = (uint32_t)i,
                                      .incarnation = 1,
                                      .ps_list = "",
                                      .clock = network_clock(cluster->network) };
        cluster->ps[i] = ps_create(&options);
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        open_task(cluster, job, i);
}

static void cluster_close(struct lossy_cluster *cluster)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        client_finish(&cluster->tasks[i].client);
    for (uint32_t i = 0; i < WORKERS; i++)
        for (int p = 0; p < cluster->ps_count; p++)
            channel_close(cluster->tasks[i].channels[p]);
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
        pthread_create(&cluster.tasks[i].thread, NULL, task_run, &cluster.tasks[i]);
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(cluster.tasks[i].thread, NULL);
    job->harm = network_harm(cluster.network);
    for (uint32_t i = 0; i < WORKERS; i++)
        if (cluster.tasks[i].code != STATUS_OK)
            fail_msg("seed %d: task %u: %s", (int)seed, i, cluster.tasks[i].text);
    cluster_close(&cluster);
}

/* ---- The tests. ---- */

static void a_synchronous_job_learns_the_same_bits_as_without_loss(void **state)
{
    (void)state;
    static const char *const optimizers[] = { "sgd", "momentum", "adam", "adagrad" };
    struct job quiet[COUNT(optimizers)];
    int harm = 0;

    for (size_t o = 0; o < COUNT(optimizers); o++) {
        quiet[o] =
            (struct job){ .sync = true, .ps_count = 1, .optimizer = optimizers[o], .rate = .5f };
        run(&quiet[o], 0, &none);
        assert_int_equal(quiet[o].global_step, STEPS);
        assert_true(quiet[o].values[ELEMENTS - 1] != 0);
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct job *expected = &quiet[seed % COUNT(optimizers)];
        struct job job = { .sync = true,
                           .ps_count = 1 + (int)(seed / COUNT(optimizers) % PS_MAX),
                           .optimizer = expected->optimizer,
                           .rate = .5f };
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
        struct job job = { .ps_count = 1 + (int)(seed % PS_MAX), .optimizer = "sgd", .rate = 1 };
        run(&job, seed, &bad);
        int total = 0, steps = 0;
        for (int w = 0; w < WORKERS; w++) {
            total += (w + 1) * job.computed[w];
            steps += job.computed[w];
        }
        assert_int_equal(job.global_step, steps);
        for (int i = 0; i < ELEMENTS; i++)
            if (job.values[i] != (float)-total || job.snapshot[i] != (float)-total)
                fail_msg("seed %d: element %d is %g, in the snapshot %g, must be %d", (int)seed, i,
                         job.values[i], job.snapshot[i], -total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_synchronous_job_learns_the_same_bits_as_without_loss),
        cmocka_unit_test(no_update_of_an_asynchronous_job_is_lost_or_applied_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
