/*
 * restore: fills the variables that signatures and the init op need from the checkpoint.
 *
 * What a variable's key is stands nowhere but in the restore sub-graph: RestoreV2 feeds
 * AssignVariableOp (or Assign). So that sub-graph is run, but only those assignments whose variable
 * is needed: today's Keras exports hold every weight twice, and a training export its optimizer
 * slots. Variables that it leaves empty (tf.saved_model.save around Keras 3 layers fills others
 * than the signatures read) are restored as tf.saved_model.load does it, by the object graphs
 * (restore_objects.h). A value must have the dtype and shape that the graph declares. Source:
 * savedmodel-format.md §13, §14, §14b, §15.
 */
#ifndef SAVEDMODEL_RESTORE_H
#define SAVEDMODEL_RESTORE_H

#include "runtime/plan.h"
#include "savedmodel/load.h"
#include "savedmodel/meta_proto.h"

/* A scalar string for an endpoint: the checkpoint's prefix, the path of an asset. */
struct run_feed {
    struct endpoint endpoint;
    struct bytes text;
};

struct restore {
    const struct meta *meta;
    const char *prefix; /* <directory>/variables/variables */
    struct resources *resources;
    const struct flatten_request *needed;
    int needed_count;
    const struct run_feed *assets; /* [meta->assets_count] */
    struct arena *arena;           /* where results live */
    const struct work_limits *limits;
    /* results */
    struct savedmodel_variable *variables;
    int variables_count;
    size_t weights_bytes;
};

/* Without variables/variables.index nothing is restored, and nothing is wrong yet. */
struct status restore_variables(struct restore *restore);

/* After the init op: DATA_LOSS where there is no variables/variables.index and a needed variable
 * has no value, nor gets one from a signature (`written`). TensorFlow loads such a model and fails
 * each request; but a copy under way looks like this, and must not replace a version that answers.
 */
struct status restore_check_whole(const struct restore *restore, const struct map *written);

/* Runs targets once, with every variable taken as mutable. Feeds that nothing reaches are allowed.
 */
struct status run_once(const struct graph *graph, struct resources *resources,
                       const struct work_limits *limits, const struct run_feed *feeds,
                       int feeds_count, struct node *const *targets, int targets_count);

#endif
