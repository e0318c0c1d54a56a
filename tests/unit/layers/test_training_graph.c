#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "layers/layers.h"
#include "support/arena.h"

static struct training_graph graph_of(const char *name,
                                      const struct layers_training_options *options)
{
    struct layers_model *model;
    struct training_graph graph;

    struct status status = layers_parse(layers_builtin(name), arena, &model);
    assert_string_equal(status.message, "");
    status = layers_training_graph(model, options, arena, &graph);
    assert_string_equal(status.message, "");
    return graph;
}

static void a_classifier_is_fed_numbers_and_classes(void **state)
{
    (void)state;
    const struct layers_training_options options = { .reduction = LAYERS_SUM, .batch = 20 };
    struct training_graph graph = graph_of("softmax", &options);

    assert_string_equal(graph.name, "softmax");
    assert_int_equal(graph.feeds_count, 2);
    assert_string_equal(graph.feeds[0].spec.name, "x");
    assert_string_equal(tensor_spec_text(&graph.feeds[0].spec), "float [?,784]");
    assert_int_equal(graph.feeds[0].role, FEED_INPUT);
    assert_string_equal(graph.feeds[1].spec.name, "labels");
    assert_string_equal(tensor_spec_text(&graph.feeds[1].spec), "int32 [?]");
    assert_int_equal(graph.feeds[1].role, FEED_LABEL);
    assert_int_equal(graph.feeds[1].classes, 10);
    assert_string_equal(graph.loss_name, "loss");
    assert_int_equal(graph.metrics_count, 1);
    assert_string_equal(graph.metrics[0].name, "accuracy");
    assert_int_equal(graph.step.batch, 20);
    assert_true(graph.step.loss_is_sum);
    assert_int_equal(graph.evaluation.batch, 0);
    assert_non_null(graph.evaluation.metrics[0].node);
    training_graph_finish(&graph);
}

static void a_regression_is_fed_targets(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct training_graph graph = graph_of("linear", &options);

    assert_string_equal(tensor_spec_text(&graph.feeds[1].spec), "float [?,1]");
    assert_int_equal(graph.feeds[1].classes, 0);
    assert_string_equal(graph.loss_name, "mean squared error");
    assert_int_equal(graph.metrics_count, 0);
    assert_false(graph.step.loss_is_sum);
    training_graph_finish(&graph);
}

/* As if only the training rows had weights. */
static void weights_are_fed_where_they_are_asked_for(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20, .weighted = true };
    struct training_graph graph = graph_of("softmax", &options);

    assert_int_equal(graph.feeds_count, 3);
    assert_string_equal(graph.feeds[2].spec.name, "sample_weight");
    assert_string_equal(tensor_spec_text(&graph.feeds[2].spec), "float [?]");
    assert_int_equal(graph.feeds[2].role, FEED_WEIGHT);
    assert_non_null(graph.step.feeds[2].values.node);
    assert_null(graph.evaluation.feeds[2].values.node);
    training_graph_finish(&graph);
}

static void variables_have_updates_and_first_values(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct training_graph graph = graph_of("mlp", &options);
    const struct training_variable *kernel = &graph.variables[0];
    size_t size = (size_t)shape_size(&kernel->shape);
    float *first = arena_array(arena, sizeof *first, size),
          *again = arena_array(arena, sizeof *again, size);

    assert_non_null(strstr(kernel->name, "kernel"));
    for (int v = 0; v < graph.variables_count; v++) {
        assert_int_equal(graph.variables[v].update, UPDATE_GRADIENT);
        assert_non_null(graph.step.updates[v].node);
    }
    assert_true(status_is_ok(kernel->fill(kernel, 1, first)));
    assert_true(status_is_ok(kernel->fill(kernel, 1, again)));
    assert_memory_equal(first, again, size * sizeof *first);
    assert_true(status_is_ok(kernel->fill(kernel, 2, again)));
    assert_memory_not_equal(first, again, size * sizeof *first);
    training_graph_finish(&graph);
}

/* Tasks of a job compare the hash; each may have been given another batch size. */
static void the_hash_is_of_what_is_computed(void **state)
{
    (void)state;
    const struct layers_training_options small = { .batch = 20 },
                                         summed = { .reduction = LAYERS_SUM, .batch = 50 };
    struct training_graph a = graph_of("mlp", &small), b = graph_of("mlp", &summed),
                          c = graph_of("softmax", &small);

    assert_true(a.hash == b.hash);
    assert_true(a.hash != c.hash);
    training_graph_finish(&a);
    training_graph_finish(&b);
    training_graph_finish(&c);
}

static void the_recipe_makes_the_export_again_and_again(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct training_graph graph = graph_of("softmax", &options);

    for (int i = 0; i < 2; i++) {
        struct serving_graph serving;
        struct status status = graph.recipe->build(graph.recipe, arena, &serving);
        assert_string_equal(status.message, "");
        assert_int_equal(serving.signatures_count, 2);
        assert_int_equal(serving.variables_count, graph.variables_count);
        assert_string_equal(serving.variables[0].name, graph.variables[0].name);
        assert_int_equal(serving.variables[0].update, UPDATE_GRADIENT);
        assert_non_null(serving.init_op);
        graph_finish(serving.graph);
    }
    training_graph_finish(&graph);
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

static struct status branching_graph(const char *json, struct training_graph *out)
{
    const struct layers_training_options options = { .batch = 20 };
    struct layers_model *model;

    assert_string_equal(layers_parse(bytes_of(json), arena, &model).message, "");
    return layers_training_graph(model, &options, arena, out);
}

static void several_inputs_are_fed_by_their_names(void **state)
{
    (void)state;
    struct training_graph graph;

    struct status status = branching_graph(MODEL(INPUT("x") INPUT("z"), PORT("sum")), &graph);
    assert_string_equal(status.message, "");
    assert_int_equal(graph.feeds_count, 3);
    assert_string_equal(graph.feeds[0].spec.name, "x");
    assert_string_equal(graph.feeds[1].spec.name, "z");
    assert_string_equal(graph.feeds[2].spec.name, "labels");
    assert_int_equal(graph.feeds[1].role, FEED_INPUT);
    assert_int_equal(graph.feeds[2].role, FEED_LABEL);
    training_graph_finish(&graph);
}

static void several_outputs_without_a_loss_are_refused(void **state)
{
    (void)state;
    struct training_graph graph;

    struct status status = branching_graph(MODEL(INPUT("x"), PORT("sum") ", " PORT("x")), &graph);
    assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
    assert_non_null(strstr(status.message, "2 outputs and no loss"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_classifier_is_fed_numbers_and_classes),
        cmocka_unit_test(a_regression_is_fed_targets),
        cmocka_unit_test(weights_are_fed_where_they_are_asked_for),
        cmocka_unit_test(variables_have_updates_and_first_values),
        cmocka_unit_test(the_hash_is_of_what_is_computed),
        cmocka_unit_test(the_recipe_makes_the_export_again_and_again),
        cmocka_unit_test(several_inputs_are_fed_by_their_names),
        cmocka_unit_test(several_outputs_without_a_loss_are_refused),
    };
    return cmocka_run_group_tests(tests, arena_setup, arena_teardown);
}
