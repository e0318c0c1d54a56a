#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "support/status.h"
#include "support/test_group.h"
#include "support/arena.h"

static struct layers_model *model_of(const char *name)
{
    struct layers_model *model;
    struct bytes json = layers_builtin(name);

    assert_non_null(json.data);
    assert_ok(layers_parse(json, arena, &model));
    return model;
}

static struct layers_graph build_mode(const struct layers_model *model, enum layers_mode mode,
                                      int64_t batch)
{
    const struct layers_options options = { .mode = mode, .batch = batch };
    struct layers_graph out;

    assert_ok(layers_build(model, &options, arena, &out));
    return out;
}

/* Marks the node and all nodes that it depends on. */
static void mark(const struct node *node, bool *seen)
{
    if (seen[node->id])
        return;
    seen[node->id] = true;
    for (int i = 0; i < node->inputs_count; i++)
        mark(node->inputs[i].node, seen);
}

static int count_ops(const struct layers_graph *built, const char *op)
{
    bool *seen = ARENA_ARRAY(arena, bool, built->graph->count);
    int count = 0;

    mark(built->loss.node, seen);
    for (int i = 0; i < built->variables_count; i++)
        if (built->variables[i].gradient.node != NULL)
            mark(built->variables[i].gradient.node, seen);
    for (int i = 0; i < built->graph->count; i++) {
        const struct node *node = built->graph->nodes[i];
        bool fed = strcmp(node->op_name, "ReadVariableOp") == 0 ||
                   strcmp(node->op_name, "VarHandleOp") == 0 ||
                   strcmp(node->op_name, "Placeholder") == 0 || strcmp(node->op_name, "Const") == 0;
        if (seen[i] && (op != NULL ? strcmp(node->op_name, op) == 0 : !fed))
            count++;
    }
    return count;
}

static const struct model_row {
    const char *name, *input, *output;
    int variables;
    int nodes; /* run in a training step; 0: not checked */
} models[] = {
    { "softmax", "[?,784]", "[?,10]", 2, 2 + 3 + 2 },
    /* Forward: 3 products, 3 biases, 2 activations. Then the loss, its reduction and its gradient.
     * Backward: 5 products, 3 biases, 2 activations. */
    { "mlp", "[?,784]", "[?,10]", 6, 8 + 3 + 10 },
    { "convnet", "[?,784]", "[?,10]", 8, 0 },
    { "linear", "[?,1]", "[?,1]", 2, 0 },
    { "logistic", "[?,123]", "[?,1]", 2, 0 },
};

static void is_compiled_in_and_builds_in_every_mode(void **state)
{
    const struct model_row *row = *state;
    struct layers_model *model = model_of(row->name);

    assert_string_equal(shape_text(&model->inputs[0].shape), row->input);
    assert_string_equal(shape_text(&model->outputs[0].shape), row->output);
    struct layers_graph modes[] = { build_mode(model, LAYERS_TRAIN, 0),
                                    build_mode(model, LAYERS_EVAL, 0),
                                    build_mode(model, LAYERS_SERVE, 0) };
    for (size_t m = 0; m < COUNT(modes); m++) {
        assert_int_equal(modes[m].variables_count, row->variables);
        for (int i = 0; i < row->variables; i++)
            assert_string_equal(modes[m].variables[i].name, modes[0].variables[i].name);
    }
    for (int i = 0; i < row->variables; i++) {
        const struct layers_variable *variable = &modes[0].variables[i];
        assert_non_null(variable->gradient.node);
        assert_string_equal(shape_text(endpoint_shape(variable->gradient)),
                            shape_text(&variable->shape));
    }
    for (size_t m = 0; m < COUNT(modes); m++)
        graph_finish(modes[m].graph);
}

