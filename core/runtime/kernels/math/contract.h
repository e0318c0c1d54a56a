/*
 * contract: a sum of products over axes with any strides. Einsum is one, and so are the products
 * and convolutions of XLA: the windows of an image are axes as well, which overlap.
 */
#ifndef KERNELS_MATH_CONTRACT_H
#define KERNELS_MATH_CONTRACT_H

#include "graph/einsum.h"
#include "runtime/kernel.h"

/**
 * out[Σ i·out_stride] = Σ over the axes that the output lacks of Π operand[Σ i·strides[operand]].
 * No dimension may be 0. Elements of `out` that no index reaches stay as they are.
 *
 * Types   float, double, int32, int64 (which wrap), complex64, complex128
 */
struct status contract(struct kernel_context *k, enum dtype dtype,
                       const struct einsum_binding *axes, int operands_count,
                       const void *const *operands, void *out);

#endif
