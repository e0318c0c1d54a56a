/*
 * ragged_splits: checks the row splits of a ragged tensor, with the texts of TensorFlow's
 * RaggedTensorVerifySplits.
 */
#ifndef KERNELS_RAGGED_SPLITS_H
#define KERNELS_RAGGED_SPLITS_H

#include "tensor/tensor.h"

/* Is `splits` a vector that begins with 0, does not fall and ends with `values`? INVALID_ARGUMENT:
 * no. values: -1: any number. */
struct status ragged_splits_check(const struct tensor *splits, int64_t values);

#endif
