/*
 * graph: nodes joined by endpoints: a GraphDef in memory, free of protobuf types. Made by
 * graph_from_proto (a file), by the functions of build.h (layers, gradients, exports), or by
 * graph_flatten (what one signature needs, calls inlined).
 *
 * A graph of a file may hold ops that Slipway does not know (a median export carries a dozen
 * outside its serving path): their nodes have `op == NULL` and keep name, inputs and attributes, so
 * that the graph can be shown and written back. They are an error only for who wants to run them.
 *
 * Owner: everything lives in the graph's arena, but for the buffers of constants that were read
 * from a file (graph_finish). Names are unique in a graph.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/map.h"
#include "graph/op.h"

struct node;
struct graph;
struct function_library;

/* One output of a node: `node:index`. */
struct endpoint {
    struct node *node;
    int index;
};

/* What is known of an output before running. dtype DT_INVALID: not known. */
struct output {
    enum dtype dtype; /* the base type of a reference */
    bool is_ref;
    struct shape shape; /* may be unknown, in part or whole */
};

struct node {
    const char *name;
    const char *op_name;
    const struct op *op; /* NULL: not an op of ours (or a call of a library function by its name) */
    int id;              /* index in graph->nodes */
    struct endpoint *inputs;
    int inputs_count;
    struct node **controls; /* run before this one */
    int controls_count;
    struct attr *attrs; /* as given; defaults are not filled in */
    int attrs_count;
    struct output *outputs; /* filled in for known ops; outputs_count 0 for unknown ones */
    int outputs_count;
    const char *device;
    int inputs_capacity, controls_capacity, attrs_capacity;
};

struct graph {
    struct arena *arena;
    struct node **nodes;
    int count, capacity;
    struct map names;                 /* name -> struct node */
    struct function_library *library; /* NULL: no functions */
    int producer, min_consumer;
    struct map name_counters; /* name -> the last suffix that made it unique (build.c) */
    struct tensor *owned;     /* constants whose buffers end with the graph */
    int owned_count, owned_capacity;
    int outputs_total; /* of all nodes: limited, since a few bytes of a file may ask for many */
};

/* An empty graph in an arena that the caller keeps for as long as the graph. graph_finish gives up
 * the constants that the graph owns; only one from graph_from_proto has any. */
struct graph *graph_create(struct arena *arena);
void graph_finish(struct graph *graph); /* accepts NULL */

/*
 * Adding nodes as they stand in files; build.h is the comfortable way. Names and attributes are not
 * copied: they must live as long as the graph (in its arena).
 * Errors  INVALID_ARGUMENT a node of that name is there
 */
struct status graph_add(struct graph *graph, const char *op_name, const char *name,
                        struct node **out);
void node_add_input(struct graph *graph, struct node *node, struct endpoint input);
void node_add_control(struct graph *graph, struct node *node, struct node *control);
void node_set_attr(struct graph *graph, struct node *node, const struct attr *attr); /* replaces */

/* The graph keeps one owner of this tensor's buffer until graph_finish. */
void graph_own(struct graph *graph, struct tensor tensor);

struct node *graph_find(const struct graph *graph, const char *name); /* NULL: none of that name */

/* "name", "name:1" -> endpoint. NOT_FOUND names what is missing; INVALID_ARGUMENT an output that is
 * not there. */
struct status graph_endpoint(const struct graph *graph, const char *text, struct endpoint *out);
const char *
endpoint_text(struct endpoint endpoint); /* "name:1"; in a ring of 8 buffers of the thread */

/*
 * Attributes, with the op's defaults. The value is checked for its kind.
 * Errors  INVALID_ARGUMENT `node 'x' (Conv2D): attribute 'strides' is missing`
 */
const struct attr_value *node_attr(const struct node *node,
                                   const char *name); /* NULL: neither given nor defaulted */
struct status node_attr_int(const struct node *node, const char *name, int64_t *out);
/* An int that TensorFlow reads as int32: INVALID_ARGUMENT where it does not fit. */
struct status node_attr_int32(const struct node *node, const char *name, int64_t *out);
struct status node_attr_float(const struct node *node, const char *name, float *out);
struct status node_attr_bool(const struct node *node, const char *name, bool *out);
struct status node_attr_string(const struct node *node, const char *name, struct bytes *out);
struct status node_attr_type(const struct node *node, const char *name,
                             enum dtype *out); /* the base type */
struct status node_attr_shape(const struct node *node, const char *name, const struct shape **out);
struct status node_attr_tensor(const struct node *node, const char *name,
                               const struct tensor **out);
struct status node_attr_func(const struct node *node, const char *name,
                             const struct function_name **out);
/* A list of any kind; *out has kind ATTR_LIST. */
struct status node_attr_list(const struct node *node, const char *name,
                             const struct attr_value **out);

/*
 * What one signature needs, by itself and without calls: keeps what is reachable backwards from
 * `fetches` and `targets` (data and control), cutting at `feeds`, and replaces each call
 * (PartitionedCall, StatefulPartitionedCall, a node whose op is a library function) by the callee's
 * body, recursively (format.md §12.5). Branch and loop bodies of If, Case and While stay functions;
 * whoever builds regions instantiates and flattens them in turn.
 *
 * A feed becomes a Placeholder node of the new graph. feeds, fetches and targets are endpoints and
 * nodes of `graph`; their counterparts stand in the result. Node order in the result is
 * topological, and every node of it is to be run: those that no fetch or target needs are there for
 * their effect (what a called function must run).
 *
 * Owner   *out lives in `arena`; it shares attribute values, constants and the function library
 *         with `graph`, which must live as long
 * Errors  INVALID_ARGUMENT a cycle outside loops, recursion deeper than 64 calls, a reference that
 *         does not resolve; RESOURCE_EXHAUSTED functions that unfold without end
 */
struct flatten_request {
    const struct endpoint *feeds;
    int feeds_count;
    const struct endpoint *fetches;
    int fetches_count;
    struct node *const *targets;
    int targets_count;
    /* What feeds are declared to look like, where the graph does not say; NULL: nothing is. */
    const struct shape *feed_shapes;
};
struct flatten_result {
    struct graph *graph;
    struct endpoint *feeds, *fetches; /* as many as asked for, in that order */
    struct node **targets;
};
struct status graph_flatten(const struct graph *graph, const struct flatten_request *request,
                            struct arena *arena, struct flatten_result *out);

#endif
