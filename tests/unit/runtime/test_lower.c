/*
 * Control flow of TensorFlow 1 against TensorFlow's answers. tests/golden/control_flow/graphs.py
 * writes the graphs, and says how they hold the answers.
 */
#include "unit/runtime/answered_graph.h"

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

int main(void)
{
    const struct CMUnitTest more[] = {
        cmocka_unit_test_setup_teardown(refuses_what_it_cannot_lower, setup, teardown),
    };
    return run_graphs("lower", GRAPHS, is_refused, more, COUNT(more));
}
