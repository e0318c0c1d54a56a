/*
 * order: the nodes of a graph so that each stands behind what it needs.
 */
#ifndef GRAPH_ORDER_H
#define GRAPH_ORDER_H

#include "graph/graph.h"

/**
 * Topological order over data and control edges; nodes that do not depend on each other keep their
 * order in the graph. The edges that close TensorFlow 1's loops (NextIteration to Merge) do not
 * count.
 *
 * Owner   *out, graph->count nodes, in `arena`
 * Errors  INVALID_ARGUMENT names a node of a cycle
 */
struct status graph_order(const struct graph *graph, struct arena *arena, struct node ***out);

#endif
