/* Inference over a whole graph (build.h). */
#include "graph/build.h"
#include "graph/ops/infer.h"
#include "graph/order.h"

struct status graph_infer(struct graph *graph)
{
    struct node **order;
    TRY(graph_order(graph, graph->arena, &order));
    for (int i = 0; i < graph->count; i++)
        TRY(node_infer(graph, order[i]));
    return status_ok();
}