static void a_model_of_any_width_takes_another(void **state)
{
    (void)state;
    struct layers_model *model = model_of("mlp");

    assert_ok(layers_set_widths(model, (const int64_t[]){ 3 }));
    struct layers_graph built = build_mode(model, LAYERS_TRAIN, 0);
    assert_string_equal(shape_text(endpoint_shape(built.inputs[0])), "[?,3]");
    assert_int_equal(built.variables[0].shape.dims[0], 3);
    graph_finish(built.graph);
    assert_int_equal(layers_set_widths(model, (const int64_t[]){ (int64_t)1 << 31 }).code,
                     STATUS_INVALID_ARGUMENT);
    assert_false(model_of("convnet")->training.any_width);

    model = model_of("deepfm");
    assert_ok(layers_set_widths(model, (const int64_t[]){ 3, 2 }));
    built = build_mode(model, LAYERS_TRAIN, 0);
    assert_string_equal(shape_text(endpoint_shape(built.inputs[0])), "[?,3]");
    assert_string_equal(shape_text(endpoint_shape(built.inputs[1])), "[?,2]");
    graph_finish(built.graph);

    model = model_of("sparse_logistic");
    assert_ok(layers_set_widths(model, (const int64_t[]){ 5 }));
    built = build_mode(model, LAYERS_TRAIN, 0);
    assert_int_equal(built.variables[0].shape.dims[0], 5);
    graph_finish(built.graph);
}

static void a_compile_config_replaces_members_of_the_descriptions(void **state)
{
    (void)state;
    static const char config[] = "{\"loss\": \"mse\", \"metrics\": [\"AUC\", \"mae\"]}";
    struct layers_model *model, *own = model_of("logistic");

    assert_ok(
        layers_parse_compiled(layers_builtin("logistic"), bytes_of(config), false, arena, &model));
    assert_string_equal(own->targets[0].loss_name, "binary_crossentropy");
    assert_string_equal(model->targets[0].loss_name, "mean_squared_error");
    assert_int_equal(own->metrics_count, 1);
    assert_int_equal(model->metrics_count, 2);
    assert_string_equal(model->training.optimizer, "adam");
    assert_true(model->training.learning_rate == own->training.learning_rate);
    assert_int_equal(model->training.epochs, own->training.epochs);
    struct status status =
        layers_parse_compiled(layers_builtin("logistic"), bytes_of("[]"), false, arena, &model);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "compile_config: expected an object, not a list of 0");
}

static void trains_with_few_nodes(void **state)
{
    const struct model_row *row = *state;
    struct layers_graph built = build_mode(model_of(row->name), LAYERS_TRAIN, 100);
    int count = count_ops(&built, NULL);

    if (row->nodes > 0 && count > row->nodes) {
        for (int i = 0; i < built.graph->count; i++)
            print_message("%s %s\n", built.graph->nodes[i]->op_name, built.graph->nodes[i]->name);
        fail_msg("%d nodes, expected at most %d", count, row->nodes);
    }
    assert_int_equal(count_ops(&built, "BroadcastGradientArgs"), 0);
    graph_finish(built.graph);
}

static void a_serving_graph_has_the_signatures_of_a_classifier(void **state)
{
    (void)state;
    struct layers_serving serving;

    assert_ok(layers_build_serving(model_of("softmax"), NULL, arena, &serving));
    assert_int_equal(serving.signatures_count, 2);
    assert_string_equal(serving.signatures[0].name, "serving_default");
    assert_string_equal(serving.signatures[0].method, SIGNATURE_CLASSIFY);
    assert_string_equal(serving.signatures[0].inputs[0].tensor_name, "tf_example:0");
    assert_string_equal(serving.signatures[0].outputs[0].key, "classes");
    assert_int_equal(serving.signatures[0].outputs[0].dtype, DT_STRING);
    assert_string_equal(serving.signatures[1].name, "predict_images");
    assert_string_equal(serving.signatures[1].inputs[0].key, "images");
    assert_string_equal(serving.signatures[1].inputs[0].tensor_name, "x:0");
    assert_string_equal(shape_text(&serving.signatures[1].inputs[0].shape), "[?,784]");
    assert_string_equal(serving.signatures[1].outputs[0].tensor_name, "y:0");
    assert_string_equal(serving.init_op, "init_all_tables");
    graph_finish(serving.graph);
}

