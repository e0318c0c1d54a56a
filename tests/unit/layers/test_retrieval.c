/* The loss of two towers: what it refuses, what a job is fed, and the signatures of the export.
 * What it computes is compared with TensorFlow in test_keras.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "support/test_group.h"
#include "support/arena.h"

/* clang-format off */
#define INPUT(name, dtype, width)                                                                \
    "{\"name\": \"" name "\", \"class_name\": \"InputLayer\", \"config\": {\"name\": \"" name      \
    "\", \"dtype\": \"" dtype "\", \"batch_shape\": [null, " width "]}, \"inbound_nodes\": []}, "
#define DENSE(name, from, units)                                                                 \
    "{\"name\": \"" name "\", \"class_name\": \"Dense\", \"config\": {\"name\": \"" name           \
    "\", \"units\": " units "}, \"inbound_nodes\": [[[\"" from "\", 0, 0, {}]]]}"
#define PORT(name) "[\"" name "\", 0, 0]"
/* Queries [batch, 3], candidates [batch, 3], and an output [batch, 5]. */
#define LAYERS                                                                                   \
    INPUT("user", "float32", "4") INPUT("item", "int64", "1") INPUT("pair", "int64", "2")        \
    DENSE("query", "user", "3") ", " DENSE("candidate", "item", "3") ", "                        \
    DENSE("rating", "pair", "5")
#define COMPILED(losses, more)                                                                   \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [" LAYERS "], \"input_layers\": ["      \
    PORT("user") ", " PORT("item") ", " PORT("pair") "], \"output_layers\": [" PORT("query") ", "  \
    PORT("candidate") ", " PORT("rating") "]}, \"compile_config\": {\"loss\": {" losses "}" more "}}"
#define RETRIEVAL(config) "\"query\": {\"class_name\": \"Retrieval\", \"config\": {" config "}}"
#define OPTION(config)    COMPILED(RETRIEVAL("\"candidates\": \"candidate\"" config), "")
/* clang-format on */

static const struct row {
    const char *label, *json;
    const char *message; /* part of it */
} rows[] = {
    { "no candidates", COMPILED(RETRIEVAL(""), ""), "argument 'candidates' is missing" },
    { "unknown candidates", COMPILED(RETRIEVAL("\"candidates\": \"item\""), ""),
      "output 'query': loss 'Retrieval': argument 'candidates': expected the name of another "
      "output" },
    { "its own candidates", COMPILED(RETRIEVAL("\"candidates\": \"query\""), ""),
      "the name of another output" },
    { "candidates that are no name", COMPILED(RETRIEVAL("\"candidates\": 1"), ""),
      "the name of another output" },
    { "vectors of two lengths", COMPILED(RETRIEVAL("\"candidates\": \"rating\""), ""),
      "the queries have shape [?,3] and the candidates 'rating' [?,5]" },
    { "temperature 0", OPTION(", \"temperature\": 0"),
      "argument 'temperature': got 0, expected a number above 0" },
    { "no negatives", OPTION(", \"num_hard_negatives\": 0"),
      "argument 'num_hard_negatives': got 0, expected a positive integer" },
    { "hits without ids", OPTION(", \"remove_accidental_hits\": true"),
      "remove_accidental_hits needs candidate_ids" },
    { "ids without hits", OPTION(", \"candidate_ids\": \"item\""),
      "candidate_ids is used with remove_accidental_hits and the metric FactorizedTopK only" },
    { "ids of no input",
      OPTION(", \"remove_accidental_hits\": true, \"candidate_ids\": \"candidate\""),
      "argument 'candidate_ids': expected the name of an input" },
    { "two ids in a row", OPTION(", \"remove_accidental_hits\": true, \"candidate_ids\": \"pair\""),
      "the input 'pair' has shape [?,2], expected one id per row" },
    { "a column that is no name", OPTION(", \"candidate_sampling_probability\": 0.5"),
      "argument 'candidate_sampling_probability': expected the name of a column" },
    { "an unknown option", OPTION(", \"negatives\": 3"), "unknown argument 'negatives'" },
    { "a metric that wants labels",
      COMPILED(RETRIEVAL("\"candidates\": \"candidate\""),
               ", \"metrics\": {\"query\": [\"precision\"]}"),
      "metric 'precision' does not fit: a loss without labels has categorical_accuracy" },
    { "ranks below 0 candidates",
      COMPILED(RETRIEVAL("\"candidates\": \"candidate\""),
               ", \"metrics\": {\"query\": [{\"class_name\": \"FactorizedTopK\", \"config\": "
               "{\"ks\": [5, 0]}}]}"),
      "argument 'ks': got 0, expected 1 to 4096" },
    { "no ranks",
      COMPILED(RETRIEVAL("\"candidates\": \"candidate\""),
               ", \"metrics\": {\"query\": [{\"class_name\": \"FactorizedTopK\", \"config\": "
               "{\"ks\": []}}]}"),
      "argument 'ks' is empty" },
    { "ranks of an output with labels",
      COMPILED("\"rating\": \"mse\"", ", \"metrics\": {\"rating\": [\"FactorizedTopK\"]}"),
      "metric 'factorized_top_k/top_1_categorical_accuracy' does not fit: with this loss, the "
      "labels" },
    { "ranks of two outputs",
      COMPILED(RETRIEVAL("\"candidates\": \"candidate\"") ", \"candidate\": {\"class_name\": "
                                                          "\"Retrieval\", \"config\": "
                                                          "{\"candidates\": \"query\"}}",
               ", \"metrics\": {\"query\": [\"FactorizedTopK\"], \"candidate\": "
               "[\"FactorizedTopK\"]}"),
      "the outputs 'query' and 'candidate' both have a FactorizedTopK" },
};

