/* Steps that a job with a scale of the loss skips. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "small_cluster.h"
#include "support/status.h"
#include "tensor/spectral.h"
#include "trainer/client/client_internal.h"

#define WORKERS 2
#define ROWS    2

/* One variable of each kind. */
enum { DENSE, ROWED, KEYED, AVERAGED, DIVIDED, VECTOR, VARIABLES };

static const struct placed_variable variables[] = {
    [DENSE] = { .name = "w",
                .dtype = DT_FLOAT,
                .shape = { .rank = 2, .dims = { 6, 2 } },
                .trainable = true },
    [ROWED] = { .name = "emb",
                .dtype = DT_FLOAT,
                .shape = { .rank = 2, .dims = { 6, 2 } },
                .trainable = true,
                .by_rows = true },
    [KEYED] = { .name = "ids",
                .dtype = DT_FLOAT,
                .shape = { .rank = 2, .dims = { -1, 2 } },
                .trainable = true,
                .by_keys = true,
                .keys = { .min_count = 1, .probability = 1 } },
    [AVERAGED] = { .name = "mean",
                   .dtype = DT_FLOAT,
                   .shape = { .rank = 1, .dims = { 4 } },
                   .averaged = true,
                   .momentum = .5 },
    [DIVIDED] = { .name = "norm",
                  .dtype = DT_FLOAT,
                  .shape = { .rank = 2, .dims = { 2, 2 } },
                  .trainable = true,
                  .power_iterations = 1 },
    [VECTOR] = { .name = "vector",
                 .dtype = DT_FLOAT,
                 .shape = { .rank = 2, .dims = { 1, 2 } },
                 .averaged = true },
};

static const int64_t ids[ROWS] = { 1, 4 };
static const void *const initial_values[VARIABLES] = {
    [DENSE] = ones, [ROWED] = ones, [AVERAGED] = ones, [DIVIDED] = ones, [VECTOR] = ones
};
static const float nans[SMALL_W] = {
    NAN, INFINITY, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN
};
static const float zeros[SMALL_W];
static const float vector[] = { 1, 0 };

/* Of one value, with averages that move towards 0. */
static const struct variable_gradient *gradients(const float *values)
{
    static struct variable_gradient made[VARIABLES];

    for (int v = 0; v < VARIABLES; v++)
        made[v] = (struct variable_gradient){ .values = values, .rows = { ids, ROWS } };
    made[AVERAGED].values = zeros;
    made[VECTOR].values = vector;
    return made;
}

static const struct setting_value momentum[] = { { "momentum", .5f } };

static struct client_job make_job(bool sync)
{
    return (struct client_job){ .optimizer = "momentum",
                                .learning_rate = .25f,
                                .settings = momentum,
                                .settings_count = 1,
                                .workers = 1,
                                .sync = sync,
                                .loss_scale = { .scale = 8, .growth_steps = 3 } };
}

static void want_rows(struct ps_client *client)
{
    client_select_rows(client, ROWED, (struct row_ids){ ids, ROWS });
    client_select_rows(client, KEYED, (struct row_ids){ ids, ROWS });
}

static void start(struct small_cluster *cluster, int ps_count, const struct client_job *job,
                  struct ps_client *chief)
{
    small_start_placed(cluster, ps_count, variables, VARIABLES, NULL, NULL, 0);
    small_client(cluster, 0, 1, chief);
    assert_ok(client_join(chief, false, 1000));
    assert_ok(client_create(chief, job, initial_values));
    want_rows(chief);
    assert_ok(client_pull(chief));
}

static void stop(struct small_cluster *cluster, struct ps_client *chief)
{
    client_finish(chief);
    small_stop(cluster);
}

static void make_step(struct ps_client *client, bool overflows)
{
    client->scaling.overflowed = overflows;
    want_rows(client);
    assert_ok(client_push(client, gradients(overflows ? nans : ones), true));
    assert_false(client->scaling.overflowed);
}

