/* The built-in models, trained on a few hundred drawn digits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/data/digits.h"
#include "trainer/model.h"

#define ROWS  600
#define BATCH 50

static uint8_t pixels[ROWS * DIGITS_PIXELS], labels[ROWS];
static struct dataset digits;

static int draw(void **state)
{
    (void)state;
    digits_draw(1, 0, ROWS, pixels, labels);
    digits = (struct dataset){ .rows = ROWS,
                               .width = DIGITS_PIXELS,
                               .bytes = pixels,
                               .classes = labels,
                               .target_width = 1,
                               .class_count = 10 };
    return 0;
}

static struct model *open_model(struct arena *arena, const char *name,
                                enum layers_reduction reduction)
{
    struct layers_model *description;
    struct model_options options = { .reduction = reduction, .batch_size = BATCH };
    struct model *model;

    struct status status = layers_parse(layers_builtin(name), arena, &description);
    assert_string_equal(status.message, "");
    status = model_create(description, &options, &model);
    assert_string_equal(status.message, "");
    return model;
}

/* Makes steps of plain gradient descent without an optimizer. */
static void descend(const struct model *model, const void *const *values,
                    struct gradient_source *source, int steps, float rate, float *losses)
{
    for (int s = 0; s < steps; s++) {
        const float *const *gradients;
        struct status status = source->step(source, values, &gradients, &losses[s]);
        assert_string_equal(status.message, "");
        for (int v = 0; v < model->variables_count; v++) {
            float *w = (float *)(uintptr_t)values[v];
            for (int64_t i = 0; i < shape_size(&model->variables[v].shape); i++)
                w[i] -= rate * gradients[v][i];
        }
    }
}

static void a_model_learns(void **state)
{
    const char *name = *state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, name, LAYERS_MEAN);
    const void *const *values = model_first_values(model, 1, arena);
    struct gradient_source *source;
    struct evaluation before, after;
    const _Atomic bool stop = false;
    float losses[40];
    bool convolutions = strcmp(name, "convnet") == 0;

    assert_string_equal(model_source(model, &digits, 1, 0, 1, &source).message, "");
    assert_string_equal(model_evaluate(model, values, &digits, &stop, &before).message, "");
    descend(model, values, source, convolutions ? 10 : 40, convolutions ? .05f : .2f, losses);
    assert_string_equal(model_evaluate(model, values, &digits, &stop, &after).message, "");
    assert_true(after.loss < before.loss);
    assert_true(after.accuracy > before.accuracy + .1);
    source->destroy(source);
    model_destroy(model);
    arena_destroy(arena);
}

static void the_sum_of_losses_has_batch_times_the_gradient_of_their_mean(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *models[2] = { open_model(arena, "softmax", LAYERS_MEAN),
                                open_model(arena, "softmax", LAYERS_SUM) };
    const float *const *gradients[2];
    struct gradient_source *sources[2];
    float losses[2];

    for (int i = 0; i < 2; i++) {
        const void *const *values = model_first_values(models[i], 1, arena);
        assert_string_equal(model_source(models[i], &digits, 1, 0, 1, &sources[i]).message, "");
        assert_string_equal(sources[i]->step(sources[i], values, &gradients[i], &losses[i]).message,
                            "");
    }
    assert_true(fabsf(losses[0] - losses[1]) < 1e-5f); /* both report the mean loss */
    for (int64_t i = 0; i < shape_size(&models[0]->variables[0].shape); i++)
        assert_true(fabsf(gradients[0][0][i] * BATCH - gradients[1][0][i]) < 1e-4f);
    for (int i = 0; i < 2; i++) {
        sources[i]->destroy(sources[i]);
        model_destroy(models[i]);
    }
    arena_destroy(arena);
}

static void first_values_are_the_seeds(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, "mlp", LAYERS_MEAN);
    size_t bytes = (size_t)shape_size(&model->variables[0].shape) * sizeof(float);
    const void *const *a = model_first_values(model, 1, arena), *const *b = model_first_values(
                                                                    model, 1, arena);
    const void *const *c = model_first_values(model, 2, arena);

    assert_memory_equal(a[0], b[0], bytes);
    assert_memory_not_equal(a[0], c[0], bytes);
    assert_memory_not_equal(a[0], a[2], 1000); /* the variables do not share random numbers */
    model_destroy(model);
    arena_destroy(arena);
}

static void data_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *description;
    struct dataset narrow = digits, many = digits,
                   points = { .rows = 1, .width = 784, .target_width = 1 };
    float target = 0;

    assert_string_equal(layers_parse(layers_builtin("softmax"), arena, &description).message, "");
    narrow.width = 100;
    many.class_count = 11;
    points.targets = &target;
    assert_string_equal(model_check_data(description, &digits).message, "");
    assert_non_null(strstr(model_check_data(description, &narrow).message, "784"));
    assert_non_null(strstr(model_check_data(description, &many).message, "label 10"));
    assert_non_null(strstr(model_check_data(description, &points).message, "classes"));
    arena_destroy(arena);
}

#define PORT(name) "[\"" name "\", 0, 0]"
#define INPUT(name)                                                                           \
    "{\"name\": \"" name "\", \"class_name\": \"InputLayer\", \"config\": {\"name\": \"" name \
    "\", \"batch_shape\": [null, 784]}, \"inbound_nodes\": []}, "
#define MODEL(inputs, outputs)                                                                    \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [" inputs                          \
    "{\"name\": \"sum\", \"class_name\": \"Add\", \"config\": {\"name\": \"sum\"}, "              \
    "\"inbound_nodes\": [[[\"x\", 0, 0, {}], [\"x\", 0, 0, {}]]]}], \"output_layers\": [" outputs \
    "]}}"

static void ports_that_cannot_be_fed_are_named(void **state)
{
    static const struct {
        const char *json, *message;
    } rows[] = {
        { MODEL(INPUT("x") INPUT("z"), PORT("sum")),
          "the model has 2 inputs ('x', 'z'); pstrain can feed only one, of images in IDX files" },
        { MODEL(INPUT("x"), PORT("sum") ", " PORT("x")),
          "the model has 2 outputs ('sum', 'x'); pstrain can feed only one, of images in IDX "
          "files" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena *arena = arena_create(0);
        struct layers_model *description;
        assert_string_equal(layers_parse(bytes_of(rows[i].json), arena, &description).message, "");
        struct status status = model_check_data(description, &digits);
        assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
        assert_string_equal(status.message, rows[i].message);
        arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_model_learns, "softmax"),
        cmocka_unit_test_prestate(a_model_learns, "mlp"),
        cmocka_unit_test_prestate(a_model_learns, "convnet"),
        cmocka_unit_test(the_sum_of_losses_has_batch_times_the_gradient_of_their_mean),
        cmocka_unit_test(first_values_are_the_seeds),
        cmocka_unit_test(data_that_does_not_fit_is_refused),
        cmocka_unit_test(ports_that_cannot_be_fed_are_named),
    };
    return cmocka_run_group_tests(tests, draw, NULL);
}
