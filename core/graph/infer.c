/* Inference over a whole graph (build.h). */
#include "graph/build.h"
#include "graph/ops/infer.h"
#include "graph/order.h"

struct status graph_infer(struct graph *graph)
{
    struct arena *scratch = arena_create(0);
    struct node **order;
    int count;
    struct status status =
        graph_order(graph, &(struct order_request){ 0 }, scratch, &order, &count);

    for (int i = 0; status_is_ok(status) && i < count; i++)
        status = node_infer(graph, order[i]);
    arena_destroy(scratch);
    return status;
}