static void a_model_of_one_probability_also_classifies(void **state)
{
    (void)state;
    struct layers_serving serving;

    assert_ok(layers_build_serving(model_of("logistic"), NULL, arena, &serving));
    assert_int_equal(serving.signatures_count, 3);
    assert_string_equal(serving.signatures[0].method, SIGNATURE_REGRESS);
    const struct signature *classify = &serving.signatures[2];
    assert_string_equal(classify->name, "classification");
    assert_string_equal(classify->method, SIGNATURE_CLASSIFY);
    assert_string_equal(classify->outputs[0].key, "classes");
    assert_int_equal(classify->outputs[0].dtype, DT_STRING);
    assert_string_equal(shape_text(&classify->outputs[1].shape), "[?,2]");
    graph_finish(serving.graph);
}

static void a_serving_graph_has_the_signatures_of_a_regression(void **state)
{
    (void)state;
    struct layers_serving serving;

    assert_ok(layers_build_serving(model_of("linear"), NULL, arena, &serving));
    assert_int_equal(serving.signatures_count, 2);
    assert_string_equal(serving.signatures[0].method, SIGNATURE_REGRESS);
    assert_string_equal(serving.signatures[0].outputs[0].key, "outputs");
    assert_string_equal(serving.signatures[1].name, "predict");
    assert_null(serving.init_op);
    graph_finish(serving.graph);
}

#define PORT(name) "[\"" name "\", 0, 0, {}]"
#define INPUT(name)                                                                           \
    "{\"name\": \"" name "\", \"class_name\": \"InputLayer\", \"config\": {\"name\": \"" name \
    "\", \"batch_shape\": [null, 3]}, \"inbound_nodes\": []}, "
#define DENSE(name, units, from)                                                         \
    "{\"name\": \"" name "\", \"class_name\": \"Dense\", \"config\": {\"name\": \"" name \
    "\", \"units\": " units                                                              \
    ", \"activation\": \"softmax\"}, \"inbound_nodes\": [[" PORT(from) "]]}"
#define SUM                                                                          \
    "{\"name\": \"sum\", \"class_name\": \"Add\", \"config\": {\"name\": \"sum\"}, " \
    "\"inbound_nodes\": [[" PORT("left") ", " PORT("a") "]]}, "
#define FUNCTIONAL(layers) \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [" layers "]}}"

static struct layers_serving serving_of(const char *json)
{
    struct layers_model *model;
    struct layers_serving serving;

    assert_ok(layers_parse(bytes_of(json), arena, &model));
    assert_ok(layers_build_serving(model, NULL, arena, &serving));
    return serving;
}

static void several_inputs_have_their_names_in_signatures(void **state)
{
    (void)state;
    struct layers_serving serving =
        serving_of(FUNCTIONAL(INPUT("left") INPUT("a") SUM DENSE("kind", "4", "sum")));

    assert_int_equal(serving.signatures_count, 2);
    assert_string_equal(serving.signatures[0].method, SIGNATURE_CLASSIFY);
    assert_int_equal(serving.signatures[0].inputs_count, 1);
    const struct signature *predict = &serving.signatures[1];
    assert_string_equal(predict->name, "predict");
    assert_int_equal(predict->inputs_count, 2);
    assert_string_equal(predict->inputs[0].key, "a");
    assert_string_equal(predict->inputs[0].tensor_name, "a:0");
    assert_string_equal(predict->inputs[1].key, "left");
    assert_string_equal(predict->outputs[0].key, "scores");
    graph_finish(serving.graph);
}

static void several_outputs_have_their_names_in_one_signature(void **state)
{
    (void)state;
    struct layers_serving serving =
        serving_of(FUNCTIONAL(INPUT("a") DENSE("right", "4", "a") ", " DENSE("left", "2", "a")));

    assert_int_equal(serving.signatures_count, 1);
    const struct signature *predict = &serving.signatures[0];
    assert_string_equal(predict->name, "serving_default");
    assert_string_equal(predict->method, SIGNATURE_PREDICT);
    assert_string_equal(predict->inputs[0].key, "x");
    assert_int_equal(predict->outputs_count, 2);
    assert_string_equal(predict->outputs[0].key, "left");
    assert_string_equal(shape_text(&predict->outputs[0].shape), "[?,2]");
    assert_string_equal(predict->outputs[1].key, "right");
    assert_string_equal(predict->outputs[1].tensor_name, "y/right:0");
    graph_finish(serving.graph);
}

