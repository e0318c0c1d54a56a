/* Adafactor on several ps tasks: its update takes whole variables, which are cut into pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "adafactor_golden.h"
#include "small_cluster.h"
#include "support/status.h"
#include "support/test_group.h"

#define VARIABLES 3
#define ROWS      7 /* of the first variable */
#define FLOATS    38

static const int counts[VARIABLES] = { 21, 5, 12 };

static const struct adafactor_case {
    const char *label;
    float rate;
    struct setting_value settings[4];
    int settings_count;
} cases[] = {
    { "Keras' settings", .001f, { { NULL, 0 } }, 0 },
    { "other settings",
      .3f,
      { { "beta_2_decay", -.5f },
        { "epsilon_2", .1f },
        { "clip_threshold", .5f },
        { "weight_decay", .1f } },
      4 },
};

/* Pieces of up to 12 bytes: a row of the first variable, a matrix of the last. */
static void start(struct small_cluster *cluster, int ps_count, bool by_rows)
{
    const struct placed_variable variables[VARIABLES] = {
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = shape_of(ROWS, 3),
          .trainable = true,
          .by_rows = by_rows },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(5), .trainable = true },
        { .name = "c", .dtype = DT_FLOAT, .shape = shape_of(2, 2, 3), .trainable = true },
    };

    *cluster = (struct small_cluster){ .ps_count = ps_count };
    placement_create(variables, VARIABLES, ps_count, 12, PLACE_WHOLE_BY_BYTES, &cluster->placement);
    assert_int_equal(cluster->placement.variables[0].pieces_count, ROWS);
    assert_int_equal(cluster->placement.variables[2].pieces_count, 2);
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
        for (int i = 0; i < counts[v]; i++)
            out[at++] = update < 0 ? (float)(i % 5) * .3f - .4f
                                   : (float)((i * 7 + update * 3) % 11) * .1f - .5f;
}

static void train(const struct adafactor_case *row, int ps_count, bool by_rows, float out[FLOATS])
{
    float w[FLOATS], g[FLOATS];
    const void *values[] = { w, w + 21, w + 26 };
    struct variable_gradient gradients[] = { { .values = g },
                                             { .values = g + 21 },
                                             { .values = g + 26 } };
    const struct client_job job = { .optimizer = "adafactor",
                                    .learning_rate = row->rate,
                                    .settings = row->settings,
                                    .settings_count = row->settings_count,
                                    .workers = 1,
                                    .sync = true };
    struct small_cluster cluster;
    struct ps_client client;
    int64_t ids[ROWS];
    const struct row_ids rows = { ids, ROWS };

    for (int64_t r = 0; r < ROWS; r++)
        ids[r] = r;
    start(&cluster, ps_count, by_rows);
    small_client(&cluster, 0, 1, &client);
    fill(w, -1);
    assert_ok(client_join(&client, false, 1000));
    assert_ok(client_create(&client, &job, values));
    assert_ok(client_pull(&client));
    if (by_rows)
        gradients[0].rows = rows;
    for (int t = 0; t < UPDATES; t++) {
        fill(g, t);
        if (by_rows)
            client_select_rows(&client, 0, rows);
        assert_ok(client_push(&client, gradients, true));
    }
    memcpy(out, client.values[0], 21 * sizeof *out);
    memcpy(out + 21, client.values[1], 5 * sizeof *out);
    memcpy(out + 26, client.values[2], 12 * sizeof *out);
    client_finish(&client);
    small_stop(&cluster);
}

static void updates_whole_variables_as_keras_with_the_same_bits_for_any_number_of_ps(void **state)
{
    static const int ps_counts[] = { 1, 2, 5 };
    const struct adafactor_case *row = *state;
    const float *want = golden_values[row - cases];
    float one[FLOATS], other[FLOATS];

    train(row, 1, false, one);
    for (int i = 0; i < FLOATS; i++)
        if (!(fabsf(one[i] - want[i]) <= 1e-5f)) /* of values up to 1 */
            fail_msg("element %d: %g, Keras %g", i, (double)one[i], (double)want[i]);
    for (size_t i = 0; i < COUNT(ps_counts); i++)
        for (int by_rows = 0; by_rows < 2; by_rows++) {
            train(row, ps_counts[i], by_rows, other);
            assert_memory_equal(one, other, sizeof one);
        }
}

/* A row and a column without any gradient: the mean squares where they cross are 0 in float. */
static void an_unused_row_and_column_stay(void **state)
{
    (void)state;
    const struct shape shape = shape_of(3, 3);
    const float settings[] = { -.8f, 1e-30f, 1e-3f, 1, 1, 0 }, g[9] = { 1, -2, 0, .5f, 3 };
    float w[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 }, v[9] = { 0 }, scalar = 0;
    struct optimizer_step step = { .rate = .1f,
                                   .settings = settings,
                                   .scalars = &scalar,
                                   .slots = { v },
                                   .w = w,
                                   .g = g,
                                   .out = w,
                                   .count = 9 };

    for (; scalar < 3; scalar++)
        optimizer_find("adafactor")->whole(&step, &shape);
    for (int i = 0; i < 9; i++)
        assert_true(g[i] == 0 ? w[i] == 1 : w[i] != 1 && isfinite(w[i]));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(an_unused_row_and_column_stay),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, cases, label,
             updates_whole_variables_as_keras_with_the_same_bits_for_any_number_of_ps);
    return test_group_run(&group, "adafactor", NULL, NULL);
}
