/* variant_sums: what the sums of optionals and of maps have in common. */
#ifndef KERNELS_VARIANT_SUMS_H
#define KERNELS_VARIANT_SUMS_H

#include "runtime/kernel.h"

/**
 * Replaces a by the sum a + b, in a new tensor.
 *
 * Errors  INVALID_ARGUMENT their types or shapes differ, or the type has no sum
 */
struct status variant_part_add(struct kernel_context *k, struct tensor *a, const struct tensor *b);

#endif
