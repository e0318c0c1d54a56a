/*
 * instance: the body of a function under construction, and the references in it: "arg", "arg:1",
 * "node:out", "node:out:1", "^node", as TensorFlow's function.cc resolves them. For function.c and
 * reference.c.
 */
#ifndef GRAPH_INSTANCE_H
#define GRAPH_INSTANCE_H

#include "graph/function.h"

/* The tensors args[first .. first + count) of one argument of the signature. */
struct arg_range {
    int first, count;
};

/* A body under construction. */
struct instance {
    const struct function *function;
    struct graph *graph; /* the body */
    struct node call;    /* represents the call: only its name and attributes are used */
    struct map args;     /* name -> struct arg_range */
    struct function_body body;
    int64_t inputs_total; /* of all nodes: limited, because one reference may name a whole list */
};

/* The tensors of a reference: endpoints (first + k) of `node`, or arguments. */
struct resolved {
    struct node *node; /* NULL: arguments */
    int first, count;
};

/* "arg", "arg:1", "node:out", "node:out:1". INVALID_ARGUMENT: it names nothing. */
struct status reference_resolve(const struct instance *instance, const char *text,
                                struct resolved *out);
struct endpoint reference_endpoint(const struct instance *instance, const struct resolved *resolved,
                                   int index);

/* The name after "^". */
struct status reference_control(const struct instance *instance, const char *name,
                                struct node **out);

#endif
