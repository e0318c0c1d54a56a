/* reshape: the op, for others that do the same with a range. */
#ifndef KERNELS_RESHAPE_H
#define KERNELS_RESHAPE_H

#include "runtime/kernel.h"

/* Output 0: input 0 in the shape that input 1 holds. */
struct status reshape(struct kernel_context *k);

#endif
