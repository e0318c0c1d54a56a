/*
 * shape_walk: where the elements of an operand lie that broadcasts to a shape.
 */
#ifndef KERNELS_SHAPE_WALK_H
#define KERNELS_SHAPE_WALK_H

#include "tensor/shape.h"

/* The element of `operand` that goes with element i of `out`, to which it broadcasts. */
int64_t shape_broadcast_index(const struct shape *out, int64_t i, const struct shape *operand);

#endif
