/* concat: what ops that join tensors along one axis share. */
#ifndef KERNELS_CONCAT_H
#define KERNELS_CONCAT_H

#include "runtime/kernel.h"

/* The shape of the `count` inputs from `first` in a row, along the axis that input `axis_input`
 * names. INVALID_ARGUMENT in TensorFlow's words. */
struct status concat_plan(struct kernel_context *k, int first, int count, int axis_input, int *axis,
                          struct shape *out);

#endif
