/* Layers on sparse and ragged inputs: the training graph, fed as a worker feeds it, compared with
 * TensorFlow. lists_golden.py writes the values. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "layers/layers.h"
#include "lists_golden.h"
#include "runtime/plan.h"
#include "support/status.h"
#include "support/test_group.h"

#define FEEDS_MAX   16
#define FETCHES_MAX 8

struct lists_fixture {
    struct arena *arena;
    struct layers_graph graph;
    struct endpoint feeds[FEEDS_MAX];
    struct tensor tensors[FEEDS_MAX];
    int feeds_count;
};

static void feed(struct lists_fixture *f, struct endpoint endpoint, enum dtype dtype,
                 struct shape shape, const void *values)
{
    assert_non_null(endpoint.node);
    f->feeds[f->feeds_count] = endpoint;
    f->tensors[f->feeds_count++] = tensor_borrow(dtype, &shape, values);
}

static void feed_input(struct lists_fixture *f, const struct layers_port *port, int index)
{
    const struct input_lists *lists = &f->graph.lists[index];
    const struct shape values = shape_of(GOLDEN_VALUES);
    bool ids = port->layout == TENSOR_RAGGED && port->dtype == DT_INT64;

    feed(f, f->graph.inputs[index], port->dtype, values,
         ids ? (const void *)golden_ids : golden_weights);
    if (port->layout == TENSOR_SPARSE)
        feed(f, lists->ids, DT_INT64, values, golden_ids);
    feed(f, lists->row_splits, DT_INT64, shape_of(GOLDEN_ROWS + 1), golden_splits);
}

/* All rows of a variable by rows are its values, so that a row's place is its number. */
static void feed_variables(struct lists_fixture *f, const struct golden *want)
{
    assert_int_equal(f->graph.variables_count, want->variables_count);
    for (int v = 0; v < f->graph.variables_count; v++)
        feed(f, f->graph.variables[v].value, DT_FLOAT, f->graph.variables[v].shape,
             want->values[v]);
    for (int i = 0; i < f->graph.lookups_count; i++)
        feed(f, f->graph.lookups[i].positions, DT_INT64, shape_of(GOLDEN_VALUES), golden_ids);
}

static void compare(const char *what, const struct tensor *got, const float *want)
{
    for (int64_t i = 0; i < got->size; i++) {
        double a = (double)tensor_floats(got)[i], b = (double)want[i];
        if (!(fabs(a - b) <= 1e-5 * fmax(1, fabs(b)))) /* the order of float sums differs */
            fail_msg("%s, element %d: %g, TensorFlow says %g", what, (int)i, a, b);
    }
}

