/* A SavedModel as something to train: tests/golden/finetune holds what Keras exported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/function.h"
#include "savedmodel/trainable/trainable.h"
#include "storage/bundle.h"
#include "support/directory.h"

#define GOLDEN "tests/golden/finetune/"

static struct trainable *open_golden(const char *name, const char *freeze)
{
    const struct trainable_options options = { .freeze = freeze };
    struct trainable *trainable;

    assert_ok(trainable_open(name, &options, &trainable));
    return trainable;
}

/* Gives every variable sevens. */
struct sevens {
    struct value_source source; /* first */
    const struct trainable *trainable;
    float values[512];
    size_t left;
};

static struct status sevens_begin(struct value_source *source, const char *name)
{
    struct sevens *sevens = (struct sevens *)source;

    for (int v = 0; v < trainable_variables_count(sevens->trainable); v++) {
        const struct trainable_variable *variable = trainable_variable_at(sevens->trainable, v);
        if (strcmp(variable->name, name) == 0)
            sevens->left = (size_t)shape_size(&variable->shape) * sizeof(float);
    }
    assert_in_range(sevens->left, 1, sizeof sevens->values);
    return status_ok();
}

static struct status sevens_next(struct value_source *source, struct bytes *chunk)
{
    struct sevens *sevens = (struct sevens *)source;

    *chunk = (struct bytes){ (const char *)sevens->values, sevens->left };
    sevens->left = 0;
    return status_ok();
}

/* The number of keys of a checkpoint whose first element is 7. */
static int count_sevens(const char *model, int *all)
{
    struct bundle *bundle;
    int count = 0;

    *all = 0;
    assert_ok(bundle_open(file_join(arena, model, "variables/variables"), &bundle));
    for (size_t i = 0; i < bundle_count(bundle); i++) {
        struct tensor value;
        assert_ok(bundle_read(bundle, bundle_at(bundle, i)->name, &value));
        if (value.dtype == DT_FLOAT) {
            count += tensor_floats(&value)[0] == 7;
            (*all)++;
        }
        tensor_release(&value);
    }
    bundle_close(bundle);
    return count;
}

static void write_sevens(const struct trainable *trainable, const char *to)
{
    struct sevens sevens = { .source = { sevens_begin, sevens_next }, .trainable = trainable };

    for (size_t i = 0; i < COUNT(sevens.values); i++)
        sevens.values[i] = 7;
    assert_ok(trainable_write(trainable, to, false, (struct bytes){ 0 }, &sevens.source));
}

/* Keras' export holds each weight twice, under keys in different orders. */
static void all_keys_of_a_weight_get_its_value(void **state)
{
    (void)state;
    struct trainable *trainable = open_golden(GOLDEN "dense", NULL);
    int all;

    assert_int_equal(trainable_variables_count(trainable), 4);
    write_sevens(trainable, in("1"));
    assert_int_equal(count_sevens(in("1"), &all), 8);
    assert_int_equal(all, 8);
    trainable_close(trainable);
}

static void frozen_variables_keep_their_values(void **state)
{
    (void)state;
    struct trainable *trainable = open_golden(GOLDEN "dense", "*hidden/*");
    int all;

    write_sevens(trainable, in("1"));
    assert_int_equal(count_sevens(in("1"), &all), 4);
    trainable_close(trainable);
    /* the moving averages are not trainable, gamma and beta only by the pattern */
    trainable = open_golden(GOLDEN "convnet", "*/gamma,*/beta");
    write_sevens(trainable, in("2"));
    assert_int_equal(count_sevens(in("2"), &all), 4);
    assert_int_equal(all, 8);
    trainable_close(trainable);
}

static void the_first_values_are_the_files(void **state)
{
    (void)state;
    struct trainable *trainable = open_golden(GOLDEN "convnet", NULL);
    static const float variance[] = { .8f, 1.2f, 2 };

    for (int v = 0; v < trainable_variables_count(trainable); v++) {
        const struct trainable_variable *variable = trainable_variable_at(trainable, v);
        float values[512];
        assert_ok(trainable_read(trainable, v, values));
        if (strstr(variable->name, "moving_variance") != NULL) {
            assert_memory_equal(values, variance, sizeof variance);
            assert_false(variable->is_trained);
        }
    }
    trainable_close(trainable);
}

