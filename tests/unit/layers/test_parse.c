/* An error names the fault in a description and the valid form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"

#define SEQUENTIAL(layers) \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" layers "]}}"
#define LAYER(name, config) "{\"class_name\": \"" name "\", \"config\": {" config "}}"
#define INPUT(shape)        LAYER("InputLayer", "\"batch_shape\": " shape)
#define DENSE(config)       SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dense", config))
#define IMAGE(layer)        SEQUENTIAL(INPUT("[null, 4, 4, 1]") ", " layer)

#define TWO_LAYERS                                                                                 \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": ["                                  \
    "{\"name\": \"a\", \"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4]}, " \
    "\"inbound_nodes\": []},"                                                                      \
    "{\"name\": \"b\", \"class_name\": \"Flatten\", \"config\": {}, \"inbound_nodes\": "           \
    "[[[\"a\", 0, 0, {}]]]}], \"output_layers\": "

static const struct row {
    const char *label, *json;
    enum status_code code;
    const char *message; /* part of it */
} rows[] = {
    { "not JSON", "{\n\"class_name\": oops}", STATUS_INVALID_ARGUMENT,
      "line 2, column 18: invalid token" },
    { "two equal keys", "{\"a\": 1, \"a\": 2}", STATUS_INVALID_ARGUMENT, "duplicate object key" },
    { "not a model", "[]", STATUS_INVALID_ARGUMENT,
      "class_name is nothing; known: Sequential, Functional, Model" },
    { "another class", "{\"class_name\": \"RNN\"}", STATUS_INVALID_ARGUMENT,
      "class_name is 'RNN'" },
    { "no layers", SEQUENTIAL(""), STATUS_INVALID_ARGUMENT, "config.layers is a list of 0" },
    { "an unknown layer", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Conv9D", "")),
      STATUS_INVALID_ARGUMENT, "unknown layer 'Conv9D'; known: InputLayer, Dense, Conv2D, " },
    { "an unknown argument", DENSE("\"units\": 3, \"unit\": 3"), STATUS_INVALID_ARGUMENT,
      "layer 'unnamed' (Dense): unknown argument 'unit'; known: name, trainable, dtype, units, "
      "activation, " },
    { "an unknown activation", DENSE("\"units\": 3, \"activation\": \"rleu\""),
      STATUS_INVALID_ARGUMENT,
      "argument 'activation': 'rleu' is not an activation; known: linear, relu, " },
    { "an unknown initializer", DENSE("\"units\": 3, \"kernel_initializer\": \"Nought\""),
      STATUS_INVALID_ARGUMENT, "'Nought' is not an initializer; known: Zeros, Ones, " },
    { "an unknown argument of an initializer",
      DENSE("\"units\": 3, \"kernel_initializer\": {\"class_name\": \"Constant\", \"config\": "
            "{\"valeu\": 1}}"),
      STATUS_INVALID_ARGUMENT, "Constant: unknown argument 'valeu'" },
    { "an unknown regularizer", DENSE("\"units\": 3, \"kernel_regularizer\": \"L3\""),
      STATUS_INVALID_ARGUMENT, "'L3' is not a regularizer; known: L1, L2, L1L2, null" },
    { "a missing argument", DENSE("\"name\": \"d\""), STATUS_INVALID_ARGUMENT,
      "layer 'd' (Dense): argument 'units' is missing" },
    { "no units", DENSE("\"units\": 0"), STATUS_INVALID_ARGUMENT,
      "argument 'units': got 0, expected a positive integer" },
    { "units of another kind", DENSE("\"units\": \"many\""), STATUS_INVALID_ARGUMENT,
      "argument 'units': got 'many', expected a positive integer" },
    { "another word",
      IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": 3, \"padding\": \"al\"")),
      STATUS_INVALID_ARGUMENT, "argument 'padding': got 'al', expected one of: valid same" },
    { "a constraint", DENSE("\"units\": 3, \"kernel_constraint\": {\"class_name\": \"MaxNorm\"}"),
      STATUS_UNIMPLEMENTED,
      "argument 'kernel_constraint': got an object 'MaxNorm'; only null is implemented" },
    { "another dtype", DENSE("\"units\": 3, \"dtype\": \"float16\""), STATUS_UNIMPLEMENTED,
      "dtype 'float16'; only 'float32' is implemented" },
    { "the name of a path", DENSE("\"units\": 3, \"name\": \"a b\""), STATUS_INVALID_ARGUMENT,
      "layer name 'a b' may only have letters" },
    { "a name twice",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dense", "\"name\": \"d\", \"units\": 3") ", " LAYER(
          "Dense", "\"name\": \"d\", \"units\": 3")),
      STATUS_INVALID_ARGUMENT, "two layers have the name 'd'" },
    { "no shape", SEQUENTIAL(LAYER("Dense", "\"units\": 3")), STATUS_INVALID_ARGUMENT,
      "the input's shape is not given" },
    { "an unknown dimension", SEQUENTIAL(INPUT("[null, null]")), STATUS_INVALID_ARGUMENT,
      "dimension 1 of the input's shape is null" },
    { "a size beyond all bounds", SEQUENTIAL(INPUT("[null, 65536, 65536]")),
      STATUS_INVALID_ARGUMENT, "less than 2^31" },
    { "a rank that does not fit", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("MaxPooling2D", "")),
      STATUS_INVALID_ARGUMENT,
      "layer 'max_pooling2d' (MaxPooling2D): the input has shape [?,4], expected rank 4" },
    { "a window larger than the image",
      IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": 5")), STATUS_INVALID_ARGUMENT,
      "conv2d" },
    { "a shape of another size",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Reshape", "\"target_shape\": [3]")),
      STATUS_INVALID_ARGUMENT, "target_shape has 3 elements where the input [?,4] has 4" },
    { "two open dimensions",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Reshape", "\"target_shape\": [-1, -1]")),
      STATUS_INVALID_ARGUMENT, "target_shape" },
    { "a rate of 1", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dropout", "\"rate\": 1")),
      STATUS_INVALID_ARGUMENT, "argument 'rate': got 1, expected 0 <= rate < 1" },
    { "a branch",
      "{\"class_name\": \"Functional\", \"config\": {\"layers\": ["
      "{\"name\": \"x\", \"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4]}, "
      "\"inbound_nodes\": []},"
      "{\"name\": \"a\", \"class_name\": \"Flatten\", \"config\": {}, \"inbound_nodes\": "
      "[[[\"x\", 0, 0, {}]]]},"
      "{\"name\": \"b\", \"class_name\": \"Flatten\", \"config\": {}, \"inbound_nodes\": "
      "[[[\"x\", 0, 0, {}]]]}]}}",
      STATUS_UNIMPLEMENTED, "two layers follow 'x'; only chains are implemented" },
    { "two outputs", TWO_LAYERS "[[\"a\", 0, 0], [\"b\", 0, 0]]}}", STATUS_UNIMPLEMENTED,
      "output_layers is a list of 2; only the last layer's output is implemented" },
    { "outputs with names", TWO_LAYERS "{\"y\": [\"b\", 0, 0]}}}", STATUS_UNIMPLEMENTED,
      "output_layers is an object; only" },
    { "an output within the chain", TWO_LAYERS "[\"a\", 0, 0]}}", STATUS_UNIMPLEMENTED,
      "output_layers is 'a'; only the last layer's output is implemented, that of 'b'" },
    { "cross-entropy without softmax",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT("[null, 4]") ", " LAYER(
          "Dense",
          "\"units\": 3") "]}, \"compile_config\": {\"loss\": \"categorical_crossentropy\"}}",
      STATUS_INVALID_ARGUMENT, "cross-entropy needs an output that ends in softmax" },
    { "an unknown loss",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"loss\": \"huber\"}}",
      STATUS_INVALID_ARGUMENT, "loss is 'huber'; known: sparse_categorical_crossentropy, " },
    { "a schedule",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": \"SGD\", "
                       "\"config\": "
                       "{\"learning_rate\": {\"class_name\": \"CosineDecay\"}}}}}",
      STATUS_UNIMPLEMENTED,
      "optimizer 'sgd': 'learning_rate' is an object 'CosineDecay'; only numbers are implemented" },
    { "clipping, which is not done",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": \"SGD\", "
                       "\"config\": "
                       "{\"clipnorm\": 1.0}}}}",
      STATUS_UNIMPLEMENTED, "'clipnorm' is 1, which is not implemented" },
    { "a weight of the loss",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"loss_weights\": [0.5]}}",
      STATUS_UNIMPLEMENTED, "compile_config: loss_weights: 0.5 is not implemented" },
    { "a metric that is not printed",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"metrics\": {\"y\": [[\"accuracy\", \"auc\"]]}}}",
      STATUS_UNIMPLEMENTED,
      "compile_config: metrics: 'auc' is not implemented; known: accuracy, " },
    { "a weighted metric as an object",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"weighted_metrics\": [{\"class_name\": "
                       "\"Precision\", \"config\": {}}]}}",
      STATUS_UNIMPLEMENTED, "weighted_metrics: an object 'Precision' is not implemented" },
    { "an unknown setting of ours",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"training_config\": {\"epoch\": 1}}",
      STATUS_INVALID_ARGUMENT, "training_config: unknown argument 'epoch'; known: batch_size, " },
};

