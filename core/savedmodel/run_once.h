/*
 * run_once: runs a part of a model's graph once, while the model is loaded: the restore sub-graph
 * and the init op.
 */
#ifndef SAVEDMODEL_RUN_ONCE_H
#define SAVEDMODEL_RUN_ONCE_H

#include "runtime/plan.h"
#include "savedmodel/meta_proto.h"

/* A scalar string for an endpoint: the prefix of the checkpoint, or the path of an asset. */
struct run_feed {
    struct endpoint endpoint;
    struct bytes text;
};

/* The paths of the model's assets, [meta->assets_count]; the texts live in `arena`. NOT_FOUND: the
 * graph lacks the tensor of one. */
struct status asset_feeds(const struct meta *meta, const char *directory, struct arena *arena,
                          struct run_feed *feeds);

/* Runs the targets; every variable counts as mutable. Feeds may be unused. limits NULL: none. */
struct status run_once(const struct graph *graph, struct resources *resources,
                       const struct work_limits *limits, const struct run_feed *feeds,
                       int feeds_count, struct node *const *targets, int targets_count);

#endif
