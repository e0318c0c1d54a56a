/*
 * collections_proto: the collections of a MetaGraphDef, a map from names to lists.
 */
#ifndef SAVEDMODEL_COLLECTIONS_PROTO_H
#define SAVEDMODEL_COLLECTIONS_PROTO_H

#include "base/arena.h"
#include "base/status.h"
#include "proto/meta_graph.pb-c.h"

/* Finds a collection; NULL: none of that name. The last of two counts, as everywhere in
 * protobuf. */
Tensorflow__CollectionDef *collection_find(const Tensorflow__MetaGraphDef *meta, const char *name);
void collection_remove(Tensorflow__MetaGraphDef *meta, const char *name);

/* Adds a collection, empty and of no kind, which must not be there. */
Tensorflow__CollectionDef *collection_add(Tensorflow__MetaGraphDef *meta, const char *name,
                                          struct arena *arena);
/* Adds a collection of one node name. */
void collection_add_node(Tensorflow__MetaGraphDef *meta, const char *name, const char *node,
                         struct arena *arena);
/* Adds a collection of `count` messages, each in an Any. */
void collection_add_messages(Tensorflow__MetaGraphDef *meta, const char *name, size_t count,
                             const ProtobufCMessage *const *messages, struct arena *arena);

/* The number of Any messages in a collection; 0 if it is NULL or of another kind. */
size_t collection_messages_count(const Tensorflow__CollectionDef *collection);
/* Parses one of them. DATA_LOSS: it is not such a message. `out` as in proto_unpack. */
struct status collection_message(const Tensorflow__CollectionDef *collection, size_t index,
                                 const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                                 void *out);

#endif
