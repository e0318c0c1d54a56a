/* tensor_map: AddN and ZerosLike of maps, for variant_sums.c. */
#ifndef KERNELS_TENSOR_MAP_H
#define KERNELS_TENSOR_MAP_H

#include "runtime/kernel.h"

/* Is input 0 a map? */
bool tensor_map_is_input(const struct kernel_context *k);
/* The values of keys that several inputs have are added; the other pairs are taken along. */
struct status tensor_map_add_n(struct kernel_context *k);
/* An empty map, as in TensorFlow. */
struct status tensor_map_zeros_like(struct kernel_context *k);

#endif
