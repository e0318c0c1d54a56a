/*
 * legacy_ops_proto: replaces ops of a GraphDef by equivalent ops of another TensorFlow version. A
 * node keeps its name, and each output its index. Only nodes of the graph itself are replaced, not
 * those of functions, which the exports of that time do not have.
 */
#ifndef SAVEDMODEL_LEGACY_OPS_PROTO_H
#define SAVEDMODEL_LEGACY_OPS_PROTO_H

#include "base/arena.h"
#include "base/status.h"

struct Tensorflow__GraphDef;

/* Restore and RestoreSlice -> RestoreV2, which reads checkpoints of both formats. UNIMPLEMENTED:
 * a node whose tensor name is not a constant, which savers never produce. */
struct status legacy_ops_upgrade(struct Tensorflow__GraphDef *graph, struct arena *arena);

/* ParseExampleV2 without ragged features -> ParseExample; AddV2 -> Add, which TensorFlow 1 has in
 * all its versions. */
struct status legacy_ops_downgrade(struct Tensorflow__GraphDef *graph, struct arena *arena);

#endif
