/* Layers that draw in training. The numbers depend only on the seed and the step that are fed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "layers/layers.h"
#include "runtime/plan.h"
#include "support/status.h"
#include "support/test_group.h"

#define ROWS     20
#define FEATURES 100

#define LAYER(name, config) "{\"class_name\": \"" name "\", \"config\": {" config "}}"
#define MODEL(layers)                                             \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 100]}}," layers "]}}"

/* A model, the batch size with which it is built, and what 2000 ones must become. */
static const struct drawing {
    const char *label, *json;
    int64_t batch;
    double mean, deviation;
} dropout_of_a_known_batch = {
    .json = MODEL(LAYER("Dropout", "\"rate\": 0.25") "," LAYER("Dropout", "\"rate\": 0.5")),
    .batch = ROWS,
}, dropout_of_any_batch = {
    .json = MODEL(LAYER("Dropout", "\"rate\": 0.25") "," LAYER("Dropout", "\"rate\": 0.5")),
}, channels = {
    /* 4 steps of 25 channels, then 2 rows of 2 pixels of 25 channels */
    .json = MODEL(LAYER("Reshape", "\"target_shape\": [4, 25]") "," LAYER(
        "SpatialDropout1D", "\"rate\": 0.5") "," LAYER("Reshape",
                                                       "\"target_shape\": [2, 2, 25]") "," LAYER(
        "SpatialDropout2D", "\"rate\": 0.25") "," LAYER("Flatten", "")),
}, shared = {
    .json = MODEL(LAYER("Reshape", "\"target_shape\": [4, 25]") "," LAYER(
        "Dropout", "\"rate\": 0.5, \"noise_shape\": [null, 1, 25]") "," LAYER(
        "Dropout", "\"rate\": 0.25, \"noise_shape\": [null, 1, 1]") "," LAYER("Flatten", "")),
}, rows_of_applications = {
    .json = MODEL(LAYER("Reshape", "\"target_shape\": [4, 25]") "," LAYER(
        "StochasticDepth", "\"drop_path_rate\": 0.25") "," LAYER("Flatten", "")),
}, rows_of_cv = {
    .json = MODEL(LAYER("DropPath", "\"rate\": 0.25, \"seed\": 7")),
    .batch = ROWS,
}, flips = {
    .json = MODEL(LAYER("Reshape", "\"target_shape\": [4, 25, 1]") "," LAYER(
        "RandomFlip", "\"seed\": 3") "," LAYER("Flatten", "")),
}, distributions[] = {
    { "GaussianNoise", MODEL(LAYER("GaussianNoise", "\"stddev\": 0.25")), 0, 1, 0.25 },
    { "GaussianDropout", MODEL(LAYER("GaussianDropout", "\"rate\": 0.2")), ROWS, 1, 0.5 },
    /* Three quarters of the ones become 1.2484, the rest -1.1435. */
    { "AlphaDropout", MODEL(LAYER("AlphaDropout", "\"rate\": 0.25")), ROWS, 0.650443,
      1.035759 },
};

static struct arena *arena;
static struct layers_graph built;
static struct plan *plan;
static struct run *run;

