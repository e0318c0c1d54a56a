/*
 * flatten_frame: one graph during flattening: the requested graph, or the body of a call. For
 * flatten.c, which makes the outermost frame, and flatten_frame.c. The frames of TensorFlow 1's
 * loops (lower/) are something else.
 */
#ifndef GRAPH_FLATTEN_FRAME_H
#define GRAPH_FLATTEN_FRAME_H

#include "graph/function.h"

struct flatten {
    const struct graph *graph;
    const struct flatten_request *request;
    struct graph *out;
    struct arena *scratch;
    struct endpoint *feeds; /* their placeholders */
    bool *is_fed;           /* by node of `graph`: is an output of it fed? */
    struct node **effects;  /* in the result: run them even if nothing uses them */
    int effects_count, effects_capacity;
    int depth;
    int gradients;            /* that this is part of: gradients of gradients */
    int unfolded;             /* nodes and calls of all bodies so far */
    int64_t unfolded_tensors; /* their graph_tensors */
    int inferred; /* the first nodes of the result, whose shapes a gradient has inferred */
};

/* The counterpart of a node in the result. */
struct image {
    struct node *node;        /* its copy; for a call, the node that runs after it, or NULL */
    struct endpoint *results; /* of a call */
    struct node **effects;    /* of a call: copies of the nodes that it must run */
    int results_count, effects_count;
    bool is_call;
};

struct frame {
    struct flatten *flatten;
    const struct graph *graph;
    const char *prefix;          /* "" or "call/" */
    const struct endpoint *args; /* NULL in the outermost frame */
    struct node *before;         /* runs before every node with an effect; may be NULL */
    struct image *images;        /* by node id */
};

/* Copies the nodes that the seeds need to the result, with calls replaced by their bodies. */
struct status frame_run(struct frame *frame, struct node *const *seeds, int seeds_count);

/* Find the counterpart of an endpoint or a node of the frame in the result. */
struct status frame_endpoint(const struct frame *frame, struct endpoint from, struct endpoint *out);
struct status frame_control(struct frame *frame, const struct node *from, struct node **out);

/* Adds a node to the result, under a unique name. */
struct status frame_add_node(struct frame *frame, const char *op_name, const char *name,
                             struct node **out);

/* Flattens the body of a function by itself, without its effects. The fetches of the result are the
 * arguments, which stay nodes of op "_Arg", and then the results. Owner: as flatten->out. */
struct status flatten_function(struct flatten *flatten, const struct function_body *body,
                               struct flatten_result *out);

/* The body of a node SymbolicGradient, as function_instantiate: symbolic_gradient.c. */
struct status symbolic_gradient_instantiate(struct frame *frame, const struct node *call,
                                            const struct function_name *function,
                                            struct function_body *out);

/* The placeholder of a fed endpoint. Returns false if it is not fed. */
bool flatten_find_feed(const struct flatten *flatten, struct endpoint endpoint,
                       struct endpoint *out);

/* Placeholder or PlaceholderWithDefault. */
bool node_is_placeholder(const struct node *node);

#endif
