/* Muon on several ps tasks, with AdamW for what is no matrix. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "muon_golden.h"
#include "small_cluster.h"
#include "support/status.h"
#include "trainer/options/other_optimizers.h"
#include "support/test_group.h"

#define VARIABLES 4
#define FLOATS    42

static const struct muon_variable_case {
    const char *name;
    int64_t rows, cols; /* rows 0: a vector */
} shapes[VARIABLES] = {
    { "tall", 7, 3 }, { "wide", 2, 5 }, { "embeddings", 3, 2 }, { "bias", 0, 5 }
};

static const struct muon_case {
    const char *label;
    float rate;
    struct setting_value settings[14];
    int settings_count;
    int adamw_count;   /* of the variables */
    const char *decay; /* of the rate; NULL: none */
} cases[] = {
    { "Keras' settings without a decay",
      .001f,
      { { "weight_decay", 0 }, { "adam_weight_decay", 0 } },
      2,
      2,
      NULL },
    { "other settings",
      .05f,
      { { "momentum", .8f },
        { "nesterov", 0 },
        { "ns_steps", 3 },
        { "rms_rate", -1 },
        { "muon_a", 3 },
        { "muon_b", -4 },
        { "muon_c", 1.75f },
        { "weight_decay", .1f },
        { "adam_weight_decay", .2f },
        { "adam_lr_ratio", .5f },
        { "adam_beta_1", .8f },
        { "adam_beta_2", .9f },
        { "epsilon", 1e-3f },
        { "exclude_embeddings", 0 } },
      14,
      1,
      NULL },
    { "a schedule, which AdamW follows",
      .1f,
      { { "adam_lr_ratio", 2 } },
      1,
      2,
      "ExponentialDecay" },
};

static int count_of(int v)
{
    return (int)(shapes[v].cols * (shapes[v].rows > 0 ? shapes[v].rows : 1));
}

/* Pieces of up to 24 bytes: some rows of a matrix. */
static void start(struct small_cluster *cluster, int ps_count)
{
    struct placed_variable variables[VARIABLES];

    for (int v = 0; v < VARIABLES; v++)
        variables[v] = (struct placed_variable){
            .name = shapes[v].name,
            .dtype = DT_FLOAT,
            .shape = shapes[v].rows > 0 ? shape_of(shapes[v].rows, shapes[v].cols)
                                        : shape_of(shapes[v].cols),
            .trainable = true,
        };
    *cluster = (struct small_cluster){ .ps_count = ps_count };
    placement_create(variables, VARIABLES, ps_count, 24, PLACE_WHOLE_BY_BYTES, &cluster->placement);
    for (int i = 0; i < ps_count; i++) {
        struct ps_options options = {
            .cluster = "test", .index = (uint32_t)i, .incarnation = 100, .ps_list = "a:1,b:1"
        };
        cluster->ps[i] = ps_create(&options);
        cluster->channels[i] = loopback_open(&ps_service, cluster->ps[i], clock_monotonic());
    }
}

static void fill(float out[FLOATS], int update)
{
    for (int v = 0, at = 0; v < VARIABLES; v++)
        for (int i = 0; i < count_of(v); i++)
            out[at++] = update < 0 ? (float)(i % 5) * .3f - .4f
                                   : (float)((i * i * 5 + update * 3 + i) % 11) * .1f - .5f;
}

static void make_job(const struct muon_case *row, struct arena *arena, struct client_job *job)
{
    struct muon_variable variables[VARIABLES];
    int adamw_count = 0;

    *job = (struct client_job){ .optimizer = "muon",
                                .learning_rate = row->rate,
                                .settings = row->settings,
                                .settings_count = row->settings_count,
                                .workers = 1,
                                .sync = true };
    if (row->decay != NULL) {
        const double values[] = { 5, .5, 0 };
        assert_ok(schedule_read(row->decay, values, COUNT(values), &job->schedule));
    }
    for (int v = 0; v < VARIABLES; v++)
        variables[v] = (struct muon_variable){ shapes[v].name, shapes[v].rows > 0 };
    assert_ok(other_optimizers_beside_muon(variables, VARIABLES, arena, job));
    for (int v = 0; v < VARIABLES; v++)
        adamw_count += client_job_number(job, v) == 1;
    assert_int_equal(adamw_count, row->adamw_count);
}