static void is_refused_with_its_name(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct status status = layers_parse(bytes_of(row->json), arena, &model);

    if (strstr(status.message, row->message) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->message);
    assert_int_equal(status.code, row->code);
    arena_destroy(arena);
}

static struct layers_model *parse(struct arena *arena, const char *json)
{
    struct layers_model *model;
    struct status status = layers_parse(bytes_of(json), arena, &model);

    if (!status_is_ok(status))
        fail_msg("%s", status.message);
    return model;
}

static void layers_without_names_get_those_of_keras(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model = parse(
        arena,
        IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": [2, 2]") ", " LAYER(
            "LeakyReLU",
            "") ", " LAYER("MaxPooling2D",
                           "") ", " LAYER("Flatten",
                                          "") ", " LAYER("Dense",
                                                         "\"units\": 2") ", " LAYER("Dense",
                                                                                    "\"units\": "
                                                                                    "2")));
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct layers_graph built;

    assert_true(status_is_ok(layers_build(model, &options, arena, &built)));
    assert_int_equal(built.variables_count, 6);
    assert_string_equal(built.variables[0].name, "conv2d/kernel");
    assert_string_equal(built.variables[2].name, "dense/kernel");
    assert_string_equal(built.variables[4].name, "dense_1/kernel");
    graph_finish(built.graph);
    arena_destroy(arena);
}