/* No node of the graph reads a variable, and the shapes of a batch of 8 rows are known. */
static void the_graph_has_placeholders_for_variables(void **state)
{
    (void)state;
    struct trainable *trainable = open_golden(GOLDEN "embedding", NULL);
    struct trainable_graph graph;

    assert_ok(trainable_build(trainable, 8, arena, &graph));
    for (int i = 0; i < graph.graph->count; i++) {
        const char *op = graph.graph->nodes[i]->op_name;
        assert_null(strstr(op, "Variable"));
        assert_null(strstr(op, "PartitionedCall"));
        assert_null(strstr(op, "VarHandle"));
    }
    assert_string_equal(graph.outputs[0].node->op_name, "Sigmoid");
    assert_string_equal(shape_text(&graph.outputs[0].node->outputs[0].shape), "[8,1]");
    assert_string_equal(shape_text(&graph.inputs[0].node->outputs[0].shape), "[8,6]");
    graph_finish(graph.graph);
    trainable_close(trainable);
}

/* Is the op among the nodes that a graph runs, in its functions as well? */
static bool runs(const struct graph *graph, const char *op)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        const struct function_name *name;
        struct function_body body;
        if (strcmp(node->op_name, op) == 0)
            return true;
        if (!status_is_ok(node_attr_func(node, "body", &name)))
            continue;
        assert_ok(function_instantiate(graph, name, arena, &body));
        if (runs(body.graph, op))
            return true;
    }
    return false;
}

/* The weights of the GRU are captured by its loop. */
static void a_loop_takes_the_values_of_its_variables(void **state)
{
    (void)state;
    struct trainable *trainable = open_golden(GOLDEN "recurrent", NULL);
    struct trainable_graph first, graph;

    assert_ok(trainable_build(trainable, 0, arena, &first));
    graph_finish(first.graph);
    assert_ok(trainable_build(trainable, 8, arena, &graph)); /* the first has changed nothing */
    assert_true(runs(graph.graph, "While"));
    assert_true(runs(graph.graph, "MatMul"));
    assert_false(runs(graph.graph, "ReadVariableOp"));
    for (int i = 0; i < graph.graph->count; i++)
        for (int k = 0; k < graph.graph->nodes[i]->inputs_count; k++)
            assert_int_not_equal(endpoint_dtype(graph.graph->nodes[i]->inputs[k]), DT_RESOURCE);
    graph_finish(graph.graph);
    trainable_close(trainable);
}

/* Damaged files: bodies that contain themselves, or 2^10 loops. */
static void bodies_without_an_end_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        enum status_code code;
        const char *error;
    } cases[] = {
        { GOLDEN "recursive", STATUS_UNIMPLEMENTED, "calls itself" },
        { GOLDEN "doubling", STATUS_RESOURCE_EXHAUSTED, "more than 1000 functions" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct trainable *trainable = open_golden(cases[i].model, NULL);
        struct trainable_graph graph;
        struct status status = trainable_build(trainable, 0, arena, &graph);
        assert_int_equal(status.code, cases[i].code);
        assert_non_null(strstr(status.message, cases[i].error));
        trainable_close(trainable);
    }
}

/* Of the table of an embedding, a batch needs the rows of its ids. */
static void tables_are_read_by_rows(void **state)
{
    (void)state;
    static const struct {
        const char *model, *ids;
    } cases[] = { { GOLDEN "embedding", "[8,6]" }, { GOLDEN "recurrent", "[8,?]" } };

    for (size_t m = 0; m < COUNT(cases); m++) {
        struct trainable *trainable = open_golden(cases[m].model, NULL);
        struct trainable_graph graph;
        assert_ok(trainable_build(trainable, 8, arena, &graph));
        assert_int_equal(graph.lookups_count, 1);
        const struct row_lookup *lookup = &graph.lookups[0];
        assert_string_equal(shape_text(endpoint_shape(lookup->ids)), cases[m].ids);
        assert_string_equal(shape_text(endpoint_shape(lookup->positions)), cases[m].ids);
        assert_int_equal(endpoint_dtype(lookup->ids), DT_INT64);
        for (int v = 0; v < trainable_variables_count(trainable); v++) {
            bool is_table = strstr(trainable_variable_at(trainable, v)->name, "table") != NULL;
            assert_int_equal(graph.by_rows[v], is_table);
            assert_int_equal(endpoint_shape(graph.values[v])->dims[0] < 0, is_table);
        }
        graph_finish(graph.graph);
        trainable_close(trainable);
    }
}

