/*
 * function: the library of functions of a graph (FunctionDefLibrary). A body is instantiated for
 * the attributes of a call. It is a graph: its arguments are nodes of op "_Arg" (attributes T,
 * index), its results are endpoints.
 */
#ifndef GRAPH_FUNCTION_H
#define GRAPH_FUNCTION_H

#include "graph/graph.h"

struct function;

struct function_arg {
    const char *name;
    enum dtype dtype;
};

struct function_body {
    struct graph *graph; /* shares the library of the caller's graph */
    struct endpoint *args;
    int args_count;
    struct endpoint *results;
    int results_count;
    struct node **controls; /* control_ret: run for their effect */
    int controls_count;
};

/* NULL: no such function */
const struct function *function_find(const struct function_library *library, const char *name);
const char *function_name(const struct function *function);
/* Its name, arguments, results and attributes, in the form of an op. */
const struct op *function_signature(const struct function *function);

/**
 * The body of a function for the attributes of a call.
 *
 * Owner   *out in `arena`; attributes and constants are shared with the library
 * Errors  NOT_FOUND no function of that name; INVALID_ARGUMENT a reference or placeholder that does
 *         not resolve
 */
struct status function_instantiate(const struct graph *graph, const struct function_name *name,
                                   struct arena *arena, struct function_body *out);

#endif
