/*
 * shared_plans: finds signatures that can share a plan, and variables that only one plan needs.
 * Keras exports a model as `serve` and as `serving_default`: one plan for both halves the memory
 * and the time of a load.
 */
#ifndef SAVEDMODEL_SHARED_PLANS_H
#define SAVEDMODEL_SHARED_PLANS_H

#include "graph/graph.h"

struct shared_plans {
    int *first;      /* [count] the first request that computes the same: the request itself if
                      * none */
    struct map *own; /* [count] names of variables whose values the request's plan may take over:
                      * it only reads them, and no later plan needs them */
};

/* The nearest request before `index` whose flattened graph computes the same; `index` itself if
 * none of a few does. flats[index] must exist; the others need not. */
int shared_plans_alike(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int index);

/* The same, as far as can be seen before request `index` is flattened. */
int shared_plans_alike_unflattened(const struct graph *graph, struct flat_graph *const *flats,
                                   const struct flatten_request *requests, int index);

/* Requests with the same pointer in `flats` compute the same. The plans are made in the order of
 * the requests, each when it is its own `first`. The result lives in `arena`; its maps are there
 * too. A request that does not flatten has an empty graph and needs no variable. */
void shared_plans_find(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int count, struct arena *arena, struct shared_plans *out);

#endif
