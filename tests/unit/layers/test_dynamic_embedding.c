/* DynamicEmbedding: its hash table in a training graph, its keys, and its export. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "base/fingerprint.h"
#include "layers/layers.h"
#include "runtime/plan.h"
#include "support/status.h"
#include "support/test_group.h"
#include "support/arena.h"

#define MODEL(input, config)                                                      \
    "{'class_name': 'Sequential', 'config': {'name': 'm', 'layers': ["            \
    "{'class_name': 'InputLayer', 'config': {'name': 'x', " input "}}, "          \
    "{'class_name': 'DynamicEmbedding', 'config': {'name': 'e', " config "}}]}, " \
    "'compile_config': {'loss': 'mse'}}"
#define INTEGERS "'batch_shape': [null, 3], 'dtype': 'int64'"
#define TEXTS    "'batch_shape': [null, 3], 'dtype': 'string'"
#define RAGGED   "'batch_shape': [null, null], 'ragged': true, 'dtype': 'int64'"
#define WIDTH    "'output_dim': 4"

/* JSON whose quotes are single ones. */
static struct bytes quoted(const char *text)
{
    char *json = arena_strdup(arena, text);

    for (char *at = json; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
    return bytes_of(json);
}

static struct layers_model *parse(const char *json)
{
    struct layers_model *model;

    assert_ok(layers_parse(quoted(json), arena, &model));
    return model;
}

static void has_a_hash_table_by_its_rules(void **state)
{
    (void)state;
    const char *json =
        MODEL(INTEGERS,
              WIDTH ", 'min_count': 3, 'probability': 0.5, 'ttl_steps': 70, 'bytes_max': 1000000, "
                    "'mask_zero': true, 'embeddings_initializer': {'class_name': "
                    "'RandomNormal', 'config': {'mean': 1.5, 'stddev': 0.25, 'seed': 9}}");
    const struct layers_training_options options = { .batch = 2 };
    struct training_graph graph;

    assert_ok(layers_training_graph(parse(json), &options, arena, &graph));
    assert_int_equal(graph.variables_count, 1);
    const struct training_variable *variable = &graph.variables[0];
    assert_string_equal(variable->name, "e/embeddings");
    assert_string_equal(shape_text(&variable->shape), "[?,4]");
    assert_true(variable->by_keys && !variable->by_rows && variable->has_seed);
    assert_true(training_variable_is_sparse(variable) && !variable->starts_at_zero);
    assert_int_equal(variable->update, UPDATE_GRADIENT);
    assert_int_equal(variable->keys.initializer, KEY_NORMAL);
    assert_true(variable->keys.a == 1.5 && variable->keys.b == 0.25 && variable->keys.seed == 9);
    assert_int_equal(variable->keys.min_count, 3);
    assert_true(variable->keys.probability == 0.5);
    assert_int_equal(variable->keys.ttl_steps, 70);
    assert_int_equal(variable->keys.bytes_max, 1000000);
    assert_int_equal(graph.step.lookups_count, 1);
    assert_int_equal(graph.evaluation.lookups_count, 1);
    training_graph_finish(&graph);
}

static void a_table_of_zeros_starts_at_zero(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 2 };
    struct training_graph graph;

    assert_ok(layers_training_graph(
        parse(MODEL(RAGGED, WIDTH ", 'combiner': 'sum', 'embeddings_initializer': 'zeros'")),
        &options, arena, &graph));
    assert_true(graph.variables[0].starts_at_zero && !graph.variables[0].has_seed);
    assert_int_equal(graph.variables[0].keys.min_count, 1);
    assert_true(graph.variables[0].keys.probability == 1);
    training_graph_finish(&graph);
}

