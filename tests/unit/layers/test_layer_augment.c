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
#include "support/status.h"
#include "support/test_group.h"

#define MODEL                                                     \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" \
    "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, %s, %d]}}, %s]}}"

/* Do the models leave height and width open? */
static bool is_open;

/* What the layer makes of these images in this mode; they may be smaller. */
static void run_on(const char *layer, const struct shape *shape, const float *pixels,
                   enum layers_mode mode, int64_t batch, int64_t step, float *out)
{
    const struct layers_options options = { .mode = mode, .batch = batch };
    const struct shape pair = shape_of(2);
    const int64_t size = shape_size(shape), *dims = shape->dims;
    const int64_t seed[] = { 1, step };
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct layers_graph built;
    struct plan *plan;
    struct tensor got;

    const char *sides = arena_printf(arena, "%d, %d", (int)dims[1], (int)dims[2]);
    const char *text =
        arena_printf(arena, MODEL, is_open ? "null, null" : sides, (int)dims[3], layer);
    assert_ok(layers_parse(bytes_of(text), arena, &model));
    assert_ok(layers_build(model, &options, arena, &built));
    const struct endpoint feeds[] = { built.inputs[0], built.random_seed };
    const struct flatten_request request = { .feeds = feeds,
                                             .feeds_count = built.random_seed.node != NULL ? 2 : 1,
                                             .fetches = &built.heads[0].output,
                                             .fetches_count = 1 };
    assert_ok(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    const struct tensor given[] = { tensor_borrow(DT_FLOAT, shape, pixels),
                                    tensor_borrow(DT_INT64, &pair, seed) };
    assert_ok(plan_run(plan, run, given, &got));
    assert_in_range(got.size, 1, size);
    memset(out, 0, (size_t)size * sizeof *out);
    memcpy(out, got.data, (size_t)got.size * sizeof *out);
    tensor_release(&got);
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(built.graph);
    arena_destroy(arena);
}

static void run_layer(const char *layer, enum layers_mode mode, int64_t batch, int64_t step,
                      float out[IMAGES * PIXELS])
{
    const struct shape shape = shape_of(IMAGES, 5, 6, 3);

    run_on(layer, &shape, images, mode, batch, step, out);
}

/* The noise of larger images is smoothed. */
static void moves_pixels_by_smoothed_noise(void **state)
{
    (void)state;
    static float given[IMAGES * LARGE_SIDE * LARGE_SIDE], out[COUNT(given)];
    const struct shape shape = shape_of(IMAGES, LARGE_SIDE, LARGE_SIDE, 1);

    for (int y = 0; y < LARGE_SIDE; y++)
        for (int x = 0; x < LARGE_SIDE; x++) {
            int pixel = (y * 37 + x * 91) % 256, at = y * LARGE_SIDE + x;
            given[at] = (float)pixel;
            given[LARGE_SIDE * LARGE_SIDE + at] = (float)(255 - pixel);
        }
    run_on(LARGE_LAYER, &shape, given, LAYERS_TRAIN, 0, 1, out);
    for (size_t i = 0; i < COUNT(large_out); i++)
        if (!(fabsf(out[i * LARGE_STEP] - large_out[i]) <= 1e-2f))
            fail_msg("pixel %d is %g, Keras says %g", (int)i * LARGE_STEP,
                     (double)out[i * LARGE_STEP], (double)large_out[i]);
}

static void check_augmentation(const struct augmentation *row)
{
    float out[IMAGES * PIXELS];

    for (int64_t batch = 0; batch <= IMAGES; batch += IMAGES) {
        run_layer(row->layer, LAYERS_TRAIN, batch, 1, out);
        for (int i = 0; i < IMAGES * PIXELS; i++)
            if (!(fabsf(out[i] - row->out[i]) <= 1e-2f)) /* of 255 */
                fail_msg("pixel %d is %g, Keras says %g", i, (double)out[i], (double)row->out[i]);
    }
    bool always =
        strstr(row->layer, "AutoContrast") != NULL || strstr(row->layer, "Limited") != NULL;
    const float *passed = always ? row->out : images;
    for (int mode = LAYERS_EVAL; mode <= LAYERS_SERVE; mode++) {
        run_layer(row->layer, (enum layers_mode)mode, 0, 1, out);
        for (int i = 0; i < IMAGES * PIXELS; i++)
            assert_true(fabsf(out[i] - passed[i]) <= (always ? 1e-2f : 0));
    }
}

static void changes_images_as_keras(void **state)
{
    check_augmentation(*state);
}

static void changes_images_of_open_sizes(void **state)
{
    const struct augmentation *row = *state;

    is_open = strstr(row->layer, "Limited") == NULL && strstr(row->layer, "Elastic") == NULL;
    check_augmentation(row);
    is_open = false;
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

/* A share of nearly 0 or 1: each image, or its partner. */
static void mixes_by_a_small_alpha(void **state)
{
    (void)state;
    static const char layer[] = "{\"class_name\": \"MixUp\", \"config\": {\"alpha\": 0.0001}}";
    float out[IMAGES * PIXELS];
    int kept = 0, swapped = 0;

    for (int64_t step = 1; step <= 40; step++) {
        run_layer(layer, LAYERS_TRAIN, 0, step, out);
        for (int image = 0; image < IMAGES; image++) {
            const float *got = out + (ptrdiff_t)image * PIXELS;
            bool own = fabsf(got[0] - images[image * PIXELS]) < 1e-2f;
            assert_true(own || fabsf(got[0] - images[(1 - image) * PIXELS]) < 1e-2f);
            kept += own;
            swapped += !own;
        }
    }
    assert_true(kept > swapped && swapped > 5); /* a partner is the image itself half of the time */
}

/* An erased rectangle of each image, at another place in each step. */
static void erases_a_part(void **state)
{
    (void)state;
    static const char layer[] = "{\"class_name\": \"RandomErasing\", \"config\": "
                                "{\"factor\": [1, 1], \"scale\": [0.2, 0.2]}}";
    float out[IMAGES * PIXELS], next[IMAGES * PIXELS];

    run_layer(layer, LAYERS_TRAIN, 0, 1, out);
    run_layer(layer, LAYERS_TRAIN, 0, 2, next);
    assert_memory_not_equal(out, next, sizeof out);
    for (int image = 0; image < IMAGES; image++) {
        int top = 5, left = 6, bottom = -1, right = -1, erased = 0;
        for (int i = 0; i < PIXELS; i += 3) {
            const float *got = out + image * PIXELS + i, *was = images + image * PIXELS + i;
            int y = i / 18, x = i / 3 % 6;
            if (memcmp(got, was, 3 * sizeof *got) == 0)
                continue;
            erased++;
            top = y < top ? y : top, bottom = y > bottom ? y : bottom;
            left = x < left ? x : left, right = x > right ? x : right;
            for (int c = 0; c < 3; c++)
                assert_true(got[c] >= 0 && got[c] <= 255);
        }
        /* √0.2 of 5 and 6 pixels, which are 2.2 and 2.7 */
        assert_int_equal(erased, (bottom - top + 1) * (right - left + 1));
        assert_in_range(bottom - top + 1, 2, 3);
        assert_in_range(right - left + 1, 2, 3);
    }
}

/* Is `part`, 3 by 4 pixels of each image, at this place? */
static bool is_part(const float *part, int top, int left)
{
    for (int image = 0; image < IMAGES; image++)
        for (int y = 0; y < 3; y++)
            if (memcmp(part + image * 36 + y * 12,
                       images + image * PIXELS + (top + y) * 18 + left * 3, 12 * sizeof *part) != 0)
                return false;
    return true;
}

/* One place for all images of a step. An evaluation takes the middle in the same proportions. */
static void crops_somewhere(void **state)
{
    is_open = *state != NULL;
    static const char crop[] = "{\"class_name\": \"RandomCrop\", \"config\": "
                               "{\"height\": 3, \"width\": 4, \"seed\": 5}}",
                      resize[] = "{\"class_name\": \"Resizing\", \"config\": {\"height\": 3, "
                                 "\"width\": 4, \"crop_to_aspect_ratio\": true}}";
    float out[IMAGES * PIXELS], want[IMAGES * PIXELS];
    bool seen[9] = { false };
    int places = 0;

    for (int step = 0; step < 200; step++) {
        int found = -1;
        run_layer(crop, LAYERS_TRAIN, 0, step, out);
        for (int place = 0; place < 9; place++)
            found = is_part(out, place / 3, place % 3) ? place : found;
        assert_in_range(found, 0, 8);
        places += !seen[found];
        seen[found] = true;
    }
    assert_int_equal(places, 9);
    run_layer(resize, LAYERS_TRAIN, 0, 1, want);
    run_layer(crop, LAYERS_EVAL, 0, 1, out);
    assert_memory_equal(out, want, sizeof out);
    run_layer(crop, LAYERS_SERVE, 0, 1, out);
    assert_memory_equal(out, want, sizeof out);
    is_open = false;
}

static void refuses_wrong_arguments(void **state)
{
    (void)state;
#define CLAHE "ContrastLimitedAdaptiveHistogramEqualization"
    static const struct {
        const char *layer, *text;
        enum status_code code;
    } rows[] = {
        { "{\"class_name\": \"" CLAHE "\", \"config\": {\"tile_grid_size\": [12, 2]}}",
          "argument 'tile_grid_size': 12 tiles need 7 pixels, and the input's shape [?,5,6,3] has "
          "5",
          STATUS_INVALID_ARGUMENT },
        { "{\"class_name\": \"" CLAHE "\", \"config\": {\"value_range\": [3, 3]}}",
          "argument 'value_range': it is empty", STATUS_INVALID_ARGUMENT },
        { "{\"class_name\": \"RandAugment\", \"config\": {\"factor\": [0.5, 1.5]}}",
          "argument 'factor': expected numbers from 0 to 1", STATUS_INVALID_ARGUMENT },
        { "{\"class_name\": \"RandAugment\", \"config\": {\"num_ops\": 33}}",
          "argument 'num_ops': only up to 32 are implemented", STATUS_UNIMPLEMENTED },
        { "{\"class_name\": \"RandomElasticTransform\", \"config\": {\"scale\": [0.5, 1.5]}}",
          "argument 'scale': expected numbers from 0 to 1", STATUS_INVALID_ARGUMENT },
        { "{\"class_name\": \"AugMix\", \"config\": {\"alpha\": 0}}",
          "argument 'alpha' is 0, expected a number above 0", STATUS_INVALID_ARGUMENT },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena *arena = arena_create(0);
        struct layers_model *model;
        struct status status = layers_parse(
            bytes_of(arena_printf(arena, MODEL, "5, 6", 3, rows[i].layer)), arena, &model);

        assert_int_equal(status.code, rows[i].code);
        assert_non_null(strstr(status.message, rows[i].text));
        arena_destroy(arena);
    }
}

/* Their graphs hold a number for each place along a side. */
static void refuses_sides_too_long_for_the_graph(void **state)
{
    (void)state;
    static const char *const classes[] = { "CutMix", "RandomElasticTransform", "RandomErasing" };
    const struct layers_options options = { .mode = LAYERS_TRAIN };

    for (size_t i = 0; i < 2 * COUNT(classes); i++) {
        struct arena *arena = arena_create(0);
        struct layers_model *model;
        struct layers_graph built;
        const char *layer = arena_printf(arena, "{\"class_name\": \"%s\", \"config\": %s}",
                                         classes[i / 2], "{\"factor\": 0.5}");
        const char *sides = i % 2 == 0 ? "2147483647, 1" : "1, 2147483647";

        assert_ok(
            layers_parse(bytes_of(arena_printf(arena, MODEL, sides, 1, layer)), arena, &model));
        struct status status = layers_build(model, &options, arena, &built);
        assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
        assert_non_null(strstr(status.message, "images of more than 1048576 pixels a side"));
        arena_destroy(arena);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(mixes_by_a_small_alpha),
        cmocka_unit_test(erases_a_part),
        cmocka_unit_test(crops_somewhere),
        { .name = "open sides", .test_func = crops_somewhere, .initial_state = &is_open },
        cmocka_unit_test(refuses_wrong_arguments),
        cmocka_unit_test(refuses_sides_too_long_for_the_graph),
        cmocka_unit_test(draws_for_each_image),
        cmocka_unit_test(moves_pixels_by_smoothed_noise),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, augmentations, label, changes_images_as_keras);
    ADD_ROWS(&group, augmentations, label, changes_images_of_open_sizes);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "layer_augment", NULL, NULL);
}
