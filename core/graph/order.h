/*
 * order: topological order of a graph's nodes.
 */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include "graph/graph.h"

/* The nodes to order. */
struct order_request {
    struct node *const *seeds; /* these nodes and everything that they need */
    int seeds_count;
    /* Is this input (index -1: a control) given externally, so that its nodes are omitted? */
    bool (*is_cut)(const void *context, struct endpoint input);
    const void *context;
};

/**
 * Topological order over data and control edges. Independent nodes keep the order of the seeds. The
 * back edges of TensorFlow 1's loops (NextIteration to Merge) do not restrict the order, but the
 * nodes that they need are part of it.
 *
 * Owner   *out, *out_count nodes, in `arena`
 *
 * Errors  INVALID_ARGUMENT names a node of a cycle
 */
struct status graph_order_some(const struct graph *graph, const struct order_request *request,
                               struct arena *arena, struct node ***out, int *out_count);

/* All nodes: graph->count of them. */
struct status graph_order(const struct graph *graph, struct arena *arena, struct node ***out);

#endif
