/*
 * loaded: a loaded model, for load.c, which restores it, and signature_plans.c, which plans its
 * signatures.
 */
#ifndef SAVEDMODEL_LOADED_H
#define SAVEDMODEL_LOADED_H

#include <pthread.h>

#include "graph/graph.h"
#include "runtime/resources.h"
#include "savedmodel/load.h"
#include "savedmodel/meta_proto.h"

/* The plan of a signature, or the failure to make it. */
struct plan_slot {
    /* The graph that the load has flattened, until a plan takes it or the model is closed. If
     * several signatures compute the same, the first one has the graph of all. */
    struct flat_graph own_flat, *flat;
    bool made;
    bool shared;          /* the plan belongs to another slot */
    struct status status; /* in the model's arena */
    struct plan *plan;
};

struct savedmodel {
    struct arena *arena;
    const char *directory;
    struct savedmodel_options options;
    enum savedmodel_format format;
    struct meta meta;
    struct resources *resources;
    struct map written;      /* variables that a signature may write */
    pthread_mutex_t lock;    /* of slots and of the arena after loading */
    struct plan_slot *slots; /* [meta.signatures_count] */
    bool is_closed;          /* no further plans: the variables' values may be gone */
    struct savedmodel_variable *variables;
    int variables_count;
    struct savedmodel_times times;
};

/* The endpoints of a signature, for flatten and plan; they live in `arena`. NOT_FOUND: the graph
 * lacks one. */
struct status savedmodel_request(const struct savedmodel *model, struct arena *arena,
                                 const struct signature *signature, struct flatten_request *out);

#endif