static void run_case(const struct golden *want, int64_t batch)
{
    struct lists_fixture f = { .arena = arena_create(0) };
    const struct layers_options options = { .mode = LAYERS_TRAIN, .batch = batch };
    struct layers_model *model;
    struct endpoint fetches[FETCHES_MAX];
    struct tensor got[FETCHES_MAX] = { 0 };
    struct plan *plan;
    int count = 0;

    assert_ok(layers_parse(bytes_of(want->json), f.arena, &model));
    assert_ok(layers_build(model, &options, f.arena, &f.graph));
    for (int i = 0; i < model->inputs_count; i++)
        feed_input(&f, &model->inputs[i], i);
    feed(&f, f.graph.heads[0].labels, DT_FLOAT, shape_of(GOLDEN_ROWS, 2), golden_labels);
    feed_variables(&f, want);
    fetches[count++] = f.graph.heads[0].output;
    fetches[count++] = f.graph.loss;
    for (int v = 0; v < f.graph.variables_count; v++)
        fetches[count++] = f.graph.variables[v].gradient;
    const struct flatten_request request = {
        .feeds = f.feeds, .feeds_count = f.feeds_count, .fetches = fetches, .fetches_count = count
    };
    assert_ok(plan_create(f.graph.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    assert_ok(plan_run(plan, run, f.tensors, got));
    assert_int_equal(got[0].size, COUNT(want->output));
    compare("output", &got[0], want->output);
    compare("loss", &got[1], &want->loss);
    for (int v = 0; v < f.graph.variables_count; v++) {
        assert_int_equal(got[2 + v].size, shape_size(&f.graph.variables[v].shape));
        compare(f.graph.variables[v].name, &got[2 + v], want->gradients[v]);
    }
    tensors_release(count, got);
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(f.graph.graph);
    arena_destroy(f.arena);
}

static void agrees_with_tensorflow(void **state)
{
    run_case(*state, GOLDEN_ROWS);
    run_case(*state, 0); /* any number of rows */
}

/* A penalty needs the whole kernel; otherwise a step reads the rows of its ids. */
static void only_the_rows_of_the_ids_are_read(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT(golden); c++) {
        struct arena *arena = arena_create(0);
        const struct layers_options options = { .mode = LAYERS_TRAIN };
        struct layers_model *model;
        struct layers_graph graph;
        bool by_rows = strstr(golden[c].label, "penalty") == NULL;
        assert_ok(layers_parse(bytes_of(golden[c].json), arena, &model));
        assert_ok(layers_build(model, &options, arena, &graph));
        assert_int_equal(graph.variables[0].by_rows, by_rows);
        assert_int_equal(graph.lookups_count, by_rows);
        graph_finish(graph.graph);
        arena_destroy(arena);
    }
}

#define INPUT(config) \
    "{\"class_name\": \"InputLayer\", \"config\": {\"name\": \"x\", " config "}}, "
#define MODEL(layers)                                                                     \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": [" layers \
    "]}, \"compile_config\": {\"loss\": \"mse\"}}"
#define DENSE "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 1}}"
#define BAG                                                                               \
    "{\"class_name\": \"EmbeddingBag\", \"config\": {\"name\": \"b\", \"input_dim\": 5, " \
    "\"output_dim\": 2}}"

#define TWO_INPUTS                                                                               \
    "{\"class_name\": \"Functional\", \"config\": {\"name\": \"m\", \"layers\": ["               \
    "{\"class_name\": \"InputLayer\", \"name\": \"a\", \"config\": {\"name\": \"a\", "           \
    "\"batch_shape\": [null, 3], \"sparse\": true}, \"inbound_nodes\": []}, "                    \
    "{\"class_name\": \"InputLayer\", \"name\": \"a_ids\", \"config\": {\"name\": \"a_ids\", "   \
    "\"batch_shape\": [null, 3]}, \"inbound_nodes\": []}, "                                      \
    "{\"class_name\": \"Dense\", \"name\": \"d\", \"config\": {\"name\": \"d\", \"units\": 1}, " \
    "\"inbound_nodes\": [[[\"a\", 0, 0, {}]]]}], "                                               \
    "\"input_layers\": [[\"a\", 0, 0], [\"a_ids\", 0, 0]], \"output_layers\": [[\"d\", 0, 0]]}}"

static const struct refusal {
    const char *label, *json, *said;
} refusals[] = {
    { "sparse and ragged",
      MODEL(INPUT("\"batch_shape\": [null, 3], \"sparse\": true, \"ragged\": true") DENSE),
      "the input is both sparse and ragged" },
    { "sparse is no truth", MODEL(INPUT("\"batch_shape\": [null, 3], \"sparse\": 1") DENSE),
      "argument 'sparse' is 1, expected true or false" },
    { "a sparse input of rank 3",
      MODEL(INPUT("\"batch_shape\": [null, 3, 2], \"sparse\": true") DENSE),
      "a sparse input of float [?,3,2]; only float [?,n] is implemented" },
    { "a ragged input with a width",
      MODEL(INPUT("\"batch_shape\": [null, 3], \"ragged\": true, \"dtype\": \"int64\"") BAG),
      "a ragged input whose batch_shape is not [null, null]" },
    { "a ragged input of int32",
      MODEL(INPUT("\"batch_shape\": [null, null], \"ragged\": true, \"dtype\": \"int32\"") BAG),
      "a ragged input of int32; only float and int64 are implemented" },
    { "Dense of a ragged input",
      MODEL(INPUT("\"batch_shape\": [null, null], \"ragged\": true") DENSE),
      "a ragged input; it takes dense and sparse ones" },
    { "a layer that takes dense inputs",
      MODEL(INPUT("\"batch_shape\": [null, 3], \"sparse\": true") "{\"class_name\": \"ReLU\", "
                                                                  "\"config\": {}}"),
      "a sparse input; it takes dense ones" },
    { "an input with the name of a part", TWO_INPUTS, "an input 'a_ids' beside 'a'" },
    { "EmbeddingBag of a dense input", MODEL(INPUT("\"batch_shape\": [null, 3]") BAG),
      "it takes a sparse input of float32 or a ragged one of int64" },
    { "EmbeddingBag of ragged floats",
      MODEL(INPUT("\"batch_shape\": [null, null], \"ragged\": true") BAG),
      "it takes a sparse input of float32 or a ragged one of int64" },
};

static void what_does_not_fit_is_refused(void **state)
{
    const struct refusal *refusal = *state;
    struct arena *arena = arena_create(0);
    struct layers_model *model;

    struct status status = layers_parse(bytes_of(refusal->json), arena, &model);
    if (strstr(status.message, refusal->said) == NULL)
        fail_msg("'%s' is not in '%s'", refusal->said, status.message);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(only_the_rows_of_the_ids_are_read),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, golden, label, agrees_with_tensorflow);
    ADD_ROWS(&group, refusals, label, what_does_not_fit_is_refused);
    return test_group_run(&group, "lists", NULL, NULL);
}