static void train(const struct muon_case *row, int ps_count, float out[FLOATS])
{
    float w[FLOATS], g[FLOATS];
    const void *values[VARIABLES];
    struct variable_gradient gradients[VARIABLES] = { 0 };
    struct arena *arena = arena_create(0);
    struct client_job job;
    struct small_cluster cluster;
    struct ps_client client;

    for (int v = 0, at = 0; v < VARIABLES; at += count_of(v++)) {
        values[v] = w + at;
        gradients[v].values = g + at;
    }
    make_job(row, arena, &job);
    start(&cluster, ps_count);
    small_client(&cluster, 0, 1, &client);
    fill(w, -1);
    assert_ok(client_join(&client, false, 1000));
    assert_ok(client_create(&client, &job, values));
    assert_ok(client_pull(&client));
    for (int t = 0; t < UPDATES; t++) {
        fill(g, t);
        assert_ok(client_push(&client, gradients, true));
    }
    for (int v = 0, at = 0; v < VARIABLES; at += count_of(v++))
        memcpy(out + at, client.values[v], (size_t)count_of(v) * sizeof *out);
    client_finish(&client);
    small_stop(&cluster);
    arena_destroy(arena);
}

static void updates_as_keras_with_the_same_bits_for_any_number_of_ps(void **state)
{
    const struct muon_case *row = *state;
    const float *want = golden_values[row - cases];
    float one[FLOATS], other[FLOATS];

    train(row, 1, one);
    for (int i = 0; i < FLOATS; i++)
        if (!(fabsf(one[i] - want[i]) <= 1e-5f)) /* of values up to 1 */
            fail_msg("element %d: %.9g, Keras %.9g", i, (double)one[i], (double)want[i]);
    for (int ps_count = 2; ps_count <= 5; ps_count += 3) {
        train(row, ps_count, other);
        assert_memory_equal(one, other, sizeof one);
    }
}

/* Tiles of products whose sides are no multiples of the tile's, against sums in double. */
static void orthogonalizes_a_matrix_of_odd_sides(void **state)
{
    (void)state;
    enum { ROWS = 37, COLS = 67 };
    const struct shape shape = shape_of(ROWS, COLS);
    const float settings[] = { 0, 0, 12, -1, 1.5f, -.5f, 0, 0 }; /* Newton's steps: they converge */
    static float w[ROWS * COLS], g[ROWS * COLS], m[ROWS * COLS];
    struct optimizer_step step = { .rate = 1,
                                   .settings = settings,
                                   .slots = { m },
                                   .w = w,
                                   .g = g,
                                   .out = w,
                                   .count = ROWS * COLS };

    for (int i = 0; i < ROWS * COLS; i++)
        g[i] = (float)(i % (COLS + 1) == 0) + .02f * (float)((i * 7919) % 13 - 6);
    optimizer_find("muon")->whole(&step, &shape);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++) {
            double dot = 0;
            for (int c = 0; c < COLS; c++)
                dot += (double)w[i * COLS + c] * (double)w[k * COLS + c];
            assert_float_equal(dot, (double)(i == k), 1e-4);
        }
}

static void refuses_settings_without_meaning(void **state)
{
    (void)state;
    static const struct setting_value bad[] = { { "ns_steps", 101 },
                                                { "ns_steps", -1 },
                                                { "adam_lr_ratio", 0 } };
    const struct muon_variable variable = { "b", false };
    struct arena *arena = arena_create(0);

    for (size_t i = 0; i < COUNT(bad); i++) {
        struct client_job job = { .optimizer = "muon", .settings = &bad[i], .settings_count = 1 };
        struct status status = other_optimizers_beside_muon(&variable, 1, arena, &job);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, bad[i].name));
    }
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(orthogonalizes_a_matrix_of_odd_sides),
        cmocka_unit_test(refuses_settings_without_meaning),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, cases, label,
             .test_func = updates_as_keras_with_the_same_bits_for_any_number_of_ps);
    return test_group_run(&group, "muon", NULL, NULL);
}
