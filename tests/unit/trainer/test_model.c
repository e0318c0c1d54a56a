/* The built-in models, trained on a few hundred drawn digits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "layers/layers.h"
#include "trainer/data/memory_rows.h"
#include "trainer/data/digits.h"
#include "trainer/model/model.h"
#include "whole_values.h"

#define ROWS  600
#define BATCH 50

static const struct row_place beginning = { 0 };

static uint8_t pixels[ROWS * DIGITS_PIXELS], labels[ROWS];
static struct memory_split digits;
static const struct batch_order order = {
    .shuffle = true, .repeat = true, .seed = 1, .workers = 1
};

static int draw(void **state)
{
    (void)state;
    digits_draw(1, 0, ROWS, pixels, labels);
    memory_split_init(&digits, &(struct memory_rows){ .rows = ROWS,
                                                      .width = DIGITS_PIXELS,
                                                      .bytes = pixels,
                                                      .classes = labels,
                                                      .target_width = 1,
                                                      .class_count = 10 });
    return 0;
}

static struct model *open_description(struct arena *arena, struct bytes json,
                                      enum layers_reduction reduction)
{
    const struct layers_training_options options = { .reduction = reduction, .batch = BATCH };
    struct training_graph *graph = ARENA_NEW(arena, struct training_graph);
    struct layers_model *description;
    struct model *model;

    struct status status = layers_parse(json, arena, &description);
    assert_string_equal(status.message, "");
    status = layers_training_graph(description, &options, arena, graph);
    assert_string_equal(status.message, "");
    status = model_create(graph, NULL, &model);
    assert_string_equal(status.message, "");
    return model;
}

static struct model *open_model(struct arena *arena, const char *name,
                                enum layers_reduction reduction)
{
    return open_description(arena, layers_builtin(name), reduction);
}

static const void *const *initial_values(const struct model *model, uint64_t seed,
                                         struct arena *arena)
{
    const void *const *values;

    struct status status = model_initial_values(model, seed, arena, &values);
    assert_string_equal(status.message, "");
    return values;
}

static void close_model(struct model *model)
{
    struct training_graph graph = *model->graph;

    model_destroy(model);
    training_graph_finish(&graph);
}

/* Makes steps of plain gradient descent without an optimizer. */
static void descend(const struct model *model, const void *const *values,
                    struct gradient_source *source, int steps, float rate, float *losses)
{
    for (int s = 0; s < steps; s++) {
        const struct variable_gradient *gradients;
        struct status status = source->step(source, values, &gradients, &losses[s]);
        assert_string_equal(status.message, "");
        for (int v = 0; v < model->variables_count; v++) {
            float *w = (float *)(uintptr_t)values[v];
            for (int64_t i = 0; i < shape_size(&model->variables[v].shape); i++)
                w[i] -= rate * gradients[v].values[i];
        }
    }
}

static struct status evaluate(const struct model *model, const void *const *values,
                              const struct data_split *split, struct evaluation *out)
{
    const _Atomic bool stop = false;
    struct whole_values whole;

    whole_values_init(&whole, model, values);
    struct status status = model_evaluate(model, &whole.base, split, NULL, &stop, out);
    whole_values_finish(&whole);
    return status;
}

static void a_model_learns(void **state)
{
    const char *name = *state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, name, LAYERS_MEAN);
    const void *const *values = initial_values(model, 1, arena);
    struct gradient_source *source;
    struct evaluation before, after;
    float losses[40];
    bool convolutions = strcmp(name, "convnet") == 0;

    assert_string_equal(model_source(model, &digits.split, &order, false, 1, NULL, &source).message,
                        "");
    assert_string_equal(evaluate(model, values, &digits.split, &before).message, "");
    descend(model, values, source, convolutions ? 10 : 40, convolutions ? .05f : .2f, losses);
    assert_string_equal(evaluate(model, values, &digits.split, &after).message, "");
    assert_true(after.loss < before.loss);
    assert_int_equal(after.rows, ROWS);
    assert_string_equal(model->graph->metrics[0].name, "accuracy");
    assert_true(after.metrics[0] > before.metrics[0] + .1);
    source->destroy(source);
    close_model(model);
    arena_destroy(arena);
}

static void the_sum_of_losses_has_batch_times_the_gradient_of_their_mean(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *models[2] = { open_model(arena, "softmax", LAYERS_MEAN),
                                open_model(arena, "softmax", LAYERS_SUM) };
    const struct variable_gradient *gradients[2];
    struct gradient_source *sources[2];
    float losses[2];

    for (int i = 0; i < 2; i++) {
        const void *const *values = initial_values(models[i], 1, arena);
        assert_string_equal(
            model_source(models[i], &digits.split, &order, false, 1, NULL, &sources[i]).message,
            "");
        assert_string_equal(sources[i]->step(sources[i], values, &gradients[i], &losses[i]).message,
                            "");
    }
    assert_true(fabsf(losses[0] - losses[1]) < 1e-5f); /* both report the mean loss */
    for (int64_t i = 0; i < shape_size(&models[0]->variables[0].shape); i++)
        assert_true(fabsf(gradients[0][0].values[i] * BATCH - gradients[1][0].values[i]) < 1e-4f);
    for (int i = 0; i < 2; i++) {
        sources[i]->destroy(sources[i]);
        close_model(models[i]);
    }
    arena_destroy(arena);
}

static void first_values_are_the_seeds(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, "mlp", LAYERS_MEAN);
    size_t bytes = (size_t)shape_size(&model->variables[0].shape) * sizeof(float);
    const void *const *a = initial_values(model, 1, arena), *const *b =
                                                                initial_values(model, 1, arena);
    const void *const *c = initial_values(model, 2, arena);

    assert_memory_equal(a[0], b[0], bytes);
    assert_memory_not_equal(a[0], c[0], bytes);
    assert_memory_not_equal(a[0], a[2], 1000); /* the variables do not share random numbers */
    close_model(model);
    arena_destroy(arena);
}

