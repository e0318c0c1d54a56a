/*
 * save_proto: serializes a graph, its signatures, variables and assets as a SavedModel message, or
 * as the MetaGraphDef of a session_bundle. The same model gives the same bytes.
 */
#ifndef SAVEDMODEL_SAVE_PROTO_H
#define SAVEDMODEL_SAVE_PROTO_H

#include "savedmodel/save.h"
#include "savedmodel/save_graph.h"

/* The bytes live in `arena`. `names` may be NULL for a model without variables. */
struct status save_model_bytes(const struct saved_model *model, const struct save_names *names,
                               struct arena *arena, struct bytes *out);

struct Tensorflow__MetaGraphDef;

/* The bytes of a model's file from a meta graph as SavedModels hold them. The message is changed:
 * for a session_bundle it is downgraded (session_bundle_proto.h). */
struct status save_meta_bytes(struct Tensorflow__MetaGraphDef *meta, enum savedmodel_format format,
                              struct arena *arena, struct bytes *out);

#endif
