/*
 * tensor_values: what the readers of TensorProto share.
 */
#ifndef TENSOR_TENSOR_VALUES_H
#define TENSOR_TENSOR_VALUES_H

#include "tensor/tensor.h"

/* The last of `given` elements again and again behind them; zeros (or empty) where none is given.
 */
void tensor_repeat_last(struct tensor *tensor, size_t given);

#endif
