/*
 * tensor_values: helpers that the readers of tensors in files and messages share.
 */
#ifndef TENSOR_TENSOR_VALUES_H
#define TENSOR_TENSOR_VALUES_H

#include "tensor/tensor.h"

/* Fails with INVALID_ARGUMENT if one of these bytes is neither 0 nor 1: C has no other bools. The
 * text begins with `source`, such as "tensor_content". */
struct status tensor_check_bools(struct bytes elements, const char *source);

/* Points the elements of a string tensor at their characters in tensor_content, which has the
 * lengths as varints and then all characters.
 *
 * Errors  INVALID_ARGUMENT it has too few or too many bytes */
struct status tensor_strings_from_content(struct bytes content, struct tensor *tensor);

/* Fills the rest of the tensor with the last of its `given` elements, or with zeros (empty strings)
 * if none is given. */
void tensor_repeat_last(struct tensor *tensor, size_t given);

#endif
