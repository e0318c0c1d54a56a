/*
 * cut: cuts functions out of a graph: the bodies of a branch or a loop (lower.c). All functions of
 * one node take the same arguments. A reference to a variable cannot be an argument; each function
 * that uses one gets a variable node of its own, of the same name.
 *
 *     cut_begin(&cut, &tables);
 *     TRY(cut_argument(&cut, inside, source));         `inside` will be an argument
 *     TRY(cut_capture(&cut, &body));                   so will be all that the body uses besides
 *     TRY(cut_function(&cut, &body, name, &function));
 *     cut_end(&cut);
 */
#ifndef GRAPH_CUT_H
#define GRAPH_CUT_H

#include "graph/function.h"

/* Shared by the cuts of one graph, so that the cost of each is proportional to its own nodes.
 * Nodes that are added to the graph later must not be cut out. */
struct cut_tables {
    struct graph *graph;
    struct arena *scratch;
    int **arguments;      /* [id][output] 1 + argument, or -1 - variable; 0: neither */
    struct node **copies; /* [id] the copy in the function that is being made */
    bool *is_inside;      /* [id] is it a node of that function? */
};

void cut_tables_init(struct cut_tables *tables, struct graph *graph, struct arena *scratch);

struct cut {
    struct cut_tables *tables;
    struct endpoint *sources; /* the caller's value for each argument */
    enum dtype *dtypes;
    struct endpoint *marked; /* the outputs that have an entry in tables->arguments */
    struct node **variables; /* whose references the functions use */
    struct node **controls;  /* nodes that the caller must wait for */
    bool stateful;           /* some node of a function has an effect */
    int sources_count, sources_capacity, marked_count, marked_capacity;
    int variables_count, variables_capacity, controls_count, controls_capacity;
};

/* A function to make. */
struct cut_body {
    struct node *const *nodes; /* in the order of the graph */
    int nodes_count;
    const struct endpoint *results; /* node NULL: the constant `index`, of type int32 */
    int results_count;
    bool runs_sinks; /* also run the nodes that nothing uses, for their effect */
};

void cut_begin(struct cut *cut, struct cut_tables *tables);
void cut_end(struct cut *cut);

/* Makes `inside` an argument of the functions, for which the caller passes `source`. Two outputs
 * may be the same argument (`cut_alias`). UNIMPLEMENTED: its type is unknown. */
struct status cut_argument(struct cut *cut, struct endpoint inside, struct endpoint source);
struct status cut_alias(struct cut *cut, struct endpoint inside, struct endpoint same);

/* Makes arguments of all values that the body uses and that are neither inside nor arguments
 * yet. The caller waits for outside nodes that inside nodes wait for. */
struct status cut_capture(struct cut *cut, const struct cut_body *body);

/* The caller waits for this node. */
void cut_wait(struct cut *cut, struct node *control);

/* Adds the function to the library of the graph. *out: its name. */
struct status cut_function(struct cut *cut, const struct cut_body *body, const char *wanted,
                           const char **out);

#endif
