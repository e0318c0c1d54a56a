/*
 * while: shared by the two files of the gradient of While: while.c makes the forward loop push what
 * the gradient needs, while_backward.c makes the loop that pops it. Internal to graph/gradients/.
 */
#ifndef GRAPH_GRADIENTS_WHILE_H
#define GRAPH_GRADIENTS_WHILE_H

#include "graph/function.h"
#include "graph/gradients/emit.h"

/* A forward value that the backward body takes. */
struct taken {
    struct endpoint value; /* in the forward body */
    int carried;           /* the carried value that it equals; -1: it is pushed */
    struct endpoint image; /* in the backward body */
};

/* The state while the gradient of one loop is built. */
struct loop_gradient {
    struct gradient_context *c;
    struct arena *arena; /* of the graph */
    struct node *loop;
    int count;                 /* carried values */
    bool *flows;               /* has the carried value a gradient? [count] */
    struct function_body body; /* the forward body, and then also the nodes of its gradient */
    struct builder inner;      /* adds to it */
    struct endpoint *given;    /* in it: placeholders for the gradients of the results [count] */
    struct endpoint *found;    /* in it: the gradients of the arguments [count] */
    int forward_count;         /* its first nodes are the forward body's */
    int gradient_end;          /* the nodes from there on are not the gradient's */
    bool *is_forward;          /* by node id: the forward body computes it */
    bool *is_copied;           /* by node id: the backward body computes it */
    struct taken *taken;
    int taken_count, taken_capacity;
};

/* Finds the forward value among those that the backward body takes; NULL: not taken. */
struct taken *while_find_taken(const struct loop_gradient *g, struct endpoint value);
/* Adds the backward loop, after the forward loop that pushes, and passes its gradients on. */
struct status while_add_backward(struct loop_gradient *g);

#endif