/* In Keras up to 2.2, the config is the list of layers itself. */
static void a_config_that_is_a_list_is_a_sequence(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model =
        parse(arena, "{\"class_name\": \"Sequential\", \"config\": [" LAYER(
                         "Dense", "\"units\": 3, \"batch_input_shape\": [null, 4]") "]}");

    assert_string_equal(shape_text(&model->input_shape), "[?,4]");
    assert_string_equal(shape_text(&model->output_shape), "[?,3]");
    arena_destroy(arena);
}

static void an_unknown_argument_that_is_null_is_that_of_a_newer_keras(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);

    parse(arena, DENSE("\"units\": 3, \"thing_of_2030\": null"));
    arena_destroy(arena);
}

static void every_beginning_of_a_description_is_an_error(void **state)
{
    (void)state;
    struct bytes json = layers_builtin("convnet");

    for (size_t size = 0; size + 2 < json.size; size += 7) {
        struct arena *arena = arena_create(0);
        struct layers_model *model;
        assert_int_equal(layers_parse((struct bytes){ json.data, size }, arena, &model).code,
                         STATUS_INVALID_ARGUMENT);
        arena_destroy(arena);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT(rows) + 4];
    size_t count = 0;

    for (size_t i = 0; i < COUNT(rows); i++)
        tests[count++] = (struct CMUnitTest){ .name = rows[i].label,
                                              .test_func = is_refused_with_its_name,
                                              .initial_state = (void *)&rows[i] };
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(layers_without_names_get_those_of_keras);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_config_that_is_a_list_is_a_sequence);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(
        an_unknown_argument_that_is_null_is_that_of_a_newer_keras);
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(every_beginning_of_a_description_is_an_error);
    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
