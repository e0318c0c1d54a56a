/*
 * print: the text by which Assert and Print show a tensor.
 */
#ifndef KERNELS_PRINT_H
#define KERNELS_PRINT_H

#include "base/bytes.h"
#include "tensor/tensor.h"

/* Appends the elements, in brackets and flat, at most `most` of them (negative: all). */
void print_tensor(struct buffer *text, const struct tensor *x, int64_t most);

#endif
