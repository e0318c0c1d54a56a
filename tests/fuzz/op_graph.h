/*
 * op_graph: generates a graph of one to three ops of ops.def and their inputs. Most choices are
 * valid, so that the kernels run. Often one of them is not: a forbidden type, a shape of another
 * rank, an attribute or an index out of range.
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
    struct graph *graph; /* unchecked, like one from a file */
    const char *feeds[OP_GRAPH_FEEDS_MAX];
    struct tensor values[OP_GRAPH_FEEDS_MAX]; /* elements in a heap block of exactly their size */
    int feeds_count;
    const char *variables[OP_GRAPH_VARIABLES_MAX]; /* shared names */
    struct tensor initial[OP_GRAPH_VARIABLES_MAX];
    int variables_count;
    const char *last; /* the node to run */
};

void op_graph_create(struct choices *choices, struct op_graph *out);
void op_graph_destroy(struct op_graph *op_graph);

/* Prints nodes, attributes and feeds, for debugging. */
void op_graph_print(const struct op_graph *op_graph);

#endif