/* The values of all variables, one behind the other. */
struct seen {
    float values[2 * SMALL_W + 2 * ROWS + 10];
};

static struct seen look(const struct ps_client *client)
{
    static const size_t floats[VARIABLES] = { [DENSE] = SMALL_W,  [ROWED] = (size_t)2 * ROWS,
                                              [KEYED] = 2 * ROWS, [AVERAGED] = 4,
                                              [DIVIDED] = 4,      [VECTOR] = 2 };
    struct seen seen = { 0 };
    float *next = seen.values;

    for (int v = 0; v < VARIABLES; next += floats[v++])
        memcpy(next, client->values[v], floats[v] * sizeof *next);
    return seen;
}

/* What a skipped step moves: its value is `share` of the way from 1 to 0, or divided. */
static void expect_skipped(const struct ps_client *client, const struct seen *before, float mean,
                           int divisions)
{
    float norm[4] = { 1, 1, 1, 1 }, by[2] = { 1, 1 };
    struct seen want = *before;
    struct seen got = look(client);
    float *next = want.values + SMALL_W + 4 * ROWS;

    for (int i = 0; i < 4; i++)
        *next++ = mean;
    for (int i = 0; i < divisions; i++) {
        spectral_divide(norm, &variables[DIVIDED].shape, by, 1, norm);
        memcpy(by, vector, sizeof by);
    }
    memcpy(next, norm, sizeof norm);
    memcpy(next + 4, by, sizeof by);
    assert_memory_equal(&got, &want, sizeof got);
}

static void a_skipped_step_moves_averages_alone(void **state)
{
    (void)state;
    for (int ps_count = 1; ps_count <= 3; ps_count++)
        for (int sync = 0; sync <= 1; sync++) {
            struct small_cluster cluster;
            struct ps_client chief;
            const struct client_job job = make_job(sync);
            start(&cluster, ps_count, &job, &chief);
            assert_true(chief.scaling.scale == 8);
            struct seen first = look(&chief);
            make_step(&chief, true);
            assert_int_equal(chief.global_step, 1);
            assert_true(chief.scaling.scale == 4 && chief.scaling.skipped == 1);
            expect_skipped(&chief, &first, .5f, 1);
            make_step(&chief, true);
            assert_true(chief.scaling.scale == 2 && chief.scaling.skipped == 2);
            expect_skipped(&chief, &first, .25f, 2);
            want_rows(&chief);
            assert_ok(client_pull(&chief));
            assert_true(chief.scaling.scale == 2 && chief.scaling.skipped == 2);
            stop(&cluster, &chief);
        }
}

/* Neither slots nor the learning rate know of the steps that were skipped. */
static void later_steps_are_as_if_it_had_not_been(void **state)
{
    (void)state;
    static const bool skips[] = { false, true, false, true, true, false, false };
    struct client_job job = make_job(false);
    struct small_cluster cluster, plain;
    struct ps_client chief, other;
    float rate;

    assert_ok(schedule_begin("InverseTimeDecay", &job.schedule));
    assert_ok(schedule_set(&job.schedule, "initial_learning_rate", (double[]){ .5 }, 1, &rate));
    assert_ok(schedule_set(&job.schedule, "decay_steps", (double[]){ 1 }, 1, &rate));
    assert_ok(schedule_set(&job.schedule, "decay_rate", (double[]){ 1 }, 1, &rate));
    assert_ok(schedule_check(&job.schedule));
    job.learning_rate = rate;
    start(&cluster, 2, &job, &chief);
    start(&plain, 1, &job, &other);
    for (size_t i = 0; i < COUNT(skips); i++) {
        make_step(&chief, skips[i]);
        if (!skips[i])
            make_step(&other, false);
    }
    assert_int_equal(chief.global_step, COUNT(skips));
    assert_int_equal(other.global_step, 4);
    /* the averages and the division go on in every step: these are compared above */
    struct seen got = look(&chief), want = look(&other);
    assert_memory_equal(&got, &want, (SMALL_W + 4 * ROWS) * sizeof(float));
    assert_true(chief.scaling.scale == 1); /* 8, halved three times */
    assert_true(other.scaling.scale == 16);
    make_step(&chief, false);
    assert_true(chief.scaling.scale == 2);
    stop(&cluster, &chief);
    stop(&plain, &other);
}

