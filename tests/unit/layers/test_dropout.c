/* Dropout in training. The dropped elements depend only on the seed and the step that are fed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "runtime/plan.h"

#define ROWS     20
#define FEATURES 100

static const char json[] =
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 100]}},"
    "{\"class_name\": \"Dropout\", \"config\": {\"rate\": 0.25}},"
    "{\"class_name\": \"Dropout\", \"config\": {\"rate\": 0.5}}]}}";

static struct arena *arena;
static struct layers_graph built;
static struct plan *plan;
static struct run *run;

static void must(struct status status)
{
    if (!status_is_ok(status))
        fail_msg("%s", status.message);
}

static int setup(void **state)
{
    const struct layers_options options = { .mode = LAYERS_TRAIN, .batch = (intptr_t)*state };
    struct layers_model *model;

    arena = arena_create(0);
    must(layers_parse(bytes_of(json), arena, &model));
    must(layers_build(model, &options, arena, &built));
    assert_non_null(built.random_seed.node);
    const struct endpoint feeds[] = { built.inputs[0], built.random_seed };
    const struct flatten_request request = {
        .feeds = feeds, .feeds_count = 2, .fetches = &built.heads[0].output, .fetches_count = 1
    };
    must(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
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

/* Runs the model on ones, so that the output is the product of both layers' masks. */
static void draw(int64_t seed, int64_t step, float out[ROWS * FEATURES])
{
    const struct shape shape = shape_of(ROWS, FEATURES), pair = shape_of(2);
    const int64_t seeds[] = { seed, step };
    float ones[ROWS * FEATURES];
    struct tensor got;

    for (int i = 0; i < ROWS * FEATURES; i++)
        ones[i] = 1;
    const struct tensor feeds[] = { tensor_borrow(DT_FLOAT, &shape, ones),
                                    tensor_borrow(DT_INT64, &pair, seeds) };
    must(plan_run(plan, run, feeds, &got));
    memcpy(out, got.data, ROWS * FEATURES * sizeof *out);
    tensor_release(&got);
    run_reset(run);
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

int main(void)
{
    /* With a batch size that is known when the model is built, and with an unknown one. */
    const struct CMUnitTest tests[] = {
        { "drops its share, a known batch", drops_its_share_and_scales_the_rest, setup, teardown,
          (void *)ROWS },
        { "drops its share, any batch", drops_its_share_and_scales_the_rest, setup, teardown,
          (void *)0 },
        { "the seed decides, a known batch", the_seed_decides_and_each_step_differs, setup,
          teardown, (void *)ROWS },
    };
    return cmocka_run_group_tests_name("dropout", tests, NULL, NULL);
}
