/*
 * gradients: the functions that emit the gradient of an op, named in the last column of ops.def and
 * declared here from it. Each stands in a file of its family beside this one.
 *
 * gradient_none  the op has no gradient: an error for whoever needs one
 * gradient_stop  nothing flows back through the op (Shape, ArgMax, StopGradient, …)
 */
#ifndef GRAPH_GRADIENTS_GRADIENTS_H
#define GRAPH_GRADIENTS_GRADIENTS_H

#include "graph/op.h"

#define OP(name, flags, inputs, outputs, attrs, infer, gradient) \
    struct status gradient(struct gradient_context *context);
#include "graph/ops.def"
#undef OP

#endif
