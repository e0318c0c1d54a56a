/*
 * session_bundle_proto: the MetaGraphDef of a session_bundle, TensorFlow's export format before
 * SavedModel. It keeps in collections what SavedModel has fields for:
 *
 *     serving_signatures  Any of one tensorflow.serving.Signatures
 *     serving_init_op     the name of one op, which runs after the restore
 *     serving_assets      Any of each tensorflow.serving.AssetFile
 *     serving_graph       Any of one GraphDef, which replaces graph_def
 *
 * Both functions change a message in place and may fail halfway. Their additions live in `arena`.
 * Sources: session_bundle/exporter.py, session_bundle.cc and bundle_shim.cc of TensorFlow 1.14.
 */
#ifndef SAVEDMODEL_SESSION_BUNDLE_PROTO_H
#define SAVEDMODEL_SESSION_BUNDLE_PROTO_H

#include "base/arena.h"
#include "base/status.h"

struct Tensorflow__MetaGraphDef;

/**
 * Turns the message into the one that a SavedModel holds, with the tag `serve`:
 *
 * - Signatures as TensorFlow's servers of that time gave them: the default signature becomes
 *   `serving_default` (classify or regress). If there is none, the named signatures `inputs` and
 *   `outputs` do (predict). Signatures of the SavedModel kind in the file
 *   stay. So does a `serving_default` of that kind that names the same tensors: it has shapes.
 * - If there is a default signature and the file has none of the SavedModel kind, `inputs` and
 *   `outputs` become the signature `predict`. TensorFlow's servers dropped them.
 * - dtype and shape of each tensor of a signature come from the graph.
 * - Restore and RestoreSlice, which read only format V1, become RestoreV2, which reads V1 and V2.
 * - No node has a device.
 *
 * Errors  as TensorFlow's: UNIMPLEMENTED a generic default signature; INVALID_ARGUMENT named
 *         signatures without a default and without both `inputs` and `outputs`;
 *         FAILED_PRECONDITION several signatures, graphs or init ops; DATA_LOSS no graph, or a
 *         message in a collection that does not parse; those of graph_from_proto
 */
struct status session_bundle_upgrade(struct Tensorflow__MetaGraphDef *meta, struct arena *arena);

/**
 * The reverse. `serving_default` becomes the default signature if it classifies or regresses; a
 * signature that predicts (`serving_default`, or else the first by name) becomes the named
 * signatures `inputs` and `outputs`. All signatures also stay unchanged: readers of that time skip
 * them, and session_bundle_upgrade finds them again. ParseExampleV2 and AddV2, which TensorFlow 1
 * does not have, become ParseExample and Add.
 */
struct status session_bundle_downgrade(struct Tensorflow__MetaGraphDef *meta, struct arena *arena);

#endif
