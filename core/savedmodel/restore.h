/*
 * restore: fills the variables that signatures and the init op need from the checkpoint.
 *
 * Only the restore sub-graph says which key a variable has: RestoreV2 feeds AssignVariableOp (or
 * Assign). So that sub-graph is run, but only the assignments whose variable is needed: Keras
 * exports hold every weight twice, and training exports hold the optimizer's slots.
 * tf.saved_model.save around Keras 3 layers assigns other variables than the signatures read.
 * Variables that are still empty are restored as tf.saved_model.load does it, by the object graphs
 * (restore_objects.h). A value must have the dtype and the shape that the graph declares.
 */
#ifndef SAVEDMODEL_RESTORE_H
#define SAVEDMODEL_RESTORE_H

#include "runtime/plan.h"
#include "savedmodel/load.h"
#include "savedmodel/meta_proto.h"
#include "savedmodel/run_once.h"

struct restore {
    const struct meta *meta;
    const char *prefix; /* <directory>/variables/variables */
    /* Fail if there is no checkpoint, as the loaders of session_bundle do. The prefix may then be a
     * pattern of names of files. */
    bool prefix_required;
    struct resources *resources;
    /* The requests that need variables; an empty graph: a request that does not flatten, and
     * needs none. */
    const struct flatten_result *needed;
    int needed_count;
    const struct run_feed *assets; /* [meta->assets_count] */
    struct arena *arena;           /* where results live */
    const struct work_limits *limits;
    /* results */
    struct savedmodel_variable *variables;
    int variables_count;
};

/* Restores nothing, and succeeds, if there is no variables/variables.index and none is required. */
struct status restore_variables(struct restore *restore);

/* Call it after the init op. DATA_LOSS: there is no variables/variables.index, and a needed
 * variable has no value, and no signature (`written`) gives it one. TensorFlow loads such a model
 * and fails each request. Here a model that is still being copied must not replace a version that
 * answers. */
struct status restore_check_whole(const struct restore *restore, const struct map *written);

#endif