/* As StringToHashBucketFast of TensorFlow with 2^63 - 1 buckets. */
static void texts_become_keys_by_their_fingerprint(void **state)
{
    (void)state;
    const struct layers_options options = { .mode = LAYERS_TRAIN, .batch = 1 };
    const struct shape row = shape_of(1, 3);
    const struct bytes texts[] = { bytes_of("a"), bytes_of(""), bytes_of("a longer text") };
    struct tensor feed = tensor_borrow(DT_STRING, &row, texts), ids;
    struct layers_graph graph;
    struct plan *plan;

    assert_ok(layers_build(parse(MODEL(TEXTS, WIDTH)), &options, arena, &graph));
    const struct flatten_request request = { .feeds = &graph.inputs[0],
                                             .feeds_count = 1,
                                             .fetches = &graph.lookups[0].ids,
                                             .fetches_count = 1 };
    assert_ok(plan_create(graph.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    assert_ok(plan_run(plan, run, &feed, &ids));
    for (int i = 0; i < 3; i++)
        assert_true(tensor_int64s(&ids)[i] ==
                    (int64_t)(fingerprint64(texts[i]) % (uint64_t)INT64_MAX));
    tensor_release(&ids);
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(graph.graph);
}

static void is_exported_as_keys_and_rows(void **state)
{
    (void)state;
    struct layers_serving serving;

    assert_ok(layers_build_serving(parse(MODEL(TEXTS, WIDTH)), NULL, arena, &serving));
    assert_int_equal(serving.variables_count, 2);
    assert_string_equal(serving.variables[0].name, "e/embeddings/keys");
    assert_int_equal(serving.variables[0].dtype, DT_INT64);
    assert_string_equal(shape_text(&serving.variables[0].shape), "[?]");
    assert_string_equal(serving.variables[1].name, "e/embeddings/values");
    assert_string_equal(shape_text(&serving.variables[1].shape), "[?,4]");
    assert_true(serving.variables[1].trainable && !serving.variables[0].trainable);
    assert_non_null(serving.init_op);
    graph_finish(serving.graph);
}

/* The layer of an inner model has a name such as 'inner/e'. */
static void calls_of_a_layer_share_a_served_table(void **state)
{
    (void)state;
    const char *json =
        "{'class_name': 'Functional', 'config': {'name': 'm', 'layers': ["
        "{'class_name': 'InputLayer', 'name': 'x', 'config': {'name': 'x', " INTEGERS
        "}, 'inbound_nodes': []}, "
        "{'class_name': 'DynamicEmbedding', 'name': 'inner/e', 'config': {'name': 'inner/e', " WIDTH
        "}, 'inbound_nodes': [[['x', 0, 0, {}]], [['x', 0, 0, {}]]]}, "
        "{'class_name': 'Add', 'name': 'sum', 'config': {'name': 'sum'}, "
        "'inbound_nodes': [[['inner/e', 0, 0, {}], ['inner/e', 1, 0, {}]]]}], "
        "'input_layers': [['x', 0, 0]], 'output_layers': [['sum', 0, 0]]}, "
        "'compile_config': {'loss': 'mse'}}";
    struct layers_serving serving;

    assert_ok(layers_build_serving(parse(json), NULL, arena, &serving));
    assert_non_null(graph_find(serving.graph, "inner/e/table_init"));
    assert_null(graph_find(serving.graph, "inner/e/table_init_1"));
    assert_non_null(graph_find(serving.graph, "inner/e/embeddings/table"));
    graph_finish(serving.graph);
}

static const struct refusal {
    const char *label, *json, *said;
} refusals[] = {
    { "no width", MODEL(INTEGERS, "'mask_zero': true"), "argument 'output_dim' is missing" },
    { "min_count", MODEL(INTEGERS, WIDTH ", 'min_count': 0"), "argument 'min_count'" },
    { "a large min_count", MODEL(INTEGERS, WIDTH ", 'min_count': 2000000000"),
      "argument 'min_count' is 2000000000, expected 1 to 1073741824" },
    { "probability", MODEL(INTEGERS, WIDTH ", 'probability': 0"),
      "argument 'probability' is 0, expected above 0 and at most 1" },
    { "ttl_steps", MODEL(INTEGERS, WIDTH ", 'ttl_steps': 0"),
      "argument 'ttl_steps' is 0, expected null or at least 1" },
    { "bytes_max", MODEL(INTEGERS, WIDTH ", 'bytes_max': -4"),
      "argument 'bytes_max' is -4, expected null or at least 1" },
    { "an initializer of the whole table",
      MODEL(INTEGERS, WIDTH ", 'embeddings_initializer': 'glorot_uniform'"),
      "argument 'embeddings_initializer': its values depend on the number of rows" },
    { "an array",
      MODEL(INTEGERS, WIDTH ", 'embeddings_initializer': {'class_name': 'Constant', "
                            "'config': {'value': [1, 2]}}"),
      "TruncatedNormal, Constant of one number, Zeros or Ones" },
    { "a regularizer", MODEL(INTEGERS, WIDTH ", 'embeddings_regularizer': 'l2'"),
      "argument 'embeddings_regularizer'" },
    { "a frozen table", MODEL(INTEGERS, WIDTH ", 'trainable': false"),
      "'trainable' is false, and a hash table that is not trained has no rows" },
    { "an unknown combiner", MODEL(RAGGED, WIDTH ", 'combiner': 'max'"),
      "argument 'combiner' is 'max', expected null, mean, sum or sqrtn" },
    { "a ragged input without a combiner", MODEL(RAGGED, WIDTH),
      "a sparse or ragged input needs a 'combiner'" },
    { "a dense input with a combiner", MODEL(INTEGERS, WIDTH ", 'combiner': 'sum'"),
      "it takes a sparse input of float32 or a ragged one of int64" },
    { "a mask of lists", MODEL(RAGGED, WIDTH ", 'combiner': 'sum', 'mask_zero': true"),
      "'mask_zero' is for ids without a combiner" },
    { "a mask of texts", MODEL(TEXTS, WIDTH ", 'mask_zero': true"),
      "'mask_zero' is for integers, and the input is string" },
};

static void what_does_not_fit_is_refused(void **state)
{
    const struct refusal *refusal = *state;
    struct layers_model *model;

    struct status status = layers_parse(quoted(refusal->json), arena, &model);
    if (strstr(status.message, refusal->said) == NULL)
        fail_msg("'%s' is not in '%s'", refusal->said, status.message);
}

int main(void)
{
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(has_a_hash_table_by_its_rules),
        cmocka_unit_test(a_table_of_zeros_starts_at_zero),
        cmocka_unit_test(texts_become_keys_by_their_fingerprint),
        cmocka_unit_test(is_exported_as_keys_and_rows),
        cmocka_unit_test(calls_of_a_layer_share_a_served_table),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refusals, label, what_does_not_fit_is_refused);
    return test_group_run(&group, "DynamicEmbedding", arena_setup, arena_teardown);
}
