/*
 * Gradients of ops whose inputs are no plain tensors, against TensorFlow's.
 * tests/golden/gradients/graphs.py writes the graphs, and says how they hold the answers.
 */
#include "unit/runtime/answered_graph.h"

#include "graph/function.h"
#include "graph/gradient.h"
#include "graph/lower/lower.h"

#define GRAPHS "tests/golden/gradients/"

/* The graph of the loss, in which loops of TensorFlow 1 have become While nodes. */
static void flatten_loss(const struct answers *feeds, struct flatten_result *out)
{
    struct endpoint loss = { graph_find(graph, "loss"), 0 };
    const struct flatten_request request = {
        .feeds = feeds->of, .feeds_count = feeds->count, .fetches = &loss, .fetches_count = 1
    };
    assert_non_null(loss.node);
    assert_ok(graph_flatten(graph, &request, arena, out));
    function_own_library(out->graph);
    assert_ok(graph_lower(&request, out));
    assert_ok(graph_infer(out->graph));
}

static void run_gradients(struct graph *flat, const struct flatten_request *request,
                          const struct answers *feeds, const struct answers *wanted)
{
    struct tensor values[TENSORS_MAX], got[TENSORS_MAX];
    struct plan *plan;
    assert_ok(plan_create(flat, request, resources, NULL, NULL, &plan));
    for (int round = 0; round < 2; round++) { /* twice: nothing stays from the first run */
        for (int i = 0; i < feeds->count; i++)
            values[i] = *feeds->values[i];
        assert_ok(plan_run(plan, run, values, got));
        for (int i = 0; i < wanted->count; i++) {
            assert_same(&got[i], wanted->values[i], wanted->of[i].node->name);
            tensor_release(&got[i]);
        }
        run_reset(run);
    }
    plan_destroy(plan);
}

static void has_tensorflows_gradients(void **state)
{
    struct answers feeds, wanted;
    struct flatten_result flat;
    struct endpoint gradients[TENSORS_MAX];
    load_graph(*state);
    find_answers("answers/0/feed/", &feeds);
    find_answers("answers/0/gradient/", &wanted);
    assert_int_equal(feeds.count, wanted.count);
    flatten_loss(&feeds, &flat);
    struct builder b = builder_init(flat.graph);
    assert_ok(graph_gradients(&b, flat.fetches[0], feeds.count, flat.feeds, gradients));
    for (int i = 0; i < feeds.count; i++)
        assert_non_null(gradients[i].node);
    const struct flatten_request request = { .feeds = flat.feeds,
                                             .feeds_count = feeds.count,
                                             .fetches = gradients,
                                             .fetches_count = feeds.count };
    run_gradients(flat.graph, &request, &feeds, &wanted);
    graph_finish(flat.graph);
}

int main(void)
{
    return run_graphs_by(has_tensorflows_gradients, "gradient graphs", GRAPHS, NULL, NULL, 0);
}
