/* SampledSoftmax: what it refuses, and what each mode reads of its tables. What it computes is
 * compared with TensorFlow in test_keras.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "support/test_group.h"
#include "support/arena.h"

/* clang-format off */
#define LAYER(name, class, config, from)                                                         \
    "{\"name\": \"" name "\", \"class_name\": \"" class "\", \"config\": {\"name\": \"" name      \
    "\", " config "}, \"inbound_nodes\": [" from "]}"
#define FROM(name) "[[\"" name "\", 0, 0, {}]]"
#define MODEL(config, more, output, compiled)                                                    \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": ["                                 \
    LAYER("x", "InputLayer", "\"batch_shape\": [null, 4]", "") ", "                               \
    LAYER("scores", "SampledSoftmax", config, FROM("x")) more "], \"output_layers\": [[\""        \
    output "\", 0, 0]]}" compiled "}"
#define LOSS(name) ", \"compile_config\": {\"loss\": \"" name "\"}"
#define SCORES(config, compiled) MODEL(config, "", "scores", compiled)
#define UNITS "\"units\": 50, \"num_sampled\": 8"
/* clang-format on */

static struct status build_mode(const char *json, enum layers_mode mode, struct layers_graph *out)
{
    const struct layers_options options = { .mode = mode, .batch = 20 };
    struct layers_model *model;

    *out = (struct layers_graph){ 0 };
    struct status status = layers_parse(bytes_of(json), arena, &model);
    return status_is_ok(status) ? layers_build(model, &options, arena, out) : status;
}

static const struct row {
    const char *label, *json;
    const char *message; /* part of it */
} rows[] = {
    { "more than all classes", SCORES("\"units\": 50, \"num_sampled\": 51", ""),
      "argument 'num_sampled': got 51, expected at most the 50 units" },
    { "too many draws", SCORES("\"units\": 2147483647, \"num_sampled\": 100000000", ""),
      "draws of num_sampled" },
    { "no number of samples", SCORES("\"units\": 50", ""), "argument 'num_sampled' is missing" },
    { "another loss", SCORES(UNITS, LOSS("categorical_hinge")),
      "its loss is categorical_hinge; only sparse_categorical_crossentropy is implemented" },
    { "a layer behind it",
      MODEL(UNITS, ", " LAYER("twice", "Rescaling", "\"scale\": 2.0", FROM("scores")), "twice",
            LOSS("mse")),
      "another layer computes with its output, which it does not have in training" },
};

static void is_refused(void **state)
{
    const struct row *row = *state;
    struct layers_graph built;
    struct status status = build_mode(row->json, LAYERS_TRAIN, &built);

    assert_int_not_equal(status.code, STATUS_OK);
    if (strstr(status.message, row->message) == NULL)
        fail_msg("%s", status.message);
}

/* The classes of the sample, and those of the labels, of the kernel and of the bias. */
static void training_reads_the_rows_of_the_sample_and_of_the_labels(void **state)
{
    (void)state;
    struct layers_graph built;

    assert_string_equal(build_mode(SCORES(UNITS, ""), LAYERS_TRAIN, &built).message, "");
    assert_int_equal(built.variables_count, 2);
    assert_true(built.variables[0].by_rows && built.variables[1].by_rows);
    assert_int_equal(built.lookups_count, 4);
    for (int i = 0; i < built.lookups_count; i++)
        assert_string_equal(shape_text(endpoint_shape(built.lookups[i].ids)),
                            i < 2 ? "[8]" : "[20]");
    assert_non_null(built.random_seed.node);
    graph_finish(built.graph);
}

static void an_evaluation_reads_all_rows_and_draws_nothing(void **state)
{
    (void)state;
    struct layers_graph built;

    assert_string_equal(build_mode(SCORES(UNITS, ""), LAYERS_EVAL, &built).message, "");
    assert_int_equal(built.lookups_count, 2);
    assert_string_equal(shape_text(endpoint_shape(built.lookups[0].ids)), "[50]");
    assert_string_equal(shape_text(endpoint_shape(built.heads[0].output)), "[?,50]");
    assert_null(built.random_seed.node);
    graph_finish(built.graph);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(training_reads_the_rows_of_the_sample_and_of_the_labels),
        cmocka_unit_test(an_evaluation_reads_all_rows_and_draws_nothing),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, is_refused);
    return test_group_run(&group, "sampled softmax", arena_setup, arena_teardown);
}
