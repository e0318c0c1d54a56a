/* Metrics of two batches have the values that Keras gives them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph/training_graph.h"
#include "layers/layers.h"
#include "runtime/plan.h"
#include "support/test_group.h"

#define BATCHES 20
#define ROWS    3 /* of a batch */

struct golden {
    const char *metric, *loss; /* JSON; a name */
    const float *outputs, *labels;
    int width;
    int element, elements; /* of a list of results: which of how many */
    double value;
};

/* clang-format off */
#include "metric_golden.h"
#include "support/status.h"
/* clang-format on */

/* A model whose last layer does nothing to positive numbers. */
static struct status make(struct arena *arena, const char *metrics, const char *loss, int width,
                          struct training_graph *out)
{
    const struct layers_training_options options = { 0 };
    struct layers_model *model;
    const char *text = arena_printf(
        arena,
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"Dense\", "
        "\"config\": {\"units\": %d, \"activation\": \"softplus\", \"batch_input_shape\": [null, "
        "%d]}}, {\"class_name\": \"ReLU\", \"config\": {}}]}, "
        "\"compile_config\": {\"loss\": \"%s\", \"metrics\": %s}}",
        width, width, loss, metrics);

    TRY(layers_parse(bytes_of(text), arena, &model));
    return layers_training_graph(model, &options, arena, out);
}

