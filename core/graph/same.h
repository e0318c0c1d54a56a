/*
 * same: compares flattened graphs. Keras exports one function under two signatures, `serve` and
 * `serving_default`, which then need only one plan.
 */
#ifndef GRAPH_SAME_H
#define GRAPH_SAME_H

#include "graph/graph.h"

/**
 * Do two flattened graphs compute the same from the same feeds, in the same order? Names of nodes
 * do not matter, except where an object may be found by the name of its node. False is always a
 * safe answer: nodes in another order count as a difference.
 *
 * `a` and `b` are results for requests with these numbers of feeds, fetches and targets.
 */
bool graph_is_same(const struct flatten_result *a, const struct flatten_request *a_request,
                   const struct flatten_result *b, const struct flatten_request *b_request);

/* Do two requests for a graph compute the same, as far as can be seen without flattening them? Each
 * fetches the results of one call, of functions whose bodies have the same text: Keras makes a
 * function for each signature, which calls the model's. False is always a safe answer. */
bool requests_are_same(const struct graph *graph, const struct flatten_request *a,
                       const struct flatten_request *b);

#endif
