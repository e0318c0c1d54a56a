/*
 * prune: removes the nodes that a set of nodes does not need.
 */
#ifndef GRAPH_PRUNE_H
#define GRAPH_PRUNE_H

#include "graph/graph.h"

/* Keeps `kept` and what they need, over data and control edges, in the graph's order. */
void graph_prune(struct graph *graph, struct node *const *kept, int kept_count,
                 struct arena *scratch);

#endif