/* A worker that takes the place of one whose push reached one ps only computes with the values and
 * the scale of the step before. */
static void the_scale_before_a_torn_step_is_kept(void **state)
{
    (void)state;
    const struct client_job job = make_job(true);
    struct small_cluster cluster;
    struct ps_client dying, again;

    start(&cluster, 2, &job, &dying);
    make_step(&dying, false);
    struct seen want = look(&dying);
    struct channel *cut_off = loopback_open(&ps_service, cluster.ps[1], clock_monotonic());
    loopback_break(cut_off);
    struct channel *half[] = { cluster.channels[0], cut_off };
    dying.options.channels = half;
    dying.options.call_timeout_ms = 1000;
    dying.scaling.overflowed = true;
    want_rows(&dying);
    assert_int_equal(client_push(&dying, gradients(nans), true).code, STATUS_UNAVAILABLE);
    assert_int_equal(ps_global_step(cluster.ps[0]), 2);
    small_client(&cluster, 0, 2, &again);
    assert_ok(client_join(&again, true, 1000));
    want_rows(&again);
    assert_ok(client_pull(&again));
    assert_true(again.torn);
    assert_true(again.scaling.scale == 8 && again.scaling.skipped == 0);
    struct seen got = look(&again);
    assert_memory_equal(&got, &want, sizeof got);
    make_step(&again, true);
    assert_int_equal(ps_global_step(cluster.ps[0]), 2);
    assert_int_equal(ps_global_step(cluster.ps[1]), 2);
    assert_true(again.scaling.scale == 4 && again.scaling.skipped == 1);
    got = look(&again);
    assert_memory_equal(&got, &want, (SMALL_W + 4 * ROWS) * sizeof(float));
    client_finish(&again);
    client_finish(&dying);
    channel_close(cut_off);
    small_stop(&cluster);
}

/* ---- several workers: all calls are sent by this thread ---- */

struct pushed {
    bool ended;
    struct push_reply reply;
    struct client_call *call;
    struct bytes payload;
};

static void answered(void *context, struct status status, struct message *message)
{
    struct pushed *pushed = context;
    struct arena *arena = arena_create(0);

    assert_ok(status);
    assert_ok(unpack_push_reply(message, arena, &pushed->reply));
    pushed->ended = true;
    arena_destroy(arena);
}

static void send_push(const struct small_cluster *cluster, struct ps_client *client, int ps,
                      const float *values, float overflowed, struct pushed *pushed)
{
    struct ticket ticket = client_ticket(client, ps);
    const struct push_request header = { .ticket = &ticket,
                                         .sequence = client->sequence,
                                         .local_step = client->global_step,
                                         .overflowed = overflowed };
    struct message request;

    pushed->payload =
        (struct bytes){ (const char *)values, placement_bytes(&cluster->placement, ps) };
    request = protocol_attach(pack_push_request(&header), &pushed->payload, 1);
    pushed->call =
        channel_start(cluster->channels[ps], PS_PUSH, &request, CLOCK_NEVER, answered, pushed);
}

