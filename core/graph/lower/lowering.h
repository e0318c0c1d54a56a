/*
 * lowering: the state of graph_lower (lower.h), for lower.c, loops.c and branches.c.
 */
#ifndef GRAPH_LOWER_LOWERING_H
#define GRAPH_LOWER_LOWERING_H

#include "graph/control_flow.h"
#include "graph/cut.h"
#include "graph/lower/lower.h"

/* The replacement of a node. */
struct lowered_node {
    bool is_gone;      /* it is now part of a function, or not needed */
    bool has_value[2]; /* output k is output first_output + k of `node` */
    struct node *node; /* wait for this one instead; NULL: for none */
    int first_output;
};

struct lowering {
    struct graph *graph;
    struct arena *scratch;
    struct cut_tables tables;
    struct lowered_node *lowered_nodes; /* [id] */
    int count;                          /* of nodes before any was added */
};

/* UNIMPLEMENTED `node 'x' (Merge): why`. */
struct status not_structured(const struct node *node, const char *why);

/* Takes out branches whose predicate is a constant, such as Keras' learning phase: what remains can
 * be fused with the nodes around it. */
struct status drop_dead_branches(struct lowering *lowering);
/* Adds a While for each outermost frame. */
struct status lower_loops(struct lowering *lowering);
/* Adds an If for each group of nodes that one predicate governs. The graph has no loops left. */
struct status lower_branches(struct lowering *lowering);

#endif
