/*
 * library: functions as a file holds them, before they are instantiated: references in their bodies
 * are text. graph_proto.c fills it and writes it back, function.c resolves it. Everything lives in
 * the arena of the graph.
 */
#ifndef GRAPH_LIBRARY_H
#define GRAPH_LIBRARY_H

#include "graph/function.h"

/* A node of a body. */
struct body_node {
    const char *name, *op_name, *device;
    const char **inputs; /* "arg", "node:out:0", "^node" */
    int inputs_count;
    struct attr *attrs;
    int attrs_count;
    bool has_placeholder; /* an attribute takes its value from the call */
};

/* An entry of `ret` or `control_ret`. */
struct body_result {
    const char *name, *value;
};

/* Attributes of an argument, which are carried through. */
struct body_arg_attrs {
    uint32_t index;
    struct attr *attrs;
    int attrs_count;
};

struct function {
    struct op signature;
    const char **control_outputs;
    int control_outputs_count;
    struct body_node *nodes;
    int nodes_count;
    struct body_result *results; /* one for each output of the signature; value NULL: not given */
    struct body_result *controls;
    int controls_count;
    struct attr *attrs;
    int attrs_count;
    struct body_arg_attrs *arg_attrs;
    int arg_attrs_count;
    uint32_t (*resource_ids)[2]; /* argument, id */
    int resource_ids_count;
};

/* `function_name` has the gradient `gradient_name`: carried through. */
struct library_gradient {
    const char *function_name, *gradient_name;
};

struct function_library {
    const struct function_library *outer; /* its functions are found, too; NULL: none */
    struct function *functions;           /* in file order */
    int count, capacity;                  /* capacity: of those that function_add may still fill */
    struct map by_name;                   /* name -> struct function */
    struct map name_counters;             /* name -> the last suffix that made it unique */
    int added_nodes;                      /* of the functions that function_add has added */
    int walks;                            /* of gradient.c, one inside the other */
    struct library_gradient *gradients, *registered;
    int gradients_count, registered_count;
};

#endif