static void a_source_goes_on_where_it_is_told(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, "mlp", LAYERS_MEAN);
    const void *const *values = initial_values(model, 1, arena);
    const struct variable_gradient *gradients;
    struct gradient_source *source;
    float losses[6], loss;

    assert_string_equal(model_source(model, &digits.split, &order, true, 1, NULL, &source).message,
                        "");
    for (int i = 0; i < 6; i++)
        assert_string_equal(source->step(source, values, &gradients, &losses[i]).message, "");
    assert_true(losses[0] != losses[4]);
    assert_string_equal(source->seek(source, 0, 4, &beginning).message, "");
    assert_string_equal(source->step(source, values, &gradients, &loss).message, "");
    assert_true(loss == losses[4]);
    source->destroy(source);
    close_model(model);
    arena_destroy(arena);
}

static float first_loss(const struct model *model, const void *const *values, uint32_t worker,
                        const struct row_place *place)
{
    const struct batch_order own = {
        .shuffle = true, .repeat = true, .worker = worker, .workers = 2
    };
    const struct variable_gradient *gradients;
    struct gradient_source *source;
    float loss;

    assert_string_equal(model_source(model, &digits.split, &own, true, 1, NULL, &source).message,
                        "");
    assert_string_equal(source->seek(source, 3, 3, place).message, "");
    assert_string_equal(source->step(source, values, &gradients, &loss).message, "");
    source->destroy(source);
    return loss;
}

/* If a job has stopped that had another number of workers, a worker goes on with the batches of
 * another worker's part. */
static void a_worker_takes_the_units_from_a_place_on(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, "mlp", LAYERS_MEAN);
    const void *const *values = initial_values(model, 1, arena);
    const struct row_place even = { 2, 0, 6 }, odd = { 2, 0, 5 },
                           later = { 2, 2 * (uint64_t)BATCH, 2 },
                           many = { ROW_READERS_MAX + 1, 0, 0 };
    const struct batch_order own = { .repeat = true, .workers = 1 };
    struct gradient_source *source;

    assert_true(first_loss(model, values, 0, &even) == first_loss(model, values, 1, &odd));
    assert_true(first_loss(model, values, 0, &even) == first_loss(model, values, 0, &later));
    assert_true(first_loss(model, values, 0, &even) != first_loss(model, values, 0, &odd));
    assert_string_equal(model_source(model, &digits.split, &own, true, 1, NULL, &source).message,
                        "");
    assert_int_equal(source->seek(source, 0, 0, &many).code, STATUS_INVALID_ARGUMENT);
    source->destroy(source);
    close_model(model);
    arena_destroy(arena);
}

#define DENSE(kernel_regularizer)                                                             \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["            \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"x\", \"batch_shape\": [null, " \
    "784]}},"                                                                                 \
    "{\"class_name\": \"Dense\", \"config\": {\"name\": \"dense\", \"units\": 10,"            \
    "\"activation\": \"softmax\", \"kernel_regularizer\": " kernel_regularizer "}}]}}"

/* Keras' evaluate gives the mean over the rows plus the penalty, however many batches there are. */
static void an_evaluation_has_the_penalty_once(void **state)
{
    (void)state;
    const char *const texts[] = {
        DENSE("null"),
        DENSE("{\"class_name\": \"L2\", \"config\": {\"l2\": 0.5}}"),
    };
    struct arena *arena = arena_create(0);
    struct evaluation evaluations[2];
    double penalty = 0;

    for (int i = 0; i < 2; i++) {
        struct bytes json = { texts[i], strlen(texts[i]) };
        struct model *model = open_description(arena, json, LAYERS_MEAN);
        const void *const *values = initial_values(model, 1, arena);
        struct status status = evaluate(model, values, &digits.split, &evaluations[i]);
        assert_string_equal(status.message, "");
        const float *kernel = values[0];
        for (int k = 0; k < 784 * 10 && i == 1; k++)
            penalty += .5 * kernel[k] * kernel[k];
        close_model(model);
    }
    assert_true(penalty > 1);
    assert_true(fabs(evaluations[1].loss - evaluations[0].loss - penalty) < 1e-4 * penalty);
    arena_destroy(arena);
}

static void data_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct model *model = open_model(arena, "softmax", LAYERS_MEAN);
    struct memory_rows rows = digits.rows;
    struct memory_split narrow;
    struct gradient_source *source;
    struct evaluation evaluation;

    rows.width = 100;
    memory_split_init(&narrow, &rows);
    struct status status = model_source(model, &narrow.split, &order, false, 1, NULL, &source);
    assert_non_null(strstr(status.message, "784"));
    status = evaluate(model, NULL, &narrow.split, &evaluation);
    assert_non_null(strstr(status.message, "784"));
    close_model(model);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_model_learns, "softmax"),
        cmocka_unit_test_prestate(a_model_learns, "mlp"),
        cmocka_unit_test_prestate(a_model_learns, "convnet"),
        cmocka_unit_test(the_sum_of_losses_has_batch_times_the_gradient_of_their_mean),
        cmocka_unit_test(first_values_are_the_seeds),
        cmocka_unit_test(a_source_goes_on_where_it_is_told),
        cmocka_unit_test(a_worker_takes_the_units_from_a_place_on),
        cmocka_unit_test(an_evaluation_has_the_penalty_once),
        cmocka_unit_test(data_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, draw, NULL);
}
