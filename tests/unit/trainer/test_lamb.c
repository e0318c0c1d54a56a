/* LAMB on several ps tasks: its update needs norms over whole variables, which are cut into
 * pieces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "small_cluster.h"
#include "support/status.h"

#define ROWS    7
#define COLS    3
#define COUNT_W (ROWS * COLS)
#define UPDATES 4

static const struct setting_value settings[] = { { "weight_decay", .1f } };

/* Starts a cluster whose variable "w" is cut into seven pieces, and "b" into one. */
static void start(struct small_cluster *cluster, int ps_count, bool by_rows)
{
    const struct placed_variable variables[] = {
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = shape_of(ROWS, COLS),
          .trainable = true,
          .by_rows = by_rows },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };

    *cluster = (struct small_cluster){ .ps_count = ps_count };
    placement_create(variables, 2, ps_count, 12, PLACE_WHOLE_BY_BYTES, &cluster->placement);
    assert_int_equal(cluster->placement.variables[0].pieces_count, ROWS);
    for (int i = 0; i < ps_count; i++) {
        struct ps_options options = {
            .cluster = "test", .index = (uint32_t)i, .incarnation = 100, .ps_list = "a:1,b:1"
        };
        cluster->ps[i] = ps_create(&options);
        cluster->channels[i] = loopback_open(&ps_service, cluster->ps[i], clock_monotonic());
    }
}

static void fill_first(float *w)
{
    for (int i = 0; i < COUNT_W; i++)
        w[i] = (float)(i % 5) * .3f - .4f;
}

static float gradient_at(int update, int i)
{
    return (float)((i * 7 + update * 3) % 11) * .1f - .5f;
}

static void all_rows(struct row_ids *rows, int64_t *ids)
{
    for (int64_t r = 0; r < ROWS; r++)
        ids[r] = r;
    *rows = (struct row_ids){ ids, ROWS };
}

static void train(int ps_count, bool by_rows, float *out)
{
    const float b[2] = { 0, 0 };
    float w[COUNT_W], g[COUNT_W];
    const void *values[] = { w, b };
    struct variable_gradient gradients[] = { { .values = g }, { .values = b } };
    const struct client_job job = { .optimizer = "lamb",
                                    .learning_rate = .1f,
                                    .settings = settings,
                                    .settings_count = 1,
                                    .workers = 1,
                                    .sync = true };
    struct small_cluster cluster;
    struct ps_client client;
    int64_t ids[ROWS];
    struct row_ids rows;

    start(&cluster, ps_count, by_rows);
    small_client(&cluster, 0, 1, &client);
    fill_first(w);
    all_rows(&rows, ids);
    assert_ok(client_join(&client, false, 1000));
    assert_ok(client_create(&client, &job, values));
    assert_ok(client_pull(&client));
    if (by_rows)
        gradients[0].rows = rows;
    for (int t = 0; t < UPDATES; t++) {
        for (int i = 0; i < COUNT_W; i++)
            g[i] = gradient_at(t, i);
        if (by_rows)
            client_select_rows(&client, 0, rows);
        assert_ok(client_push(&client, gradients, true));
    }
    memcpy(out, client.values[0], COUNT_W * sizeof *out);
    assert_true(((const float *)client.values[1])[0] == 0); /* norms of 0: a ratio of 1 */
    client_finish(&client);
    small_stop(&cluster);
}

/* The formulas of Keras' Lamb, in double. */
static void compute(double *w)
{
    double m[COUNT_W] = { 0 }, v[COUNT_W] = { 0 }, u[COUNT_W];
    float first[COUNT_W];

    fill_first(first);
    for (int i = 0; i < COUNT_W; i++)
        w[i] = (double)first[i];
    for (int t = 0; t < UPDATES; t++) {
        double of_w = 0, of_u = 0;
        for (int i = 0; i < COUNT_W; i++) {
            double g = (double)gradient_at(t, i);
            w[i] -= .1 * .1 * w[i];
            m[i] += (g - m[i]) * .1;
            v[i] += (g * g - v[i]) * .001;
            u[i] = m[i] / (1 - pow(.9, t + 1)) / (sqrt(v[i] / (1 - pow(.999, t + 1))) + 1e-6);
            of_w += w[i] * w[i];
            of_u += u[i] * u[i];
        }
        for (int i = 0; i < COUNT_W; i++)
            w[i] -= .1 * sqrt(of_w / of_u) * u[i];
    }
}

static void has_the_norms_of_whole_variables_and_the_same_bits_for_any_number_of_ps(void **state)
{
    static const int counts[] = { 1, 2, 5 };
    float one[COUNT_W], other[COUNT_W];
    double want[COUNT_W];
    (void)state;

    compute(want);
    train(1, false, one);
    for (int i = 0; i < COUNT_W; i++)
        if (fabs((double)one[i] - want[i]) > 1e-5) /* four updates in float */
            fail_msg("element %d: %g, by the formulas %g", i, (double)one[i], want[i]);
    for (size_t i = 0; i < COUNT(counts); i++)
        for (int by_rows = 0; by_rows < 2; by_rows++) {
            train(counts[i], by_rows, other);
            assert_memory_equal(one, other, sizeof one);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_norms_of_whole_variables_and_the_same_bits_for_any_number_of_ps),
    };

    return cmocka_run_group_tests_name("lamb", tests, NULL, NULL);
}
