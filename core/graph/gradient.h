/*
 * gradient: adds nodes that compute gradients, as TensorFlow does, by reverse accumulation. The
 * gradient function of each op is in graph/gradients/.
 */
#ifndef GRAPH_GRADIENT_H
#define GRAPH_GRADIENT_H

#include "graph/build.h"

/**
 * Adds to the graph the nodes that compute the gradients d(sum of y)/d(xs[i]). An x that y does not
 * depend on gets a null endpoint.
 *
 * Errors  UNIMPLEMENTED names an op on the path that has no gradient
 */
struct status graph_gradients(struct builder *builder, struct endpoint y, int xs_count,
                              const struct endpoint *xs, struct endpoint *gradients);

/* The same from several ys, whose gradients are given: Σ dys[k] · d(ys[k])/d(xs[i]). */
struct status graph_gradients_from(struct builder *builder, int ys_count, const struct endpoint *ys,
                                   const struct endpoint *dys, int xs_count,
                                   const struct endpoint *xs, struct endpoint *gradients);

/* The argument of an op's gradient function: the node, the gradients of its outputs (null node:
 * none), and the place for those of its inputs. */
struct gradient_context {
    struct builder *builder;
    struct node *node;
    const struct endpoint *outputs; /* d loss / d output, [outputs_count] */
    const bool *wanted;             /* is the gradient of input i used? [inputs_count] */
    struct endpoint *inputs; /* d loss / d input, [inputs_count]; stays null where there is none */
};

#endif
