/*
 * shared_plans: which signatures can share a plan, and which variables belong to one plan alone.
 * Keras exports a model as `serve` and as `serving_default`: one plan for both halves the memory
 * and the time of a load.
 */
#ifndef SAVEDMODEL_SHARED_PLANS_H
#define SAVEDMODEL_SHARED_PLANS_H

#include "graph/graph.h"

struct shared_plans {
    int *first;      /* [count] the first request that computes the same: itself if there is none */
    struct map *own; /* [count] names of variables whose values the request's plan may take: it only
                      reads them, and no plan that is made later needs them */
};

/* The nearest request before `index` whose flattened graph computes the same; `index` itself if
 * none of a few does. flats[index] is there; others need not be. */
int shared_plans_alike(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int index);

/* Requests with the same pointer in `flats` compute the same. The plans are made in the order of
 * the requests, each when it is its own `first`. The result lives in `arena`; its maps are there
 * too. A request that does not flatten has an empty graph and needs no variable. */
void shared_plans_find(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int count, struct arena *arena, struct shared_plans *out);

#endif