static void one_worker_skips_the_step_of_all(void **state)
{
    (void)state;
    struct client_job job = make_job(true);
    struct small_cluster cluster;
    struct ps_client workers[WORKERS];
    struct pushed pushed[WORKERS][2] = { 0 };

    job.workers = WORKERS;
    small_start(&cluster, 2);
    for (uint32_t w = 0; w < WORKERS; w++) {
        small_client(&cluster, w, 1 + w, &workers[w]);
        assert_ok(client_join(&workers[w], w > 0, 1000));
        if (w == 0)
            assert_ok(client_create(&workers[0], &job, (const void *const[]){ ones, ones }));
        assert_ok(client_pull(&workers[w]));
        workers[w].sequence = 1;
        for (int ps = 0; ps < 2; ps++)
            send_push(&cluster, &workers[w], ps, w == 0 ? ones : nans, w == 0 ? 0 : 8,
                      &pushed[w][ps]);
    }
    for (int w = 0; w < WORKERS; w++)
        for (int ps = 0; ps < 2; ps++) {
            assert_true(pushed[w][ps].ended);
            assert_true(pushed[w][ps].reply.loss_scale.scale == 4);
            assert_int_equal(pushed[w][ps].reply.global_step, 1);
            client_call_release(pushed[w][ps].call);
        }
    assert_ok(client_pull(&workers[0]));
    assert_memory_equal(workers[0].values[0], ones, SMALL_W * sizeof(float));
    assert_memory_equal(workers[0].values[1], ones, SMALL_B * sizeof(float));
    for (int w = 0; w < WORKERS; w++)
        client_finish(&workers[w]);
    small_stop(&cluster);
}

/* ---- the state ---- */

static void a_snapshot_has_it_and_a_generation_begins_with_it(void **state)
{
    (void)state;
    struct client_job job = make_job(false);
    struct client_snapshot snapshot;
    struct small_cluster cluster;
    struct ps_client chief;

    start(&cluster, 2, &job, &chief);
    make_step(&chief, true);
    make_step(&chief, false);
    assert_ok(client_snapshot_begin(&chief, true, 1000, &snapshot));
    const struct loss_scale kept = snapshot.loss_scale;
    client_snapshot_end(&snapshot);
    assert_true(kept.scale == 4 && kept.growth_steps == 3 && kept.finite_steps == 1 &&
                kept.skipped == 1);
    job.loss_scale = kept;
    job.global_step = 2;
    assert_ok(client_create(&chief, &job, initial_values));
    want_rows(&chief);
    assert_ok(client_pull(&chief));
    assert_true(chief.scaling.scale == 4 && chief.scaling.skipped == 1);
    make_step(&chief, false);
    make_step(&chief, false);
    assert_true(chief.scaling.scale == 8);
    stop(&cluster, &chief);
}

static void wrong_scales_are_refused(void **state)
{
    (void)state;
    static const float wrong[] = { -1, NAN, INFINITY, 4 };
    struct client_job job = make_job(false);
    struct small_cluster cluster;
    struct ps_client chief;

    for (size_t i = 0; i < COUNT(wrong); i++) {
        job.loss_scale.scale = wrong[i] == 4 ? 0 : 8; /* 4: the job has no scale */
        start(&cluster, 1, &job, &chief);
        chief.scaling = (struct client_scaling){ .scale = wrong[i], .overflowed = true };
        assert_int_equal(client_push(&chief, gradients(nans), false).code, STATUS_INVALID_ARGUMENT);
        assert_int_equal(ps_global_step(cluster.ps[0]), 0);
        stop(&cluster, &chief);
    }
    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    assert_ok(client_join(&chief, false, 1000));
    job.loss_scale = (struct loss_scale){ .scale = 1 };
    assert_int_equal(client_create(&chief, &job, (const void *const[]){ ones, ones }).code,
                     STATUS_INVALID_ARGUMENT);
    stop(&cluster, &chief);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_step_moves_averages_alone),
        cmocka_unit_test(later_steps_are_as_if_it_had_not_been),
        cmocka_unit_test(the_scale_before_a_torn_step_is_kept),
        cmocka_unit_test(one_worker_skips_the_step_of_all),
        cmocka_unit_test(a_snapshot_has_it_and_a_generation_begins_with_it),
        cmocka_unit_test(wrong_scales_are_refused),
    };

    return cmocka_run_group_tests_name("loss_scaling", tests, NULL, NULL);
}
