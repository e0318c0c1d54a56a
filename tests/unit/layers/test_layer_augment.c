/* Layers that change images at random: Keras' numbers if the range is one number, and the images
 * themselves in an evaluation and an export. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "layers/layers.h"
#include "runtime/plan.h"
#include "augment_golden.h"

#define MODEL                                                     \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 5, 6, 2]}}, %s]}}"

static void must(struct status status)
{
    if (!status_is_ok(status))
        fail_msg("%s", status.message);
}

/* What the layer makes of the images in this mode. */
static void run_layer(const char *layer, enum layers_mode mode, int64_t batch, int64_t step,
                      float out[IMAGES * PIXELS])
{
    const struct layers_options options = { .mode = mode, .batch = batch };
    const struct shape shape = shape_of(IMAGES, 5, 6, 2), pair = shape_of(2);
    const int64_t seed[] = { 1, step };
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct layers_graph built;
    struct plan *plan;
    struct tensor got;

    must(layers_parse(bytes_of(arena_printf(arena, MODEL, layer)), arena, &model));
    must(layers_build(model, &options, arena, &built));
    const struct endpoint feeds[] = { built.inputs[0], built.random_seed };
    const struct flatten_request request = { .feeds = feeds,
                                             .feeds_count = mode == LAYERS_TRAIN ? 2 : 1,
                                             .fetches = &built.heads[0].output,
                                             .fetches_count = 1 };
    must(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    const struct tensor given[] = { tensor_borrow(DT_FLOAT, &shape, images),
                                    tensor_borrow(DT_INT64, &pair, seed) };
    must(plan_run(plan, run, given, &got));
    assert_int_equal(got.size, IMAGES * PIXELS);
    memcpy(out, got.data, IMAGES * PIXELS * sizeof *out);
    tensor_release(&got);
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(built.graph);
    arena_destroy(arena);
}

static void changes_images_as_keras(void **state)
{
    const struct augmentation *row = *state;
    float out[IMAGES * PIXELS];

    for (int64_t batch = 0; batch <= IMAGES; batch += IMAGES) {
        run_layer(row->layer, LAYERS_TRAIN, batch, 1, out);
        for (int i = 0; i < IMAGES * PIXELS; i++)
            if (!(fabsf(out[i] - row->out[i]) <= 1e-2f)) /* of 255 */
                fail_msg("pixel %d is %g, Keras says %g", i, (double)out[i], (double)row->out[i]);
    }
    run_layer(row->layer, LAYERS_EVAL, 0, 1, out);
    assert_memory_equal(out, images, sizeof out);
    run_layer(row->layer, LAYERS_SERVE, 0, 1, out);
    assert_memory_equal(out, images, sizeof out);
}

/* Each image of each step has a number of its own, which the seed decides. */
static void draws_for_each_image(void **state)
{
    (void)state;
    static const char layer[] = "{\"class_name\": \"RandomBrightness\", \"config\": "
                                "{\"factor\": 0.2, \"value_range\": [-4000, 4000]}}";
    float first[IMAGES * PIXELS], again[IMAGES * PIXELS], next[IMAGES * PIXELS];

    run_layer(layer, LAYERS_TRAIN, 0, 1, first);
    run_layer(layer, LAYERS_TRAIN, 0, 1, again);
    run_layer(layer, LAYERS_TRAIN, 0, 2, next);
    assert_memory_equal(first, again, sizeof first);
    assert_true(fabsf((first[0] - images[0]) - (first[PIXELS] - images[PIXELS])) > 1);
    assert_true(fabsf(first[0] - next[0]) > 1);
    assert_true(fabsf((first[0] - images[0]) - (first[1] - images[1])) < 0.01f);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(augmentations) + 1];
    size_t count = 0;

    for (; count < COUNT(augmentations); count++)
        tests[count] =
            (struct CMUnitTest){ .name = augmentations[count].label,
                                 .test_func = changes_images_as_keras,
                                 .initial_state = (void *)(uintptr_t)&augmentations[count] };
    tests[count] = (struct CMUnitTest)cmocka_unit_test(draws_for_each_image);
    return cmocka_run_group_tests_name("layer_augment", tests, NULL, NULL);
}