static void is_refused(void **state)
{
    const struct row *row = *state;
    struct layers_model *model;
    struct status status = layers_parse(bytes_of(row->json), arena, &model);

    assert_int_not_equal(status.code, STATUS_OK);
    if (strstr(status.message, row->message) == NULL)
        fail_msg("%s", status.message);
}

static struct layers_model *parse(const char *json)
{
    struct layers_model *model;

    assert_string_equal(layers_parse(bytes_of(json), arena, &model).message, "");
    return model;
}

static void a_job_is_fed_the_inputs_and_the_column_and_no_labels(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct layers_model *model = parse(OPTION(", \"candidate_sampling_probability\": \"share\""));
    struct training_graph graph;

    assert_int_equal(model->training.reduction, LAYERS_SUM);
    assert_string_equal(layers_training_graph(model, &options, arena, &graph).message, "");
    assert_int_equal(graph.feeds_count, 4);
    assert_string_equal(graph.feeds[3].spec.name, "share");
    assert_string_equal(tensor_spec_text(&graph.feeds[3].spec), "float [?]");
    assert_int_equal(graph.feeds[3].role, FEED_COLUMN);
    assert_non_null(graph.evaluation.feeds[3].values.node);
    training_graph_finish(&graph);
}

static void a_column_has_a_name_of_its_own(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct layers_model *model = parse(OPTION(", \"candidate_sampling_probability\": \"item\""));
    struct training_graph graph;

    struct status status = layers_training_graph(model, &options, arena, &graph);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "have the name 'item'"));
}

/* Retrieval sums, and Keras' losses are means. */
static void losses_keep_their_reductions(void **state)
{
    (void)state;
    struct layers_model *model =
        parse(COMPILED(RETRIEVAL("\"candidates\": \"candidate\"") ", \"rating\": \"mse\"", ""));

    assert_int_equal(model->training.reduction, LAYERS_EACH);
    assert_int_equal(model->targets[0].reduction, LAYERS_SUM);
    assert_int_equal(model->targets[2].reduction, LAYERS_MEAN);
    model = parse(
        COMPILED(RETRIEVAL("\"candidates\": \"candidate\"") ", \"rating\": {\"class_name\": "
                                                            "\"MeanSquaredError\", \"config\": "
                                                            "{\"reduction\": \"sum\"}}",
                 ""));
    parse(COMPILED(
        RETRIEVAL("\"candidates\": \"candidate\", \"reduction\": \"mean\"") ", \"rating\": \"mse\"",
        ""));
}

static void each_tower_has_a_signature_of_its_inputs(void **state)
{
    (void)state;
    struct layers_serving serving;

    assert_string_equal(layers_build_serving(parse(OPTION("")), NULL, arena, &serving).message, "");
    assert_int_equal(serving.signatures_count, 3);
    assert_string_equal(serving.signatures[0].name, "serving_default");
    assert_int_equal(serving.signatures[0].inputs_count, 3);
    assert_string_equal(serving.signatures[1].name, "query");
    assert_int_equal(serving.signatures[1].inputs_count, 1);
    assert_string_equal(serving.signatures[1].inputs[0].key, "user");
    assert_string_equal(serving.signatures[2].name, "candidate");
    assert_int_equal(serving.signatures[2].inputs_count, 1);
    assert_string_equal(serving.signatures[2].inputs[0].key, "item");
    assert_int_equal(serving.signatures[2].outputs_count, 1);
    assert_string_equal(serving.signatures[2].outputs[0].key, "candidate");
    graph_finish(serving.graph);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_job_is_fed_the_inputs_and_the_column_and_no_labels),
        cmocka_unit_test(a_column_has_a_name_of_its_own),
        cmocka_unit_test(losses_keep_their_reductions),
        cmocka_unit_test(each_tower_has_a_signature_of_its_inputs),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, is_refused);
    return test_group_run(&group, "retrieval", arena_setup, arena_teardown);
}
