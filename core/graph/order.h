/*
 * order: the nodes of a graph so that each stands behind what it needs.
 */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include "graph/graph.h"

/* What to order. */
struct order_request {
    struct node *const *seeds; /* these and what they need */
    int seeds_count;
    /* Is this input (control: index -1) given from elsewhere, so that what it needs is not? */
    bool (*is_cut)(const void *context, struct endpoint input);
    const void *context;
};

/**
 * Topological order over data and control edges; nodes that do not depend on each other keep the
 * order of the seeds. The edges that close TensorFlow 1's loops (NextIteration to Merge) do not
 * count for the order, but what they need is part of it.
 *
 * Owner   *out, *out_count nodes, in `arena`
 * Errors  INVALID_ARGUMENT names a node of a cycle
 */
struct status graph_order_some(const struct graph *graph, const struct order_request *request,
                               struct arena *arena, struct node ***out, int *out_count);

/* All nodes: graph->count of them. */
struct status graph_order(const struct graph *graph, struct arena *arena, struct node ***out);

#endif