static void names_of_classes_must_be_as_many_as_outputs(void **state)
{
    (void)state;
    const struct bytes two[] = { bytes_of("no"), bytes_of("yes") };
    const struct layers_serving_options options = { .classes = two, .classes_count = 2 };
    struct layers_serving serving;
    struct status status = layers_build_serving(model_of("softmax"), &options, arena, &serving);

    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "2 names for the 10 classes of model 'softmax'");
}

/* The row splits of a ragged column 'tags' are 'tags_1' in a request. */
static void parts_of_a_request_have_names_of_their_own(void **state)
{
    (void)state;
    struct raw_column list[] = {
        { .spec = { "tags", TENSOR_RAGGED, DT_STRING, shape_of(-1, -1) }, .hash_buckets = 3 },
        { .spec = { "tags_1", TENSOR_DENSE, DT_FLOAT, shape_of(-1, 1) }, .stddev = 1 },
    };
    const struct layers_columns columns = { list, 2 };
    const struct layers_serving_options options = { .columns = &columns };
    struct layers_serving serving;

    const char *text = "'tags_1' is an input of its own, but requests carry a part of the ragged "
                       "'tags' by that name: rename one";
    assert_string_equal(layers_check_requests(model_of("linear"), &options, arena).message, text);
    assert_string_equal(layers_build_serving(model_of("linear"), &options, arena, &serving).message,
                        text);
    list[1].spec.name = "tags_2";
    assert_string_equal(layers_check_requests(model_of("linear"), &options, arena).message, "");
}

/* classify would need a name for each class. */
static void more_than_a_million_classes_have_no_classify(void **state)
{
    (void)state;
    const char *format =
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": ["
        "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 1]}}, "
        "{\"class_name\": \"Dense\", \"config\": {\"units\": %d, \"activation\": \"softmax\"}}]}}";
    const struct {
        int units;
        const char *method;
    } rows[] = { { 1000, SIGNATURE_CLASSIFY }, { 1000001, SIGNATURE_PREDICT } };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct layers_model *model;
        struct layers_serving serving;
        assert_ok(
            layers_parse(bytes_of(arena_printf(arena, format, rows[i].units)), arena, &model));
        assert_ok(layers_build_serving(model, NULL, arena, &serving));
        assert_int_equal(serving.signatures_count, 2);
        assert_string_equal(serving.signatures[0].name, "serving_default");
        assert_string_equal(serving.signatures[0].method, rows[i].method);
        assert_string_equal(serving.signatures[1].name, "predict_images");
        graph_finish(serving.graph);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    static const struct CMUnitTest plain[] = {
        TEST(a_model_of_one_probability_also_classifies),
        TEST(a_compile_config_replaces_members_of_the_descriptions),
        TEST(a_model_of_any_width_takes_another),
        TEST(a_serving_graph_has_the_signatures_of_a_classifier),
        TEST(a_serving_graph_has_the_signatures_of_a_regression),
        TEST(names_of_classes_must_be_as_many_as_outputs),
        TEST(parts_of_a_request_have_names_of_their_own),
        TEST(several_inputs_have_their_names_in_signatures),
        TEST(several_outputs_have_their_names_in_one_signature),
        TEST(more_than_a_million_classes_have_no_classify),
    };
    struct test_group group = { 0 };

    ADD_ROWS_WITH(&group, models, name, is_compiled_in_and_builds_in_every_mode, arena_setup,
                  arena_teardown);
    ADD_ROWS_WITH(&group, models, name, trains_with_few_nodes, arena_setup, arena_teardown);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "layers", NULL, NULL);
}
