#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/file.h"
#include "graph/build.h"
#include "graph/graph_proto.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "support/status.h"

/* The source of the graphs, as text, is tests/golden/graph/graphs.py. */
#define GRAPHS "tests/golden/graph/"

static struct arena *arena;
static struct graph *graph;
static struct flatten_result flat;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    graph = NULL;
    flat = (struct flatten_result){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    graph_finish(flat.graph);
    graph_finish(graph);
    arena_destroy(arena);
    return 0;
}

static struct status load(const char *name)
{
    struct buffer file = { 0 };
    Tensorflow__GraphDef *proto = NULL;
    assert_ok(file_read(arena_printf(arena, GRAPHS "%s.pb", name), 0, &file));
    assert_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &proto));
    buffer_finish(&file);
    return graph_from_proto(proto, arena, false, &graph);
}

/* Flattens for one feed (or NULL) and one fetch; a fetch "^name" is a target. */
static struct status flatten(const char *feed, const char *fetch)
{
    struct endpoint fed = { 0 }, fetched = { 0 };
    struct flatten_request request = { .feeds = &fed, .fetches = &fetched };
    struct node *target;

    if (feed != NULL)
        assert_ok(graph_endpoint(graph, feed, &fed));
    request.feeds_count = feed != NULL;
    if (fetch[0] == '^') {
        target = graph_find(graph, fetch + 1);
        request.targets = &target;
        request.targets_count = 1;
    } else {
        assert_ok(graph_endpoint(graph, fetch, &fetched));
        request.fetches_count = 1;
    }
    return graph_flatten(graph, &request, arena, &flat);
}

/* `expected` has a line for each node in order: "name = Op(input, input:1) ^control". */
static void assert_nodes(const char *expected)
{
    struct buffer text = { 0 };
    for (int i = 0; i < flat.graph->count; i++) {
        const struct node *node = flat.graph->nodes[i];
        assert_int_equal(node->id, i);
        assert_ptr_equal(graph_find(flat.graph, node->name), node);
        buffer_printf(&text, "%s = %s(", node->name, node->op_name);
        for (int k = 0; k < node->inputs_count; k++) {
            buffer_printf(&text, "%s%s", k > 0 ? ", " : "", node->inputs[k].node->name);
            if (node->inputs[k].index > 0)
                buffer_printf(&text, ":%d", node->inputs[k].index);
        }
        buffer_append_text(&text, ")");
        for (int k = 0; k < node->controls_count; k++)
            buffer_printf(&text, " ^%s", node->controls[k]->name);
        buffer_append_text(&text, "\n");
    }
    buffer_append_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_finish(&text);
}

static void calls_are_replaced_by_their_bodies(void **state)
{
    (void)state;
    assert_ok(load("nested"));
    assert_ok(flatten("x", "y"));
    assert_nodes("x = Placeholder()\n"
                 "call/inner/Relu = Relu(x)\n"
                 "call/sum = AddV2(call/inner/Relu, x)\n"
                 "y = Identity(call/sum)\n");
    assert_ptr_equal(flat.feeds[0].node, flat.graph->nodes[0]);
    assert_ptr_equal(flat.fetches[0].node, flat.graph->nodes[3]);
}

static void a_fed_tensor_cuts_the_graph(void **state)
{
    (void)state;
    assert_ok(load("nested"));
    assert_ok(flatten("call", "y"));
    assert_nodes("call = Placeholder()\n"
                 "y = Identity(call)\n");
    enum dtype dtype;
    assert_ok(node_attr_type(flat.feeds[0].node, "dtype", &dtype));
    assert_int_equal(dtype, DT_FLOAT);
}

static void what_is_fed_can_be_fetched(void **state)
{
    (void)state;
    assert_ok(load("nested"));
    assert_ok(flatten("x", "x"));
    assert_nodes("x = Placeholder()\n");
    assert_ptr_equal(flat.fetches[0].node, flat.feeds[0].node);
}

static void a_call_runs_behind_what_it_waits_for(void **state)
{
    (void)state;
    assert_ok(load("effects"));
    assert_ok(flatten("d", "y"));
    /* `second` reads after the addition in `first`. Nodes without effects get no control inputs. */
    assert_nodes("d = Placeholder()\n"
                 "v = VarHandleOp()\n"
                 "first/twice = AddV2(d, d)\n"
                 "first/AssignAdd = AssignAddVariableOp(v, first/twice)\n"
                 "second/Read = ReadVariableOp(v) ^first/AssignAdd\n"
                 "second/plain = Neg(second/Read)\n"
                 "y = Identity(second/plain)\n");
}