static int setup(void **state)
{
    const struct drawing *drawing = *state;
    const struct layers_options options = { .mode = LAYERS_TRAIN, .batch = drawing->batch };
    struct layers_model *model;

    arena = arena_create(0);
    assert_ok(layers_parse(bytes_of(drawing->json), arena, &model));
    assert_ok(layers_build(model, &options, arena, &built));
    assert_non_null(built.random_seed.node);
    const struct endpoint feeds[] = { built.inputs[0], built.random_seed };
    const struct flatten_request request = {
        .feeds = feeds, .feeds_count = 2, .fetches = &built.heads[0].output, .fetches_count = 1
    };
    assert_ok(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
    run = run_create(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(built.graph);
    arena_destroy(arena);
    return 0;
}

static void run_on(float *x, int64_t seed, int64_t step, float out[ROWS * FEATURES])
{
    const struct shape shape = shape_of(ROWS, FEATURES), pair = shape_of(2);
    const int64_t seeds[] = { seed, step };
    struct tensor got;
    const struct tensor feeds[] = { tensor_borrow(DT_FLOAT, &shape, x),
                                    tensor_borrow(DT_INT64, &pair, seeds) };
    assert_ok(plan_run(plan, run, feeds, &got));
    memcpy(out, got.data, ROWS * FEATURES * sizeof *out);
    tensor_release(&got);
    run_reset(run);
}

/* Runs the model on ones, so that the output is the product of both layers' masks. */
static void draw(int64_t seed, int64_t step, float out[ROWS * FEATURES])
{
    float ones[ROWS * FEATURES];

    for (int i = 0; i < ROWS * FEATURES; i++)
        ones[i] = 1;
    run_on(ones, seed, step, out);
}

static void drops_its_share_and_scales_the_rest(void **state)
{
    (void)state;
    float out[ROWS * FEATURES];
    int kept = 0;

    draw(1, 1, out);
    for (int i = 0; i < ROWS * FEATURES; i++) {
        kept += out[i] != 0;
        if (out[i] != 0)
            assert_float_equal(out[i], 2.6666667f, 1e-6f); /* 1 / (.75 · .5) */
    }
    /* Of 2000 elements, .75 · .5 are kept. Layers that drew the same numbers would keep .5. */
    assert_in_range(kept, 650, 850);
}

static void the_seed_decides_and_each_step_differs(void **state)
{
    (void)state;
    float a[ROWS * FEATURES], b[ROWS * FEATURES];

    draw(7, 1, a);
    draw(7, 1, b);
    assert_memory_equal(a, b, sizeof a);
    draw(7, 2, b);
    assert_memory_not_equal(a, b, sizeof a);
    draw(8, 1, b);
    assert_memory_not_equal(a, b, sizeof a);
}

static void drops_whole_channels(void **state)
{
    (void)state;
    float out[ROWS * FEATURES];
    int kept = 0;

    draw(3, 1, out);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < FEATURES; k++) {
            float value = out[i * FEATURES + k];
            assert_float_equal(value, out[i * FEATURES + k % 25], 0);
            kept += value != 0;
        }
    /* Of 500 channels, .75 · .5 are kept. */
    assert_in_range(kept / 4, 140, 235);
}

/* The four steps of a channel share a number, and then all elements of a row. */
static void drops_what_shares_a_number(void **state)
{
    (void)state;
    float out[ROWS * FEATURES];
    int rows = 0, kept = 0;

    draw(3, 1, out);
    for (int i = 0; i < ROWS; i++) {
        int before = kept;
        for (int k = 0; k < FEATURES; k++) {
            assert_float_equal(out[i * FEATURES + k], out[i * FEATURES + k % 25], 0);
            kept += out[i * FEATURES + k] != 0;
        }
        rows += kept != before;
    }
    assert_in_range(rows, 11, 19); /* three quarters of 20, and half of their channels */
    assert_in_range(kept, rows * FEATURES * 2 / 5, rows * FEATURES * 3 / 5);
}

/* All elements of a row share a number, and a row that is kept is scaled. */
static void drops_whole_rows(void **state)
{
    (void)state;
    float out[ROWS * FEATURES];
    int rows = 0;

    draw(3, 1, out);
    for (int i = 0; i < ROWS; i++) {
        float first = out[i * FEATURES];
        for (int k = 0; k < FEATURES; k++)
            assert_float_equal(out[i * FEATURES + k], first, 0);
        assert_float_equal(first, first == 0 ? 0 : 1.3333334f, 1e-6f);
        rows += first != 0;
    }
    assert_in_range(rows, 11, 19); /* three quarters of 20 */
}

/* The whole batch has the second branch, or it has not. Otherwise it counts by the probability. */
static void a_depth_of_keras_cv_adds_all_or_nothing(void **state)
{
    (void)state;
    static const char json[] =
        "{\"class_name\": \"Functional\", \"config\": {\"name\": \"depth\", \"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 100]}, "
        "\"name\": \"x\", \"inbound_nodes\": []}, {\"module\": \"keras_cv.layers\", "
        "\"registered_name\": \"keras_cv>StochasticDepth\", \"class_name\": "
        "\"StochasticDepth\", \"config\": {\"rate\": 0.25}, \"name\": \"depth\", "
        "\"inbound_nodes\": [[[\"x\", 0, 0, {}], [\"x\", 0, 0, {}]]]}], "
        "\"input_layers\": [[\"x\", 0, 0]], \"output_layers\": [[\"depth\", 0, 0]]}}";
    struct drawing drawing = { .json = json };
    void *drawn = &drawing;
    float out[ROWS * FEATURES];
    int added = 0;

    setup(&drawn);
    for (int step = 1; step <= 40; step++) {
        draw(3, step, out);
        for (int i = 0; i < ROWS * FEATURES; i++)
            assert_float_equal(out[i], out[0], 0);
        assert_true(out[0] == 1 || out[0] == 2);
        added += out[0] == 2;
    }
    assert_in_range(added, 22, 38); /* three quarters of 40 */
    teardown(&drawn);

    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct layers_model *model;
    arena = arena_create(0);
    assert_ok(layers_parse(bytes_of(json), arena, &model));
    assert_ok(layers_build(model, &options, arena, &built));
    const struct flatten_request request = { .feeds = built.inputs,
                                             .feeds_count = 1,
                                             .fetches = &built.heads[0].output,
                                             .fetches_count = 1 };
    assert_ok(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
    run = run_create(0);
    const struct shape shape = shape_of(1, FEATURES);
    float ones[FEATURES];
    struct tensor got;
    for (int i = 0; i < FEATURES; i++)
        ones[i] = 1;
    const struct tensor feed = tensor_borrow(DT_FLOAT, &shape, ones);
    assert_ok(plan_run(plan, run, &feed, &got));
    assert_float_equal(tensor_floats(&got)[0], 1.75f, 1e-6f);
    tensor_release(&got);
    teardown(&drawn);
}

/* Images of 4 × 25 pixels: each as it was, or flipped along its width and its height. */
static void flips_half_of_the_images(void **state)
{
    (void)state;
    float x[ROWS * FEATURES], out[ROWS * FEATURES];
    int flipped = 0;

    for (int i = 0; i < ROWS * FEATURES; i++)
        x[i] = (float)i;
    run_on(x, 5, 1, out);
    for (int i = 0; i < ROWS; i++) {
        const float *from = x + i * FEATURES, *to = out + i * FEATURES;
        bool is_flipped = to[0] != from[0];
        for (int k = 0; k < FEATURES; k++)
            assert_float_equal(to[k], from[is_flipped ? FEATURES - 1 - k : k], 0);
        flipped += is_flipped;
    }
    assert_in_range(flipped, 5, 15);
}

static void dropout_adds_nothing_to_a_graph_that_serves(void **state)
{
    (void)state;
    static const char json[] =
        MODEL(LAYER("Dropout", "\"rate\": 0.5, \"noise_shape\": [null, 1]") "," LAYER(
            "AlphaDropout", "\"rate\": 0.5"));
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct layers_model *model;

    arena = arena_create(0);
    assert_ok(layers_parse(bytes_of(json), arena, &model));
    assert_ok(layers_build(model, &options, arena, &built));
    assert_int_equal(built.graph->count, 1); /* the input */
    graph_finish(built.graph);
    arena_destroy(arena);
}

static void draws_from_its_distribution(void **state)
{
    const struct drawing *drawing = *state;
    float out[ROWS * FEATURES];
    double sum = 0, squares = 0;

    draw(5, 1, out);
    for (int i = 0; i < ROWS * FEATURES; i++)
        sum += (double)out[i];
    double mean = sum / (ROWS * FEATURES);
    for (int i = 0; i < ROWS * FEATURES; i++)
        squares += ((double)out[i] - mean) * ((double)out[i] - mean);
    double deviation = sqrt(squares / (ROWS * FEATURES));
    /* The mean of 2000 draws is off by deviation / 45 on average; 5 times that never happens. */
    assert_float_equal(mean, drawing->mean, (float)(5 * drawing->deviation / 45));
    assert_float_equal(deviation, drawing->deviation, (float)(5 * drawing->deviation / 45));
}

int main(void)
{
    /* With a batch size that is known when the model is built, and with an unknown one. */
    static const struct CMUnitTest plain[] = {
        { "drops its share, a known batch", drops_its_share_and_scales_the_rest, setup, teardown,
          (void *)&dropout_of_a_known_batch },
        { "drops its share, any batch", drops_its_share_and_scales_the_rest, setup, teardown,
          (void *)&dropout_of_any_batch },
        { "the seed decides, a known batch", the_seed_decides_and_each_step_differs, setup,
          teardown, (void *)&dropout_of_a_known_batch },
        { "drops whole channels", drops_whole_channels, setup, teardown, (void *)&channels },
        { "drops what shares a number", drops_what_shares_a_number, setup, teardown,
          (void *)&shared },
        { "drops whole rows, a class of keras.applications", drops_whole_rows, setup, teardown,
          (void *)&rows_of_applications },
        { "drops whole rows, a class of KerasCV", drops_whole_rows, setup, teardown,
          (void *)&rows_of_cv },
        cmocka_unit_test(a_depth_of_keras_cv_adds_all_or_nothing),
        { "flips half of the images", flips_half_of_the_images, setup, teardown, (void *)&flips },
        cmocka_unit_test(dropout_adds_nothing_to_a_graph_that_serves),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS_WITH(&group, distributions, label, draws_from_its_distribution, setup, teardown);
    return test_group_run(&group, "noise", NULL, NULL);
}
