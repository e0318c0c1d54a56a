/*
 * print: the text by which Assert and Print show a tensor.
 */
#ifndef KERNELS_PRINT_H
#define KERNELS_PRINT_H

#include "base/bytes.h"
#include "tensor/tensor.h"

/* Appends the elements, at most `most` of them (negative: all), in brackets by dimension. */
void print_tensor(struct buffer *text, const struct tensor *x, int64_t most);

#endif
