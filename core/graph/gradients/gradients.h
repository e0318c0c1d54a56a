/*
 * gradients: the functions that emit the gradient of an op, named in ops.def and declared here from
 * it. Each is in the file of its family beside this one.
 *
 *     gradient_none  the op has no gradient: an error if it is needed
 *     gradient_stop  nothing flows back through the op (Shape, ArgMax, StopGradient, …)
 */
#ifndef GRAPH_GRADIENTS_GRADIENTS_H
#define GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/op.h"

#define OP(name, traits, inputs, outputs, attrs, infer, gradient, rows) \
    struct status gradient(struct gradient_context *context);
#include "graph/ops.def"
#undef OP

#endif
