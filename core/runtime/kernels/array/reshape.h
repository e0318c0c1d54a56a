/* reshape: the op Reshape, of which QuantizedReshape is a part. */
#ifndef KERNELS_RESHAPE_H
#define KERNELS_RESHAPE_H

#include "runtime/kernel.h"

/* Output 0: input 0 in the shape that input 1 holds. */
struct status reshape(struct kernel_context *k);

#endif
