/*
 * spectral: divides a matrix by an estimate of its largest singular value, as Keras'
 * SpectralNormalization does before each step.
 */
#ifndef TENSOR_SPECTRAL_H
#define TENSOR_SPECTRAL_H

#include "tensor/tensor.h"

#define SPECTRAL_ITERATIONS_MAX 1000

/**
 * out = values / σ, with σ = v W uᵀ after `iterations` steps of power iteration, v = u Wᵀ / ‖u Wᵀ‖
 * and u = v W / ‖v W‖. W is `values` as a matrix whose columns are the last dimension. Values that
 * are all 0 stay unchanged.
 *
 * Shapes  values, out: float, shape_size(shape), of rank 1 or more; they may be the same.
 *         vector, the first u: [shape.dims[rank - 1]]
 * Source  keras/src/layers/normalization/spectral_normalization.py
 */
void spectral_divide(const float *values, const struct shape *shape, const float *vector,
                     uint32_t iterations, float *out);

#endif
