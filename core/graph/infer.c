/* Inference over a whole graph (graph.h). */
#include "graph/ops/infer.h"
#include "graph/order.h"

struct status graph_infer(struct graph *graph)
{
    struct arena *scratch = arena_create(0);
    struct node **order;
    struct status status = graph_order(graph, scratch, &order);

    for (int i = 0; status_is_ok(status) && i < graph->count; i++)
        status = node_infer(graph, order[i]);
    arena_destroy(scratch);
    return status;
}