/* Runs the evaluation on one batch; the last activation's input is fed with the outputs. */
static void add_batch(const struct training_graph *graph, const struct golden *golden, int first,
                      double *totals)
{
    const struct training_pass *pass = &graph->evaluation;
    struct endpoint output = { 0 };
    int32_t classes[ROWS];

    for (int i = 0; i < pass->graph->count; i++)
        if (output.node == NULL && strcmp(pass->graph->nodes[i]->op_name, "Softplus") == 0)
            output.node = pass->graph->nodes[i];
    for (int i = 0; i < ROWS; i++)
        classes[i] = (int32_t)golden->labels[first + i];
    bool is_class = graph->feeds[1].spec.dtype == DT_INT32;
    const struct shape matrix = shape_of(ROWS, golden->width), rows = shape_of(ROWS);
    const struct endpoint feeds[] = { output, pass->feeds[1].values };
    const struct tensor given[] = {
        tensor_borrow(DT_FLOAT, &matrix, golden->outputs + first * golden->width),
        is_class ? tensor_borrow(DT_INT32, &rows, classes)
                 : tensor_borrow(DT_FLOAT, &matrix, golden->labels + first * golden->width),
    };
    const struct flatten_request request = { .feeds = feeds,
                                             .feeds_count = 2,
                                             .fetches = &pass->metrics[golden->element],
                                             .fetches_count = 1 };
    struct tensor got;
    struct plan *plan;

    assert_ok(plan_create(pass->graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    assert_ok(plan_run(plan, run, given, &got));
    assert_int_equal(got.size, graph->metrics[golden->element].totals_count);
    for (int64_t i = 0; i < got.size; i++)
        totals[i] += (double)tensor_floats(&got)[i];
    tensor_release(&got);
    run_destroy(run);
    plan_destroy(plan);
}

static void is_as_in_keras(void **state)
{
    const struct golden *golden = *state;
    struct arena *arena = arena_create(0);
    struct training_graph graph;

    assert_ok(make(arena, golden->metric, golden->loss, golden->width, &graph));
    assert_int_equal(graph.metrics_count, golden->elements);
    const struct training_metric *metric = &graph.metrics[golden->element];
    double *totals = ARENA_ARRAY(arena, double, metric->totals_count);
    for (int i = 0; i < BATCHES; i++)
        add_batch(&graph, golden, i * ROWS, totals);
    double value = metric->result(metric, totals);
    if (!(fabs(value - golden->value) <= 1e-5 * fabs(golden->value)))
        fail_msg("%s is %.9g, Keras says %.9g", metric->name, value, golden->value);
    training_graph_finish(&graph);
    arena_destroy(arena);
}

static void the_description_names_its_metrics(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct training_graph graph;

    assert_ok(make(arena,
                   "[\"accuracy\", {\"class_name\": \"AUC\", \"config\": {\"name\": \"roc\"}}, "
                   "[\"mse\"], {\"module\": \"builtins\", \"class_name\": \"function\", "
                   "\"config\": \"mean_absolute_error\", \"registered_name\": \"function\"}]",
                   "binary_crossentropy", 1, &graph));
    assert_int_equal(graph.metrics_count, 4);
    assert_string_equal(graph.metrics[0].name, "accuracy");
    assert_string_equal(graph.metrics[1].name, "roc");
    assert_string_equal(graph.metrics[2].name, "mse");
    assert_string_equal(graph.metrics[3].name, "mean_absolute_error");
    training_graph_finish(&graph);
    arena_destroy(arena);
}

static void a_list_is_a_metric_for_each_number(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct training_graph graph;

    assert_ok(make(arena,
                   "[\"F1Score\", {\"class_name\": \"Precision\", \"config\": {\"name\": "
                   "\"p\", \"thresholds\": [0.3, 0.6]}}]",
                   "categorical_crossentropy", 3, &graph));
    const char *const names[] = { "F1Score/0", "F1Score/1", "F1Score/2", "p/0", "p/1" };
    assert_int_equal(graph.metrics_count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++)
        assert_string_equal(graph.metrics[i].name, names[i]);
    training_graph_finish(&graph);
    assert_fails_naming(make(arena, "[\"F1Score\"]", "categorical_crossentropy", 1001, &graph),
                        STATUS_UNIMPLEMENTED, "gives a list of 1001 numbers");
    arena_destroy(arena);
}

static void a_metric_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const char *const curves[][2] = {
        { "{\"class_name\": \"AUC\", \"config\": {\"multi_label\": true, \"num_labels\": 3}}",
          "argument 'num_labels': got 3 of 4 outputs" },
        { "{\"class_name\": \"AUC\", \"config\": {\"num_labels\": 4}}",
          "argument 'num_labels' needs multi_label" },
        { "{\"class_name\": \"AUC\", \"config\": {\"multi_label\": true, \"label_weights\": [1]}}",
          "argument 'label_weights' wants a list of 4 numbers from 0 on" },
        { "{\"class_name\": \"AUC\", \"config\": {\"multi_label\": true, \"label_weights\": "
          "[1, 2, -3, 4]}}",
          "argument 'label_weights' wants a list of 4 numbers from 0 on" },
        { "{\"class_name\": \"AUC\", \"config\": {\"label_weights\": [1, 2, 3]}}",
          "argument 'label_weights' wants a list of 4 numbers from 0 on" },
        { "{\"class_name\": \"TruePositives\", \"config\": {\"thresholds\": []}}",
          "argument 'thresholds': expected a number from 0 to 1, or a list of up to 1000 of them" },
    };
    static const char *const rows[][2] = {
        { "\"AUC\"", "metric 'AUC' does not fit: with this loss, the labels are class numbers" },
        { "\"Fame\"", "'Fame' is not implemented; known: accuracy, " },
        { "{\"class_name\": \"TopKCategoricalAccuracy\", \"config\": {\"q\": 1}}",
          "unknown argument 'q'" },
        { "{\"class_name\": \"Precision\", \"config\": {\"top_k\": 5}}",
          "argument 'top_k': got 5, expected 1 to 4" },
        { "{\"class_name\": \"Recall\", \"config\": {\"class_id\": -1}}",
          "argument 'class_id': got -1, expected 0 to 3" },
        { "{\"class_name\": \"Recall\", \"config\": {\"thresholds\": [0.5, 1.5]}}",
          "argument 'thresholds': expected a number from 0 to 1, or a list of up to 1000 of them" },
        { "{\"class_name\": \"Recall\", \"config\": {\"thresholds\": [0.5, \"a\"]}}",
          "argument 'thresholds': expected a number from 0 to 1, or a list of up to 1000 of them" },
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct arena *arena = arena_create(0);
        struct training_graph graph;
        struct status status =
            make(arena, rows[i][0], "sparse_categorical_crossentropy", 4, &graph);
        if (strstr(status.message, rows[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", status.message, rows[i][1]);
        arena_destroy(arena);
    }
    for (size_t i = 0; i < COUNT(curves); i++) {
        struct arena *arena = arena_create(0);
        struct training_graph graph;
        struct status status = make(arena, curves[i][0], "binary_crossentropy", 4, &graph);
        if (strstr(status.message, curves[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", status.message, curves[i][1]);
        arena_destroy(arena);
    }
}

/* Their number of totals was negative, and the evaluation after the training died of it. */
static void a_metric_of_each_output_needs_their_number(void **state)
{
    (void)state;
    static const char *const metrics[] = {
        "{\"class_name\": \"AUC\", \"config\": {\"multi_label\": true}}",
        "{\"class_name\": \"F1Score\", \"config\": {\"average\": \"macro\"}}",
        "\"R2Score\"",
    };

    for (size_t i = 0; i < COUNT(metrics); i++) {
        struct arena *arena = arena_create(0);
        struct layers_model *model;
        const char *text = arena_printf(
            arena,
            "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
            "\"Activation\", \"config\": {\"activation\": \"sigmoid\", \"batch_input_shape\": "
            "[null, null]}}]}, \"compile_config\": {\"loss\": \"binary_crossentropy\", "
            "\"metrics\": [%s]}}",
            metrics[i]);
        struct status status = layers_parse(bytes_of(text), arena, &model);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, "totals for each output") == NULL)
            fail_msg("'%s' does not say it", status.message);
        arena_destroy(arena);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(the_description_names_its_metrics),
        cmocka_unit_test(a_list_is_a_metric_for_each_number),
        cmocka_unit_test(a_metric_that_does_not_fit_is_refused),
        cmocka_unit_test(a_metric_of_each_output_needs_their_number),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, goldens, metric, is_as_in_keras);
    return test_group_run(&group, "metric", NULL, NULL);
}
