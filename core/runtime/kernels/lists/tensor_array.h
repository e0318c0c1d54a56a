/*
 * tensor_array: reads and writes elements of a TensorArray, for its ops. tensor_array.c has those
 * of the array itself and of one element, tensor_array_parts.c those of many elements at once,
 * tensor_array_grad.c those of arrays of gradients, and tensor_array_cells.c the functions below.
 * Internal to these.
 */
#ifndef KERNELS_TENSOR_ARRAY_H
#define KERNELS_TENSOR_ARRAY_H

#include "runtime/kernels/lists/tensor_cells.h"

/* The array in input 0. INVALID_ARGUMENT: its elements have another dtype; `verb` says what the op
 * does with them. */
struct status tensor_array_input(struct kernel_context *k, enum dtype dtype, const char *verb,
                                 struct tensor_cells **out);

/* Writes an element, or adds to it in an array of gradients. Owner: takes over `value`, also if it
 * fails. INVALID_ARGUMENT in TensorFlow's words. */
struct status tensor_array_write(struct kernel_context *k, struct tensor_cells *array,
                                 int64_t index, struct tensor value);

/* Reads an element, zeros if it was never written. Owner: the caller, of *out. INVALID_ARGUMENT in
 * TensorFlow's words. */
struct status tensor_array_read(struct kernel_context *k, struct tensor_cells *array, int64_t index,
                                struct tensor *out);

/* Sets output 1 of an op that makes an array, the `flow`; its oldest form has none. */
struct status tensor_array_flow(struct kernel_context *k);

#endif
