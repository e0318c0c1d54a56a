/*
 * op_graph: a graph of a few nodes of any ops of ops.def, made up from choices: mostly what an op
 * expects, so that its kernel runs, and often something else in one place: a type that is not
 * allowed, a shape of another rank, an attribute or an index out of range.
 */
#ifndef FUZZ_OP_GRAPH_H
#define FUZZ_OP_GRAPH_H

#include "base/arena.h"
#include "fuzz/choices.h"
#include "graph/graph.h"

#define OP_GRAPH_FEEDS_MAX     32
#define OP_GRAPH_VARIABLES_MAX 32

struct op_graph {
    struct arena *arena;
    struct graph *graph; /* as it would stand in a file: nothing of it is checked */
    const char *feeds[OP_GRAPH_FEEDS_MAX];
    struct tensor values[OP_GRAPH_FEEDS_MAX]; /* each with exactly its bytes on the heap */
    int feeds_count;
    const char *variables[OP_GRAPH_VARIABLES_MAX]; /* shared names */
    struct tensor initial[OP_GRAPH_VARIABLES_MAX];
    int variables_count;
    const char *last; /* the node to run */
};

void op_graph_create(struct choices *choices, struct op_graph *out);
void op_graph_destroy(struct op_graph *op_graph);

/* Prints nodes, attributes and feeds for the one who looks for a bug. */
void op_graph_print(const struct op_graph *op_graph);

#endif
