/*
 * attr_proto: AttrValue to and from struct attr_value, for the files that translate graphs and
 * libraries.
 */
#ifndef GRAPH_ATTR_PROTO_H
#define GRAPH_ATTR_PROTO_H

#include "graph/graph.h"
#include "graph/op.h"
#include "proto/graph.pb-c.h"

/* The state of reading a file: the arena of results, the owner of tensors, whether bytes may be
 * borrowed. */
struct proto_reader {
    struct arena *arena;
    struct graph *graph;
    bool borrow;
    size_t *repeated; /* bytes of constants that repeat a few elements, so far */
};

/* The entries of a map<string, AttrValue>: protobuf-c makes a type of its own for each map. */
typedef Tensorflow__NodeDef__AttrEntry attr_entry;

/* `op` (may be NULL) lends its attribute names, which then need no copy. The last of two equal
 * names counts, as everywhere in protobuf. `_output_shapes`, a hint, is left out. */
struct status attrs_from_proto(const struct proto_reader *reader, size_t count,
                               attr_entry *const *entries, const struct op *op, struct attr **attrs,
                               int *attrs_count);
struct status attr_value_from_proto(const struct proto_reader *reader,
                                    const Tensorflow__AttrValue *proto, struct attr_value *out);

/* In the order of the names. */
attr_entry **attrs_to_proto(const struct attr *attrs, int count, struct arena *arena);
Tensorflow__AttrValue *attr_value_to_proto(const struct attr_value *value, struct arena *arena);

#endif
