/*
 * save_proto: serializes a graph, its signatures, variables and assets as a SavedModel message; the
 * only file of this folder that writes protobuf-c's types. The same model gives the same bytes.
 */
#ifndef SAVEDMODEL_SAVE_PROTO_H
#define SAVEDMODEL_SAVE_PROTO_H

#include "savedmodel/save.h"
#include "savedmodel/save_graph.h"

/* The bytes live in `arena`. `names` may be NULL for a model without variables. */
struct bytes save_model_bytes(const struct saved_model *model, const struct save_names *names,
                              struct arena *arena);

#endif
