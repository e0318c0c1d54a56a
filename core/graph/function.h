/*
 * function: the library of functions of a graph (FunctionDefLibrary). A body is instantiated for
 * the attributes of a call. It is a graph: its arguments are nodes of op "_Arg" (attributes T,
 * index), its results are endpoints.
 */
#ifndef GRAPH_FUNCTION_H
#define GRAPH_FUNCTION_H

#include "graph/build.h"

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
/* The function that runs when a call names this one: of several that implement one interface, the
 * one for the CPU. NULL: no such function */
const struct function *function_find_called(const struct function_library *library,
                                            const char *name);
const char *function_name(const struct function *function);
/* The name of the function that the library declares as the gradient of this one. NULL: none */
const char *function_gradient_name(const struct function_library *library, const char *name);
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

/* The inputs and outputs of all its nodes: a small body may have many. */
int64_t graph_tensors(const struct graph *body);

/* Creates a library of functions for the graph, if it has none, for bodies to share. */
void function_share_library(struct graph *graph);

/* Copies the shared library, so that function_add does not change the graph from which it came. */
void function_own_library(struct graph *graph);

/* The same without a copy: functions are added to a library nested in the shared one, which must
 * live as long. */
void function_nest_library(struct graph *graph);

/* Adds an argument to a body under construction; body->args must have room. */
struct endpoint function_add_arg(struct builder *builder, struct function_body *body,
                                 enum dtype dtype, const struct shape *shape);

/**
 * Adds a function to the graph's library, from a body that was built: its arguments by
 * function_add_arg, its results any endpoints of it, its controls any nodes of it.
 *
 * Owner   the function shares the nodes' attributes with the body; *out, its name, in the graph's
 *         arena: `wanted`, followed by a number if that is taken
 */
struct status function_add(struct graph *graph, const char *wanted,
                           const struct function_body *body, const char **out);

#endif
