/*
 * Control flow of TensorFlow 1 against TensorFlow's answers. tests/golden/control_flow/graphs.py
 * writes the graphs, and says how they hold the answers.
 */
#include "unit/runtime/answered_graph.h"

#include "graph/build.h"

#define GRAPHS "tests/golden/control_flow/"

static bool is_refused(const char *path)
{
    return strstr(path, "refused") != NULL;
}

/* Graphs without the structure of tf.cond and tf.while_loop. */
static void refuses_what_it_cannot_lower(void **state)
{
    (void)state;
    static const struct row {
        const char *name, *text;
    } rows[] = {
        { "refused_merge",
          "node 'Merge' (Merge): its inputs are not the two sides of one predicate" },
        { "refused_predicates", "node 'add' (AddV2): it needs values of two branches, of which "
                                "neither is inside the other" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct answers fetches = { 0 };
        struct plan *plan;
        load_graph(arena_printf(arena, GRAPHS "%s.pb", rows[i].name));
        find_fetches(&fetches);
        struct flatten_request request = { .fetches = fetches.of, .fetches_count = fetches.count };
        struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
        assert_string_equal(status.message, rows[i].text);
        assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
        graph_finish(graph);
        graph = NULL;
    }
}

/* A copy of its op in the branch would make another variable. */
static void a_branch_that_writes_a_temporary_variable_is_refused(void **state)
{
    (void)state;
    const struct shape scalar = shape_scalar();
    const struct attr given[] = { attr_shape("shape", &scalar), attr_type("dtype", DT_FLOAT),
                                  ATTR_END };
    graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct endpoint predicate = build_placeholder(&b, "p", DT_BOOL, scalar);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, scalar);
    struct endpoint variable = build(&b, "TemporaryVariable", "t", 0, NULL, given);
    struct node *reference = build_node(&b, "RefSwitch", NULL, 2,
                                        (struct endpoint[]){ variable, predicate }, 0, NULL, NULL);
    struct node *value =
        build_node(&b, "Switch", NULL, 2, (struct endpoint[]){ x, predicate }, 0, NULL, NULL);
    assert_ok(builder_status(&b));
    struct endpoint written = build_binary(&b, "Assign", NULL, (struct endpoint){ reference, 1 },
                                           (struct endpoint){ value, 1 });
    struct endpoint read = build_unary(&b, "Identity", NULL, written);
    struct endpoint merged =
        build(&b, "Merge", NULL, 2, (struct endpoint[]){ { value, 0 }, read }, NULL);
    struct flatten_request request = { .feeds = (struct endpoint[]){ predicate, x },
                                       .feeds_count = 2,
                                       .fetches = &merged,
                                       .fetches_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_fails_naming(plan_create(graph, &request, resources, NULL, NULL, &plan),
                        STATUS_UNIMPLEMENTED, "a variable that only a run knows");
}

int main(void)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test_setup_teardown(a_branch_that_writes_a_temporary_variable_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(refuses_what_it_cannot_lower, setup, teardown),
    };
    return run_graphs("lower", GRAPHS, is_refused, more, COUNT(more));
}
