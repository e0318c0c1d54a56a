/*
 * graph: nodes joined by endpoints: a GraphDef in memory, free of protobuf types. Made by
 * graph_from_proto (a file), by the functions of build.h (layers, gradients, exports), or by
 * graph_flatten (what one signature needs, calls inlined).
 *
 * A graph of a file may hold ops that Slipway does not know (a median export carries a dozen
 * outside its serving path): their nodes have `op == NULL` and keep name, inputs and attributes, so
 * that the graph can be shown and written back. They are an error only if they are to be run.
 *
 * Owner: everything lives in the graph's arena, except the buffers of constants that were read from
 * a file (graph_finish). Names are unique in a graph.
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

/* The dtype and the shape of an output, as far as they are known before running. DT_INVALID:
 * unknown. */
struct output {
    enum dtype dtype; /* the base type of a reference */
    bool is_ref;
    struct shape shape; /* may be unknown, in part or whole */
};

struct node {
    const char *name;
    const char *op_name;
    const struct op *op; /* NULL: unknown, or a call of a library function by its name */
    int id;              /* index in graph->nodes */
    struct endpoint *inputs;
    int inputs_count;
    struct node **controls; /* run before this one */
    int controls_count;
    struct attr *attrs; /* as given, without defaults */
    int attrs_count;
    struct output *outputs; /* set for known ops; outputs_count 0 for unknown ones */
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
    int outputs_total; /* of all nodes: limited, because a few bytes of a file may declare many */
};

/* An empty graph, in an arena that must outlive it. graph_finish releases the constants that the
 * graph owns; only graph_from_proto makes any. */
struct graph *graph_create(struct arena *arena);
void graph_finish(struct graph *graph); /* accepts NULL */

/*
 * Add nodes as files hold them; build.h is the convenient way. Names and attributes are not copied:
 * they must live as long as the graph (in its arena).
 * Errors  INVALID_ARGUMENT a node of that name is there
 */
struct status graph_add(struct graph *graph, const char *op_name, const char *name,
                        struct node **out);
void node_add_input(struct graph *graph, struct node *node, struct endpoint input);
void node_add_control(struct graph *graph, struct node *node, struct node *control);
void node_set_attr(struct graph *graph, struct node *node, const struct attr *attr); /* replaces */
/* Gives the node attributes of its own. Nodes of a flattened graph and of a function's body share
 * theirs with the graph or the library: call it before node_set_attr. */
void node_own_attrs(struct graph *graph, struct node *node);

/* The graph owns a reference to the buffer of this tensor until graph_finish. */
void graph_own(struct graph *graph, struct tensor tensor);

struct node *graph_find(const struct graph *graph, const char *name); /* NULL: none of that name */

/* "name", "name:1" -> endpoint. NOT_FOUND names the missing node; INVALID_ARGUMENT: it has no
 * such output. */
struct status graph_endpoint(const struct graph *graph, const char *text, struct endpoint *out);
/* The inferred dtype and shape of an endpoint. Either may be unknown. */
enum dtype endpoint_dtype(struct endpoint endpoint);
const struct shape *endpoint_shape(struct endpoint endpoint);
/* "name:1"; in a ring of 8 buffers of the thread */
const char *endpoint_text(struct endpoint endpoint);

/*
 * Attributes, with the op's defaults. The value is checked for its kind.
 * Errors  INVALID_ARGUMENT `node 'x' (Conv2D): attribute 'strides' is missing`
 *
 * node_attr returns NULL if the attribute is neither given nor has a default.
 */
const struct attr_value *node_attr(const struct node *node, const char *name);
struct status node_attr_int(const struct node *node, const char *name, int64_t *out);
/* An int that TensorFlow reads as int32; INVALID_ARGUMENT if it does not fit. */
struct status node_attr_int32(const struct node *node, const char *name, int64_t *out);
/* An int that is 0 by default, such as StridedSlice's masks. */
int64_t node_attr_int_or_0(const struct node *node, const char *name);
struct status node_attr_float(const struct node *node, const char *name, float *out);
struct status node_attr_bool(const struct node *node, const char *name, bool *out);
struct status node_attr_string(const struct node *node, const char *name, struct bytes *out);
/* the base type */
struct status node_attr_type(const struct node *node, const char *name, enum dtype *out);
struct status node_attr_shape(const struct node *node, const char *name, const struct shape **out);
struct status node_attr_tensor(const struct node *node, const char *name,
                               const struct tensor **out);
struct status node_attr_func(const struct node *node, const char *name,
                             const struct function_name **out);
/* A list of any kind; *out has kind ATTR_LIST. */
struct status node_attr_list(const struct node *node, const char *name,
                             const struct attr_value **out);
/* The same for a list whose elements, if it has any, are of a kind. INVALID_ARGUMENT: of another */
struct status node_attr_list_of(const struct node *node, const char *name, enum attr_kind kind,
                                const struct attr_value **out);
/* Is its data_format NHWC? True for a node without one. */
bool node_is_nhwc(const struct node *node);

/* Infers the shapes of all nodes in topological order; for graphs of graph_from_proto. */
struct status graph_infer(struct graph *graph);

/*
 * Extracts the part of a graph that one signature needs, without calls. Keeps the nodes that are
 * reachable backwards from `fetches` and `targets` (data and control edges), cuts at `feeds`, and
 * replaces each call (PartitionedCall, StatefulPartitionedCall, a node whose op is a library
 * function) by the body of its function, recursively. The bodies of If, Case and While stay
 * functions, which runtime/plan instantiates and flattens in turn.
 *
 * A feed becomes a Placeholder node of the new graph. feeds, fetches and targets are endpoints and
 * nodes of `graph`; the result holds their counterparts. Nodes of the result are in topological
 * order, and all of them must run: a node that no fetch or target needs is there for its effect.
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
    /* Declared shapes of feeds for which the graph has none; NULL: none. */
    const struct shape *feed_shapes;
};
struct flatten_result {
    struct graph *graph;
    struct endpoint *feeds, *fetches; /* in the order of the request */
    struct node **targets;
};
struct status graph_flatten(const struct graph *graph, const struct flatten_request *request,
                            struct arena *arena, struct flatten_result *out);

/* A flattened graph and its arena, which are always owned together. */
struct flat_graph {
    struct arena *arena; /* NULL: there is none */
    struct flatten_result parts;
};
struct status flat_graph_create(const struct graph *graph, const struct flatten_request *request,
                                struct flat_graph *out);
void flat_graph_drop(struct flat_graph *flat); /* leaves none */

#endif