static void what_cannot_be_opened_is_named(void **state)
{
    (void)state;
    static const struct {
        struct trainable_options options;
        const char *text;
    } cases[] = {
        { { .signature = "none" }, "no signature 'none'; there are: 'serve', 'serving_default'" },
        { { .outputs = "none" }, "no output 'none'; there are: 'output_0'" },
        { { .freeze = "*hidden/*,conv" },
          "the pattern 'conv' freezes nothing; the variables are " },
        { { .freeze = "*" }, "nothing is left to train" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct trainable *trainable;
        struct status status = trainable_open(GOLDEN "dense", &cases[i].options, &trainable);
        assert_non_null(strstr(status.message, cases[i].text));
    }
}

/* Keras' variable "table/embeddings" is "table/embeddings_1" in its export. */
static void a_pattern_may_leave_out_the_number_of_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *freeze;
        bool table, bias;
    } cases[] = {
        { "table/embeddings", false, true }, { "*/embeddings,answer/kernel", false, true },
        { "*_1,table/*", false, false },     { "answer/bias_1", true, false },
        { "answer/k*", true, true },         { "none", true, true },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct trainable_options options = { .freeze = cases[i].freeze };
        struct trainable *trainable;
        struct status status = trainable_open(GOLDEN "embedding", &options, &trainable);
        if (!cases[i].table && !cases[i].bias) { /* all have a number */
            assert_non_null(strstr(status.message, "nothing is left to train"));
            continue;
        }
        assert_ok(status);
        for (int v = 0; v < trainable_variables_count(trainable); v++) {
            const struct trainable_variable *variable = trainable_variable_at(trainable, v);
            if (strcmp(variable->name, "table/embeddings_1") == 0)
                assert_int_equal(variable->is_trained, cases[i].table);
            if (strcmp(variable->name, "answer/bias_1") == 0)
                assert_int_equal(variable->is_trained, cases[i].bias);
        }
        trainable_close(trainable);
    }
}

/* The last bytes of the data file are the weights', each twice: 43 floats. */
static void damaged_values_are_data_loss(void **state)
{
    (void)state;
    const struct trainable_options options = { 0 };
    struct trainable *trainable = open_golden(GOLDEN "dense", NULL);
    const char *data = file_join(arena, in("1"), "variables/variables.data-00000-of-00001");
    struct buffer content = { 0 };
    float values[512];

    write_sevens(trainable, in("1"));
    trainable_close(trainable);
    assert_ok(file_read(data, 0, &content));
    for (size_t i = 1; i <= 2 * sizeof(float[43]); i++)
        content.data[content.size - i] ^= 1;
    assert_ok(file_write(data, (struct bytes){ content.data, content.size }));
    assert_ok(trainable_open(in("1"), &options, &trainable));
    for (int v = 0; v < trainable_variables_count(trainable); v++)
        assert_int_equal(trainable_read(trainable, v, values).code, STATUS_DATA_LOSS);
    trainable_close(trainable);
    content.size -= 2 * sizeof(float[43]); /* the file is too short */
    assert_ok(file_write(data, (struct bytes){ content.data, content.size }));
    assert_ok(trainable_open(in("1"), &options, &trainable));
    assert_int_equal(trainable_read(trainable, 0, values).code, STATUS_OUT_OF_RANGE);
    trainable_close(trainable);
    buffer_finish(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(all_keys_of_a_weight_get_its_value),
        TEST_IN_DIRECTORY(frozen_variables_keep_their_values),
        TEST_IN_DIRECTORY(the_first_values_are_the_files),
        TEST_IN_DIRECTORY(the_graph_has_placeholders_for_variables),
        TEST_IN_DIRECTORY(a_loop_takes_the_values_of_its_variables),
        TEST_IN_DIRECTORY(bodies_without_an_end_are_refused),
        TEST_IN_DIRECTORY(tables_are_read_by_rows),
        TEST_IN_DIRECTORY(what_cannot_be_opened_is_named),
        TEST_IN_DIRECTORY(a_pattern_may_leave_out_the_number_of_a_name),
        TEST_IN_DIRECTORY(damaged_values_are_data_loss),
    };

    return cmocka_run_group_tests_name("trainable", tests, NULL, NULL);
}