static void an_effect_runs_although_nobody_uses_it(void **state)
{
    (void)state;
    assert_ok(load("effects"));
    assert_ok(flatten(NULL, "lone"));
    assert_nodes("v = VarHandleOp()\n"
                 "lone/Read = ReadVariableOp(v)\n"
                 "lone/AssignAdd = AssignAddVariableOp(v, lone/Read)\n");
}

static void a_target_waits_for_results_and_effects(void **state)
{
    (void)state;
    assert_ok(load("effects"));
    assert_ok(flatten(NULL, "^lone"));
    assert_nodes("v = VarHandleOp()\n"
                 "lone/Read = ReadVariableOp(v)\n"
                 "lone/AssignAdd = AssignAddVariableOp(v, lone/Read)\n"
                 "lone/done = NoOp() ^lone/AssignAdd ^lone/Read\n");
    assert_string_equal(flat.targets[0]->name, "lone/done");
}

static void attributes_come_from_the_call_or_the_default(void **state)
{
    (void)state;
    assert_ok(load("attributes"));
    assert_ok(flatten("x", "y"));
    assert_nodes("x = Placeholder()\n"
                 "two/axis = Const()\n"
                 "two/joined = AddN(x, x)\n"
                 "two/split = Split(two/axis, two/joined)\n"
                 "y = Identity(two/split:2)\n");
    int64_t n = 0;
    assert_ok(node_attr_int(flat.graph->nodes[2], "N", &n));
    assert_int_equal(n, 2);
    assert_int_equal(flat.graph->nodes[3]->outputs_count, 3);
    assert_int_equal(flat.graph->nodes[3]->outputs[2].dtype, DT_FLOAT);
}

static void the_loops_of_tensorflow_1_stay_closed(void **state)
{
    (void)state;
    assert_ok(load("loop"));
    assert_ok(flatten("x", "exit"));
    assert_nodes("x = Placeholder()\n"
                 "enter = Enter(x)\n"
                 "merge = Merge(enter, next)\n"
                 "exit = Exit(merge)\n"
                 "grow = AddV2(merge, merge)\n"
                 "next = NextIteration(grow)\n");
}

static void recursion_is_refused(void **state)
{
    (void)state;
    assert_ok(load("recursion"));
    assert_fails(flatten("x", "y"), STATUS_INVALID_ARGUMENT,
                 "node 'y' (PartitionedCall): function 'again': calls nest deeper than 64");
}

static void functions_that_unfold_without_end_are_refused(void **state)
{
    (void)state;
    assert_ok(load("doubling"));
    assert_fails(flatten("x", "y"), STATUS_RESOURCE_EXHAUSTED,
                 "node 'y' (PartitionedCall): the functions unfold to over 1048576 nodes");
}

static void gradients_of_gradients_without_end_are_refused(void **state)
{
    (void)state;
    assert_ok(load("gradient_recursion"));
    assert_fails(flatten("x", "y"), STATUS_INVALID_ARGUMENT,
                 "node 'y' (SymbolicGradient): function 'again': calls nest deeper than 64");
}

static void gradients_of_gradients_that_grow_are_refused(void **state)
{
    (void)state;
    assert_ok(load("gradient_tower"));
    assert_fails_naming(flatten("x", "y"), STATUS_RESOURCE_EXHAUSTED,
                        "the functions unfold to over 1048576 nodes");
}

static void a_gradient_with_too_few_inputs_is_refused(void **state)
{
    (void)state;
    assert_ok(load("gradient_recursion"));
    assert_fails(flatten("x", "z"), STATUS_INVALID_ARGUMENT,
                 "node 'z' (SymbolicGradient): has 1 inputs and 1 outputs; the gradient of a "
                 "function that takes 1 and returns 1 has 2 and 1");
}

static void a_cycle_is_refused(void **state)
{
    (void)state;
    assert_ok(load("cycle"));
    assert_fails(flatten(NULL, "a"), STATUS_INVALID_ARGUMENT,
                 "node 'a' (Neg) depends on itself: the graph has a cycle");
}

