/*
 * graph_proto: GraphDef to and from `struct graph`, which is free of protobuf types.
 */
#ifndef GRAPH_GRAPH_PROTO_H
#define GRAPH_GRAPH_PROTO_H

#include "graph/graph.h"

struct Tensorflow__GraphDef;

/**
 * Owner   *out in `arena`. With `borrow` constants of 64 KiB and more may point into the message's
 *         bytes, which then must live as long
 * Errors  INVALID_ARGUMENT a duplicate name, an input that names no node or no output of it, or is
 *         of the wrong type, an attribute that does not decode; all name the node.
 *         RESOURCE_EXHAUSTED constants or outputs far beyond what the file's size allows
 */
struct status graph_from_proto(const struct Tensorflow__GraphDef *proto, struct arena *arena,
                               bool borrow, struct graph **out);

/* The reverse, nodes in graph order, attributes by name (without `_output_shapes`). The message
 * lives in `arena` and borrows from the graph. */
struct Tensorflow__GraphDef *graph_to_proto(const struct graph *graph, struct arena *arena);

/* A hash of its GraphDef: two graphs with the same hash compute the same. */
uint64_t graph_hash(const struct graph *graph);

#endif