static void a_merge_that_waits_for_its_own_loop_is_refused(void **state)
{
    (void)state;
    assert_ok(load("waiting_merge"));
    assert_fails(flatten(NULL, "merge"), STATUS_INVALID_ARGUMENT,
                 "node 'merge' (Merge) depends on itself: the graph has a cycle");
}

static void a_body_that_makes_an_argument_is_refused(void **state)
{
    (void)state;
    assert_ok(load("argument"));
    assert_fails(flatten("x", "y"), STATUS_INVALID_ARGUMENT,
                 "node 'y' (PartitionedCall): function 'f': node 'stray': op '_Arg' stands only "
                 "for arguments of the signature");
}

static void a_reference_without_its_output_is_refused(void **state)
{
    (void)state;
    assert_ok(load("bare_reference"));
    assert_fails(flatten("x", "y"), STATUS_INVALID_ARGUMENT,
                 "node 'y' (PartitionedCall): function 'f': node 'm' (Neg): input n is not found");
}

static const struct damaged {
    const char *name;
    enum status_code code;
    const char *text;
} damaged[] = {
    { "two_names", STATUS_INVALID_ARGUMENT, "there are two nodes named 'a'" },
    { "no_input", STATUS_INVALID_ARGUMENT,
      "node 'a' (Neg): input 0: tensor 'b': the graph has no node 'b'" },
    { "no_output", STATUS_INVALID_ARGUMENT,
      "node 'a' (Neg): input 0: tensor 'b:1': node 'b' (Placeholder) has 1 outputs" },
    { "wrong_type", STATUS_INVALID_ARGUMENT,
      "node 'a' (Neg): input 0 ('x') is float from 'b', should be int32" },
    { "bad_constant", STATUS_RESOURCE_EXHAUSTED, NULL },
    { "builtin_name", STATUS_INVALID_ARGUMENT,
      "Cannot add function 'Neg' because an op with the same name already exists" },
};

static void damaged_graphs_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(damaged); i++) {
        struct status status = load(damaged[i].name);
        if (damaged[i].text != NULL)
            assert_string_equal(status.message, damaged[i].text);
        assert_int_equal(status.code, damaged[i].code);
    }
}

/* The walk must not recurse: such a deep graph would overflow the stack. */
static void a_chain_of_a_hundred_thousand_nodes_is_flattened(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1)), y = x;
    for (int i = 0; i < DEPTH; i++)
        y = build_unary(&b, "Neg", NULL, y);
    assert_ok(builder_status(&b));
    assert_ok(flatten("x", y.node->name));
    assert_int_equal(flat.graph->count, DEPTH + 1);
    assert_ok(graph_infer(flat.graph));
}

static void an_unknown_op_is_kept_with_its_attributes(void **state)
{
    (void)state;
    assert_ok(load("unknown"));
    assert_ok(flatten("x", "y:1"));
    assert_nodes("x = Placeholder()\n"
                 "call/strange = Frobnicate(x)\n"
                 "y = Frobnicate(call/strange)\n");
    assert_null(flat.graph->nodes[2]->op);
    assert_int_equal(flat.fetches[0].index, 1);
    assert_non_null(node_attr(flat.graph->nodes[1], "T"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(calls_are_replaced_by_their_bodies),
        TEST(a_fed_tensor_cuts_the_graph),
        TEST(what_is_fed_can_be_fetched),
        TEST(a_call_runs_behind_what_it_waits_for),
        TEST(an_effect_runs_although_nobody_uses_it),
        TEST(a_target_waits_for_results_and_effects),
        TEST(attributes_come_from_the_call_or_the_default),
        TEST(the_loops_of_tensorflow_1_stay_closed),
        TEST(recursion_is_refused),
        TEST(functions_that_unfold_without_end_are_refused),
        TEST(gradients_of_gradients_without_end_are_refused),
        TEST(gradients_of_gradients_that_grow_are_refused),
        TEST(a_gradient_with_too_few_inputs_is_refused),
        TEST(a_cycle_is_refused),
        TEST(a_merge_that_waits_for_its_own_loop_is_refused),
        TEST(a_chain_of_a_hundred_thousand_nodes_is_flattened),
        TEST(an_unknown_op_is_kept_with_its_attributes),
        TEST(a_body_that_makes_an_argument_is_refused),
        TEST(a_reference_without_its_output_is_refused),
        TEST(damaged_graphs_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("flatten", tests, NULL, NULL);
}
